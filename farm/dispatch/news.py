"""What the database has for the core that it does not know yet: new jobs, wishes, limits, ended jobs."""

from __future__ import annotations

from dataclasses import dataclass, field

from farm.dispatch import earlier
from farm.dispatch import events as told
from farm.dispatch.again import load_again
from farm.dispatch.policy import unknown_ahead
from farm.dispatch.recovery import load_ended, load_job
from farm.dispatch.state import Ended, Job, State
from farm.domain.control import Control
from farm.domain.frames import FrameRange
from farm.domain.states import JobState
from farm.store import Connection, events, jobs, users
from farm.store.events import Intent, IntentKind

#: New jobs that are taken up in one turn, at most.
_FRESH = 100
_AGAIN = (JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, slots=True)
class News:
    """What is new. `jobs` are to be taken up, before the core hears the `events`."""

    jobs: list[Job] = field(default_factory=list)
    ended: dict[str, Ended] = field(default_factory=dict)  # that jobs come after
    events: list[told.Event] = field(default_factory=list)
    wishes: list[Intent] = field(default_factory=list)  # that are carried out with them


def look(connection: Connection, state: State) -> News:
    """All that is new to ``state``; cheap where it is nothing."""
    news = News()
    waiting = [i for i in jobs.ids_in_states(connection, [JobState.WAITING]) if i not in state.jobs]
    later = set(waiting[_FRESH:])
    for row in jobs.by_id(connection, waiting[:_FRESH]):
        news.jobs.append(load_job(connection, row))
    for wish in events.waiting_intents(connection):
        if wish.job_id not in later:  # one of a job that is taken up later waits with it
            news.wishes.append(wish)
            _wished(connection, state, news, wish)
    limits = users.limits(connection)
    if limits != state.limits:
        news.events.append(told.LimitsChanged(limits))
    after = {other for job in news.jobs for other in job.control.after}
    after |= {
        other
        for event in news.events
        if isinstance(event, told.ControlAsked)
        for other in event.control.after
    }
    news.ended.update(load_ended(connection, after - state.jobs.keys() - state.ended.keys()))
    return news


def left_by_earlier(connection: Connection, wanted: list[Job]) -> list[told.Event]:
    """What earlier jobs left of the frames that ``wanted`` are about to open."""
    return [told.EarlierFound(job.id, earlier.look(connection, job, unknown_ahead(job))) for job in wanted]


def _wished(connection: Connection, state: State, news: News, wish: Intent) -> None:
    match wish.kind:
        case IntentKind.CANCEL:
            news.events.append(told.CancelAsked(wish.job_id))
        case IntentKind.CONTROL:
            news.events.append(told.ControlAsked(wish.job_id, Control.model_validate(wish.data)))
        case IntentKind.REQUEUE:
            frames = wish.data.get("frames")
            which = None if frames is None else FrameRange.parse(str(frames))
            news.events.append(told.RequeueAsked(wish.job_id, which))
        case IntentKind.RETRY:
            known = wish.job_id in state.jobs or any(job.id == wish.job_id for job in news.jobs)
            row = None if known else jobs.get(connection, wish.job_id)
            if row is not None and row.state in _AGAIN:
                news.jobs.append(load_again(connection, row))
