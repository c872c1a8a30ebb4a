from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from itertools import product
from typing import Any

import pytest

from farm.domain.states import (
    JOB,
    JOB_ENDED,
    TASK,
    TASK_ENDED,
    IllegalTransition,
    JobEvent,
    JobState,
    TaskEvent,
    TaskState,
    step,
)

TABLES: list[tuple[Mapping[Any, Any], type[StrEnum], type[StrEnum], frozenset[Any]]] = [
    (JOB, JobState, JobEvent, JOB_ENDED),
    (TASK, TaskState, TaskEvent, TASK_ENDED),
]
each_table = pytest.mark.parametrize(("table", "states", "events", "ended"), TABLES, ids=["job", "task"])


@each_table
def test_every_state_is_reached_from_waiting(
    table: Mapping[Any, Any], states: Any, events: Any, ended: frozenset[Any]
) -> None:
    reached, before = {states.WAITING}, set()
    while reached != before:
        before = set(reached)
        reached |= {after for (state, _), after in table.items() if state in before}

    assert reached == set(states)


@each_table
def test_only_doing_it_again_leads_out_of_an_end_and_out_of_all_else_something_does(
    table: Mapping[Any, Any], states: Any, events: Any, ended: frozenset[Any]
) -> None:
    again = (TaskEvent.ANEW, JobEvent.RETRY)
    assert {state for state, event in table if event not in again} == set(states) - ended


def test_what_is_done_again_waits_first() -> None:
    again = {state for (state, event), after in TASK.items() if event is TaskEvent.ANEW}
    assert again == set(TaskState) - {TaskState.WAITING}
    assert all(TASK[state, TaskEvent.ANEW] is TaskState.WAITING for state in again)


def test_a_job_that_is_done_is_never_retried() -> None:
    assert {state for state, event in JOB if event is JobEvent.RETRY} == JOB_ENDED - {JobState.DONE}


@each_table
def test_every_end_can_be_reached_from_every_running_state(
    table: Mapping[Any, Any], states: Any, events: Any, ended: frozenset[Any]
) -> None:
    for start in set(states) - ended:
        reached = {start}
        for _ in states:
            reached |= {after for (state, _), after in table.items() if state in reached}
        assert ended <= reached, start


@each_table
def test_each_pair_gives_its_state_or_raises(
    table: Mapping[Any, Any], states: Any, events: Any, ended: frozenset[Any]
) -> None:
    for state, event in product(states, events):
        if (state, event) in table:
            assert step(table, state, event, "it") is table[state, event]
        else:
            with pytest.raises(IllegalTransition):
                step(table, state, event, "it")


def test_a_commit_counts_only_while_an_attempt_runs() -> None:
    assert step(TASK, TaskState.RUNNING, TaskEvent.COMMIT, "t") is TaskState.DONE
    for state in set(TaskState) - {TaskState.RUNNING}:
        with pytest.raises(IllegalTransition):
            step(TASK, state, TaskEvent.COMMIT, "t")


def test_an_illegal_step_tells_the_story() -> None:
    with pytest.raises(IllegalTransition) as caught:
        step(TASK, TaskState.DONE, TaskEvent.START, "ab/1/whole", ["waiting", "running", "done"])

    assert str(caught.value) == "ab/1/whole is done and cannot take “start” (waiting → running → done)"


def test_an_illegal_step_without_a_story_says_so() -> None:
    with pytest.raises(IllegalTransition, match="no story"):
        step(JOB, JobState.DONE, JobEvent.CANCEL, "ab")
