"""What a failed try leads to: a ladder of rungs for each cause, of which the first that holds is taken.

==============  ==========================================================================================
cause           what follows
==============  ==========================================================================================
out-of-memory   only where there is more memory; else once more on another worker with as much (something
                else may have filled this one's); else, with ``--other-class``, the whole frame anew on
                another render class that has more; else the task fails. Counts nothing: each try needs more.
crash, hang     elsewhere, where there is an elsewhere; the third failure is the task's own fault
bad-result      as a crash; but pieces that a finish blames are rendered again, elsewhere, three times at most
wrong-class     as a crash; free, where the class of that worker was not known before
internal        as a crash
disk-full       elsewhere, where there is an elsewhere, after 5 s, 10 s, 20 s … 60 s: disks are freed; the
                eighth try, after four minutes, is the last
no-device       on any worker that has the device and did not fail; then as a crash; where no other has it,
                the job is stopped
lost            anywhere else, free; the fifth worker that dies under a task is the task's own fault
cancelled       as lost: a worker that ended it by itself
preempted       anywhere, free, however often
storage         anywhere, free, however often, after 2 s, 4 s, 8 s … 30 s
bad-scene       the job is stopped at once
==============  ==========================================================================================

A task that fails takes its frame with it, and a frame that cannot be had its job once all others ended.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from farm.dispatch.fitness import device_of, memory_for, memory_on, trusts
from farm.dispatch.policy import can_render, class_on, may_take
from farm.dispatch.refusals import gigabytes
from farm.dispatch.state import Frame, Job, Task, Worker
from farm.domain.job import Device
from farm.domain.task import TaskKind
from farm.domain.work import Cause

MAX_FAILURES = 3
#: A task whose workers keep dying under it is likely to be what kills them.
MAX_LOSSES = 5


class Step(StrEnum):
    """What becomes of the task."""

    AGAIN = "again"
    ANEW = "anew"  # with its whole frame, on another render class
    FAIL = "fail"
    STOP = "stop"  # with its job


class Where(StrEnum):
    """What has to be there for a rung to hold."""

    ANYWHERE = "anywhere"  # nothing; a worker that it failed on comes last
    OTHERS = "others"  # another worker that could do it
    UNTRIED = "untried"  # another that it has not failed on
    BIGGER = "bigger"  # a worker with more memory
    AS_BIG = "as-big"  # an untried one with as much, where this is the first try at so much
    OTHER_CLASS = "other-class"  # leave to go to another render class, and a worker there with more memory


class Tally(StrEnum):
    """What a try counts as, of which a task has only so many."""

    FAILURE = "failure"
    LOSS = "loss"
    STALL = "stall"  # storage was away, or a disk full: the delay grows
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of a ladder. It holds for ``most`` tries of its tally, the one that just failed included."""

    step: Step
    where: Where = Where.ANYWHERE
    tally: Tally = Tally.FAILURE
    most: int | None = None
    delay: float = 0.0  # seconds until the next try; doubled with each stall …
    longest: float = 0.0  # … up to so many


_FAIL = (Rung(Step.FAIL),)
_CRASHED = (Rung(Step.AGAIN, most=MAX_FAILURES - 1), *_FAIL)
_GONE = (Rung(Step.AGAIN, tally=Tally.LOSS, most=MAX_LOSSES - 1), Rung(Step.FAIL, tally=Tally.LOSS))

LADDER: Mapping[Cause, tuple[Rung, ...]] = {
    Cause.OUT_OF_MEMORY: (
        Rung(Step.AGAIN, Where.BIGGER, Tally.NOTHING),
        Rung(Step.AGAIN, Where.AS_BIG, Tally.NOTHING),
        Rung(Step.ANEW, Where.OTHER_CLASS, Tally.NOTHING),
        *_FAIL,
    ),
    Cause.CRASH: _CRASHED,
    Cause.HANG: _CRASHED,
    Cause.BAD_RESULT: _CRASHED,
    Cause.WRONG_CLASS: _CRASHED,
    Cause.INTERNAL: _CRASHED,
    Cause.DISK_FULL: (
        Rung(Step.AGAIN, tally=Tally.STALL, most=7, delay=5.0, longest=60.0),
        Rung(Step.FAIL, tally=Tally.STALL),
    ),
    Cause.NO_DEVICE: (  # one broken GPU must not end what others can render
        Rung(Step.AGAIN, Where.UNTRIED),
        Rung(Step.AGAIN, Where.OTHERS, most=MAX_FAILURES - 1),
        Rung(Step.FAIL, Where.OTHERS),
        Rung(Step.STOP),
    ),
    Cause.LOST: _GONE,
    Cause.CANCELLED: _GONE,
    Cause.PREEMPTED: (Rung(Step.AGAIN, tally=Tally.NOTHING),),
    Cause.STORAGE: (Rung(Step.AGAIN, tally=Tally.STALL, delay=2.0, longest=30.0),),
    Cause.BAD_SCENE: (Rung(Step.STOP),),
}


