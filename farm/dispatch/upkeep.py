"""What is looked at again where something changed, or as time goes by; never all of it at each event."""

from __future__ import annotations

from farm.dispatch import waits
from farm.dispatch.anew import move_stranded
from farm.dispatch.desk import Desk
from farm.dispatch.policy import can_render, class_on
from farm.dispatch.state import Job
from farm.domain.control import Needs
from farm.domain.job import Device
from farm.domain.task import TaskKind
from farm.domain.work import RenderClass

#: Seconds after which everything is looked at once more: start times come, and patience ends.
_EVERY = 1.0
#: The roster is kept in step with each change; that it is, is made sure of only so often.
_COMPARE = 10.0
_ANY = Needs()


class Upkeep:
    """Frees frames that have nowhere to go, and keeps the words of what jobs wait for."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._looked = self._compared = 0.0
        self._stranded: set[str] = set()  # jobs with frames that wait for their class to come back
        self._opened: set[str] = set()  # jobs of which the last step may have opened something
        self._offered: dict[tuple[Device, RenderClass], bool] = {}
        self._version = -1

    def before(self, now: float) -> None:
        """To be done before anything is given out."""
        desk = self._desk
        if not 0 <= now - self._looked < _EVERY:
            self._looked = now
            if not 0 <= now - self._compared < _COMPARE:
                self._compared = now
                desk.roster.compare(desk.state.workers)
            desk.unsure |= {job.id for job in desk.state.jobs.values() if self._to_be_asked(job)}
        if self._version != desk.roster.version:
            self._version = desk.roster.version
            self._offered.clear()
            desk.filed |= desk.boards.keys()
        asked = desk.unsure | self._stranded | self._opened
        looked = sorted(desk.filed | asked)
        desk.filed.clear()  # the boards write into this one
        for job_id in looked:
            job = desk.state.jobs.get(job_id)
            if job is not None and (job_id in asked or self._has_no_worker(job)):
                self._move(job, now)

    def after(self, now: float) -> None:
        """To be done when all that can be given out is."""
        desk = self._desk
        unsure, desk.unsure = desk.unsure, set()
        self._opened = unsure
        waits.tell(desk, [desk.state.jobs[name] for name in sorted(unsure) if name in desk.state.jobs], now)

    def _to_be_asked(self, job: Job) -> bool:
        """Whether only a close look tells if it goes on: nothing runs, or not all workers are alike to it."""
        if not self._desk.boards[job.id].running or job.control.needs != _ANY or self._desk.state.aside:
            return True
        settled = any(drawer[1] is not None for drawer in self._desk.boards[job.id].drawers)
        return settled and any(frame.foreign for frame in job.frames.values())

    def _move(self, job: Job, now: float) -> None:
        move_stranded(self._desk, job, now)
        self._stranded.discard(job.id)
        if job.id in self._desk.state.jobs:
            waits = any(frame.stranded is not None for frame in job.frames.values())
            if waits or job.gone or self._has_no_worker(job):
                self._stranded.add(job.id)

    def _has_no_worker(self, job: Job) -> bool:
        """Whether something waits for a render class, or a build, that no worker has that serves."""
        board = self._desk.boards[job.id]
        if any(c is not None and not self._is_offered(device, c) for device, c, _ in board.drawers):
            return True
        finishes = (task.key.frame for _, task in board.urgent if task.key.kind is TaskKind.FINISH)
        classes = {job.frames[number].render_class for number in finishes if number is not None}
        builds = (
            {kind.sample.info.render_class.blender for kind in self._desk.roster.kinds()} if classes else ()
        )
        return any(c is None or c.blender not in builds for c in classes)

    def _is_offered(self, device: Device, render_class: RenderClass) -> bool:
        key = device, render_class
        if key not in self._offered:
            samples = [kind.sample for kind in self._desk.roster.kinds()]
            self._offered[key] = any(
                can_render(sample, device) and class_on(sample, device) in (None, render_class)
                for sample in samples
            )
        return self._offered[key]
