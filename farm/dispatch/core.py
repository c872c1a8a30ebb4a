"""The pure core of the dispatcher: events in, instructions out.

`Core.handle` takes what happened, `Core.assign` gives idle workers work; both return instructions
in the order in which they are to be written and carried out. Time and new ids come in as
arguments. The core never waits, never reads anything and never fails halfway: an event about
something that has ended already is dropped, everything else goes through the transition tables.

Guarantees, checked after every step in tests:

- a task has at most one running attempt, and a worker at most one;
- a committed result is never replaced: what comes after it is dropped;
- a frame is done when its outputs are committed, a job when all its frames have ended and the movie
  that it asks for is committed;
- the pieces of a frame come from one render class, and so does what verifies it;
- where frames depend on those before, one at a time is rendered, and in their order;
- no worker is free that could be given anything, and none got it out of turn;
- nothing is begun that its users' wishes, or jobs before it, do not allow yet.

The rules lie beside this, by what they are about: `choosing` (who is given what; by `lanes` the next job,
by its `board` the next task, by the `roster` the best worker), `dependencies`, `planned` (how a job
begins), `starting` (of frames and attempts), `attempts` (how tries end), `anew` and `requeue` (what is done
again), `ends` (of frames and jobs), `upkeep` (what time brings), `waits` (for what a job waits, in words).
"""

from __future__ import annotations

from collections.abc import Callable

from farm.dispatch import clock, cramped, guard, late, patience, requeue, standing
from farm.dispatch import events as told
from farm.dispatch import instructions as do
from farm.dispatch.attempts import failed, succeeded
from farm.dispatch.choosing import give_out
from farm.dispatch.desk import Desk
from farm.dispatch.ends import end_job
from farm.dispatch.instructions import Instruction
from farm.dispatch.refusals import lost
from farm.dispatch.state import Job, State, Worker
from farm.dispatch.stragglers import EVERY, help_out
from farm.dispatch.upkeep import Upkeep
from farm.domain.states import JOB_ENDED, JobEvent


class Core:
    """The state of all jobs that have not ended, and the rules by which it moves."""

    def __init__(self, state: State, new_attempt_id: Callable[[], str]) -> None:
        self.state = state
        self._desk = Desk(state, new_attempt_id)
        self._upkeep = Upkeep(self._desk)
        self._helped = 0.0  # when it was last looked for what takes long
        for job in state.jobs.values():
            requeue.resume(self._desk, job)

    def take_up(self, job: Job) -> list[Instruction]:
        """A job that was just submitted, or that waits since the last start; or one that failed or was
        cancelled and is to go on after all, as `farm.dispatch.again` loads it.
        """
        self._desk.take_up(job)
        if job.state in JOB_ENDED:
            requeue.retry(self._desk, job)
        else:
            requeue.resume(self._desk, job)
            self._desk.out.append(do.JobChanged(job.id, job.state))
        return self._desk.drain()

    def handle(self, event: told.Event, now: float) -> list[Instruction]:
        """What follows from ``event``."""
        clock.at(self._desk, now)
        match event:
            case told.CancelAsked(job_id):
                if job := self.state.jobs.get(job_id):
                    end_job(self._desk, job, JobEvent.CANCEL)
            case told.ControlAsked(job_id, control):
                if job := self.state.jobs.get(job_id):
                    self._desk.control(job, control)
            case told.RequeueAsked(job_id, frames):
                if job := self.state.jobs.get(job_id):
                    requeue.requeue(self._desk, job, frames)
            case told.LimitsChanged(workers):
                self.state.limits = dict(workers)
                self._desk.unsure |= self.state.jobs.keys()
            case told.WorkerAway(worker_id, why):
                self._worker_away(worker_id, why)
            case told.EarlierFound(job_id, frames):
                if job := self.state.jobs.get(job_id):
                    requeue.found(self._desk, job, frames)
            case told.WorkerJoined():
                self._worker_joined(event, now)
            case told.WorkerLost(worker_id):
                self._worker_lost(worker_id, now)
            case told.WorkerFailed(worker_id, why):
                self._desk.worker_failed(worker_id, why)
            case told.FleetMet():
                self._fleet_met(now)
            case told.OrderLost(attempt_id):
                # Not idle: what that worker does is unknown until the fleet has met it again.
                failed(self._desk, attempt_id, lost("The order did not reach its worker."), now, free=False)
            case told.Progressed(attempt_id, progress):
                if attempt := self.state.attempts.get(attempt_id):
                    if progress != attempt.progress:
                        patience.moved(attempt, progress, now)
                        if attempt.rendering is None and progress.phase == "rendering":
                            attempt.rendering = now
                    self._desk.out.append(do.AttemptProgressed(attempt_id, attempt.key, progress))
            case told.WorkerProbed(worker_id, wrong):
                standing.probed(self._desk, worker_id, wrong)
            case told.Succeeded(attempt_id, result):
                succeeded(self._desk, attempt_id, result, now)
            case told.Failed(attempt_id, failure):
                failed(self._desk, attempt_id, failure, now)
        return self._desk.drain()

    def assign(self, now: float) -> list[Instruction]:
        """Give every idle worker the most urgent task that it may take."""
        clock.at(self._desk, now)
        late.sweep(self._desk)
        standing.tend(self._desk)
        cramped.tend(self._desk)
        guard.tend(self._desk)
        self._upkeep.before(now)
        give_out(self._desk, now)
        if self._desk.roster.free and not 0 <= now - self._helped < EVERY:
            self._helped = now
            if help_out(self._desk, now):
                give_out(self._desk, now)
        self._upkeep.after(now)
        return self._desk.drain()

    def _worker_joined(self, event: told.WorkerJoined, now: float) -> None:
        worker_id = event.info.worker_id
        worker = Worker(event.info)
        standing.joined(self.state, worker)
        self.state.workers[worker_id] = worker
        for attempt in list(self.state.attempts.values()):
            if attempt.worker_id == worker_id and attempt.id not in event.attempts:
                why = f"{worker_id} knows nothing of it any more."
                failed(self._desk, attempt.id, lost(why), now, blamed=False)
        for attempt_id in event.attempts:
            worker.attempt = attempt_id
            if attempt_id not in self.state.attempts and not late.goes_on(self._desk, worker, attempt_id):
                self._desk.out.append(do.CancelAttempt(worker_id, attempt_id))
        self._desk.worker_is(worker)
        self._desk.worker_failed(worker_id, None)
        self._desk.out.append(do.WorkerChanged(worker_id, event.info, worker.attempt))

    def _worker_away(self, worker_id: str, why: str) -> None:
        """What it is at goes on to its end, or is ended by the worker itself."""
        if worker := self.state.workers.get(worker_id):
            worker.info = worker.info.model_copy(update={"away": why})
            self._desk.worker_is(worker)
            self._desk.out.append(do.WorkerChanged(worker_id, worker.info, worker.attempt))

    def _worker_lost(self, worker_id: str, now: float) -> None:
        for attempt in list(self.state.attempts.values()):
            if attempt.worker_id == worker_id:
                failed(self._desk, attempt.id, lost(f"{worker_id} died."), now)
        self._desk.worker_failed(worker_id, None)
        self._desk.worker_left(worker_id)

    def _fleet_met(self, now: float) -> None:
        """Workers that have not come back are lost with what they were at."""
        gone = [a for a in self.state.attempts.values() if a.worker_id not in self.state.workers]
        for left in gone:
            why = f"{left.worker_id} did not come back when the farm was started again."
            failed(self._desk, left.id, lost(why), now, blamed=False)
