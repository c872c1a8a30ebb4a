from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.domain import keys
from farm.domain.frames import FIRST_FRAME, LAST_FRAME
from farm.domain.job import new_id
from farm.domain.task import TaskKey, TaskKind

job_ids = st.text("0123456789abcdefghjkmnpqrstvwxyz", min_size=1, max_size=12)
frames = st.integers(FIRST_FRAME, LAST_FRAME)
task_keys = st.one_of(
    st.builds(TaskKey, job_ids, st.just(TaskKind.INSPECT)),
    st.builds(TaskKey, job_ids, st.sampled_from([TaskKind.FRAME, TaskKind.FINISH]), frames),
    st.builds(TaskKey, job_ids, st.just(TaskKind.TILE), frames, st.integers(0, 99_999)),
)


@given(task_keys)
def test_a_key_reads_what_it_writes(key: TaskKey) -> None:
    assert TaskKey.parse(str(key)) == key


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("k3m9/inspect", TaskKey("k3m9", TaskKind.INSPECT), "inspecting the scene"),
        ("k3m9/12/whole", TaskKey("k3m9", TaskKind.FRAME, 12), "frame 12"),
        ("k3m9/-5/whole", TaskKey("k3m9", TaskKind.FRAME, -5), "frame -5"),
        ("k3m9/12/tile-3", TaskKey("k3m9", TaskKind.TILE, 12, 3), "frame 12, piece 4"),
        ("k3m9/0/tile-0", TaskKey("k3m9", TaskKind.TILE, 0, 0), "frame 0, piece 1"),
        ("k3m9/12/finish", TaskKey("k3m9", TaskKind.FINISH, 12), "frame 12, finishing"),
    ],
)
def test_keys_by_hand(text: str, key: TaskKey, words: str) -> None:
    assert TaskKey.parse(text) == key
    assert str(key) == text
    assert key.words == words


@pytest.mark.parametrize(
    "text",
    [
        "",
        "k3m9",
        "k3m9/",
        "K3M9/inspect",
        "k3m9/inspect/",
        "k3m9/whole",
        "k3m9/1/tile",
        "k3m9/1/tile--1",
        "k3m9/1/whole\n",
        "k3m9/007/whole",
        "k3m9/-0/whole",
        "k3m9/1/tile-03",
        "../1/whole",
        "k3m9/" + "9" * 5000 + "/whole",
    ],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a task key$"):
        TaskKey.parse(text)


def test_a_new_id_can_be_part_of_a_key() -> None:
    key = TaskKey(new_id(), TaskKind.INSPECT)

    assert TaskKey.parse(str(key)) == key


def test_places_by_hand() -> None:
    whole, tile = TaskKey("k3m9", TaskKind.FRAME, 12), TaskKey("k3m9", TaskKind.TILE, 12, 3)

    assert keys.blob("ab" + "0" * 62) == "blobs/ab/ab" + "0" * 62
    assert keys.job_prefix("k3m9") == "jobs/k3m9/"
    assert keys.attempt_prefix(TaskKey("k3m9", TaskKind.INSPECT), "a7f") == "jobs/k3m9/inspect/a7f/"
    assert keys.attempt_prefix(whole, "a7f") == "jobs/k3m9/frames/0012/whole/a7f/"
    assert keys.attempt_prefix(tile, "a7f") == "jobs/k3m9/frames/0012/tile-0003/a7f/"
    assert keys.attempt_prefix(TaskKey("k3m9", TaskKind.FINISH, 12), "a7f") == (
        "jobs/k3m9/frames/0012/finish/a7f/"
    )


@given(st.lists(task_keys, min_size=2, max_size=2, unique=True), job_ids, job_ids)
def test_no_two_attempts_share_a_place(pair: list[TaskKey], one_try: str, other_try: str) -> None:
    one, other = pair
    places = {
        keys.attempt_prefix(one, one_try),
        keys.attempt_prefix(other, one_try),
        *([keys.attempt_prefix(one, other_try)] if other_try != one_try else []),
    }

    assert len(places) == 2 + (other_try != one_try)
    assert not any(a != b and b.startswith(a) for a in places for b in places)


@given(task_keys, job_ids)
def test_all_of_a_job_lies_under_its_prefix(key: TaskKey, attempt: str) -> None:
    assert keys.attempt_prefix(key, attempt).startswith(keys.job_prefix(key.job_id))
    assert keys.attempt_prefix(key, attempt).endswith(f"/{attempt}/")


def test_a_raced_frame_has_a_name_of_its_own() -> None:
    key = TaskKey("k3m9x2ab", TaskKind.FRAME, 12, race=2)
    assert str(key) == "k3m9x2ab/12/whole-2"
    assert TaskKey.parse("k3m9x2ab/12/whole-2") == key
    assert key.words == "frame 12"
    with pytest.raises(ValueError, match="not a task key"):
        TaskKey.parse("k3m9x2ab/12/whole-0")