@dataclass(frozen=True, slots=True)
class Move:
    """Where a frame begins anew that had too little memory: ``device`` None: where its job renders."""

    device: Device | None
    why: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from a failed try."""

    step: Step = Step.AGAIN
    tally: Tally = Tally.NOTHING
    delay: float = 0.0  # seconds
    memory: int = 0  # bytes that a worker must have for the next try
    move: Move | None = None  # of `Step.ANEW`

    @property
    def retry(self) -> bool:
        """Whether the task is tried again."""
        return self.step in (Step.AGAIN, Step.ANEW)

    @property
    def stops_job(self) -> bool:
        return self.step is Step.STOP


#: Of a try that the task is not to blame for.
FREE = Verdict()
#: Of a finish whose pieces were at fault too often.
HOPELESS = Verdict(Step.FAIL)


@dataclass(frozen=True, slots=True)
class _Case:
    """A try that failed: of which task, on which worker, and who else is there."""

    job: Job
    task: Task
    on: str
    workers: Collection[Worker]
    host: bool  # it is the machine's memory that matters

    @property
    def others(self) -> set[str]:
        able = {other.info.worker_id for other in self.workers if may_take(self.job, self.task, other)}
        return able - {self.on}

    @property
    def had(self) -> int:
        """Bytes of the worker that it failed on; 0 where that is gone."""
        sizes = (self.memory(w) for w in self.workers if w.info.worker_id == self.on)
        return next(sizes, 0)

    def memory(self, worker: Worker) -> int:
        """Bytes that a worker has, of those that matter."""
        return memory_for(self.job, self.task, worker, host=self.host)

    def offers(self, bytes_: int, *, untried: bool = False) -> bool:
        """Whether a worker with so much could do it."""
        return any(
            may_take(self.job, self.task, other)
            and self.memory(other) >= bytes_
            and not (untried and other.info.worker_id in self.task.failed_on | {self.on})
            for other in self.workers
        )


def judge(
    job: Job, task: Task, cause: Cause, on: str, workers: Collection[Worker], *, host: bool = False
) -> Verdict:
    """The first rung that holds, for a try that failed on the worker ``on``.

    ``host``: of memory it was its machine's that ran out.
    """
    case = _Case(job, task, on, workers, host)
    for rung in LADDER[cause]:
        if _spent(task, rung.tally) <= (rung.most or 0) or rung.most is None:
            verdict = _taken(rung, case)
            if verdict is not None:
                return verdict
    raise AssertionError(f"the ladder of {cause} has no last rung")


def _spent(task: Task, tally: Tally) -> int:
    """Tries of this tally so far, with the one that just failed."""
    counted = {Tally.FAILURE: task.failures, Tally.LOSS: task.losses, Tally.STALL: task.stalls}
    return counted.get(tally, 0) + 1


def _taken(rung: Rung, case: _Case) -> Verdict | None:
    """What the rung leads to, if it holds."""
    delay = min(rung.delay * 2**case.task.stalls, rung.longest) if rung.delay else 0.0
    verdict = Verdict(rung.step, rung.tally, delay)
    match rung.where:
        case Where.ANYWHERE:
            return verdict
        case Where.OTHERS:
            return verdict if case.others else None
        case Where.UNTRIED:
            return verdict if case.others - case.task.failed_on else None
        case Where.BIGGER:
            more = case.had + 1
            return Verdict(rung.step, rung.tally, memory=more) if case.offers(more) else None
        case Where.AS_BIG:
            known = case.task.host_memory if case.host else case.task.memory
            first = known < max(case.had, 1)
            fair = first and case.offers(case.had, untried=True)
            return Verdict(rung.step, rung.tally, memory=case.had) if fair else None
        case Where.OTHER_CLASS:
            move = way_out(case.job, case.task, case.had, case.workers, host=case.host)
            return None if move is None else Verdict(rung.step, rung.tally, memory=case.had + 1, move=move)


def way_out(job: Job, task: Task, had: int, workers: Collection[Worker], *, host: bool) -> Move | None:
    """Where the frame of a task may begin anew for which ``had`` bytes were too few; None: nowhere.

    Only what renders can move, and a verification has no class but that of what it verifies.
    """
    frame = None if task.key.frame is None else job.frames.get(task.key.frame)
    if frame is None or not job.control.other_class or job.proves is not None:
        return None
    if task.key.kind not in (TaskKind.FRAME, TaskKind.TILE):
        return None
    device = device_of(job, frame)
    trusted = [worker for worker in workers if trusts(job, worker)]
    where = Device.CPU if host else device
    if any(_another_class(worker, frame, device) and memory_on(worker, where) > had for worker in trusted):
        return Move(frame.device, _why(frame, had, "another render class"))
    if device is not Device.CPU and any(memory_on(worker, Device.CPU) > had for worker in trusted):
        return Move(Device.CPU, _why(frame, had, "the CPU"))
    return None


def _another_class(worker: Worker, frame: Frame, device: Device) -> bool:
    if not can_render(worker, device):
        return False
    return class_on(worker, device) not in (None, frame.render_class)


def _why(frame: Frame, had: int, where: str) -> str:
    klass = "" if frame.render_class is None else f" with {frame.render_class}"
    return (
        f"It does not fit into {gigabytes(had)} of memory, and no worker{klass} has more, so the whole frame "
        f"is rendered again on {where}, as this job allows."
    )
