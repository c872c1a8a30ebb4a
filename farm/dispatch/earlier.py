"""What an earlier job left of its frames, for jobs that verify them or add samples to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from farm.dispatch.state import Earlier, Job
from farm.domain.costs import Costs
from farm.domain.job import RenderSettings
from farm.domain.plan import SampleRange
from farm.domain.states import TaskState
from farm.domain.work import PieceRef, RenderClass, Role
from farm.store import Connection, frames, jobs, outputs, work
from farm.store.jobs import JobRow
from farm.store.outputs import OutputRow
from farm.store.work import TaskRow


def ranges(connection: Connection, job_id: str) -> tuple[SampleRange, ...]:
    """The sample ranges that a job rendered and those that it took over; none where it has no plan."""
    row = jobs.get(connection, job_id)
    return row.plan.ranges if row is not None and row.plan is not None else ()


def costs(connection: Connection, job: JobRow) -> tuple[Costs, float] | None:
    """What frames of the newest job alike cost, and the pixels times samples of each; None without one.

    Alike: of the same scene, and of what in it and on what it is rendered.
    """
    for row in jobs.measured(connection, job.scene_id):
        if row.id != job.id and _alike(row.settings) == _alike(job.settings) and row.costs.seen:
            if row.plan is None or row.report is None:
                continue
            pixels = row.plan.area.width * row.plan.area.height
            return row.costs, float(pixels * max(1, row.settings.samples or row.report.samples))
    return None


def _alike(settings: RenderSettings) -> tuple[object, ...]:
    return settings.scene, settings.camera, settings.engine, settings.device


def look(connection: Connection, job: Job, numbers: Iterable[int]) -> dict[int, Earlier]:
    """What is there of these frames. Those that are not done in the earlier job have nothing."""
    wanted = list(numbers)
    if job.adds_to is not None:
        return _pieces(connection, job.adds_to, wanted)
    if job.proves is not None:
        return _classes(connection, job.proves, wanted)
    return dict.fromkeys(wanted, Earlier())


def piece_of(output: OutputRow, tasks: Mapping[int | None, TaskRow]) -> PieceRef | None:
    """The piece that a stored file is; None for other files. ``tasks`` are its frame's, by piece."""
    if output.file.role is not Role.PIECE or output.tile is None or output.render_class is None:
        return None
    task = tasks.get(output.tile)
    return PieceRef(
        tile=output.tile,
        key=output.file.key,
        blob=output.file.blob,
        render_class=output.render_class,
        renders=1 if task is None else task.renders + 1,
    )


def _classes(connection: Connection, job_id: str, numbers: list[int]) -> dict[int, Earlier]:
    """The class of each frame, which its outputs tell."""
    found = dict.fromkeys(numbers, Earlier())
    for number, files in outputs.of_frames(connection, job_id, numbers).items():
        for output in files:
            if output.tile is None and output.file.role is Role.OUTPUT and output.render_class is not None:
                found[number] = Earlier(output.render_class)
    return found


def _pieces(connection: Connection, job_id: str, numbers: list[int]) -> dict[int, Earlier]:
    """Pieces of each frame: the job's own, then those that it took over itself.

    All of one class, the newest: others would not fit, and are rendered again.
    """
    pieces: dict[int, dict[int, PieceRef]] = {number: {} for number in numbers}
    classes: dict[int, RenderClass] = {}
    for link in _links(connection, job_id):
        rows = frames.of_job(connection, link, numbers)
        done = [number for number, row in rows.items() if row.state is TaskState.DONE]
        for number, files in outputs.of_frames(connection, link, done).items():
            tasks = {task.key.tile: task for task in work.tasks_of_frame(connection, link, number)}
            for ref in filter(None, (piece_of(output, tasks) for output in files)):
                if classes.setdefault(number, ref.render_class) == ref.render_class:
                    pieces[number].setdefault(ref.tile, ref)
    return {number: Earlier(classes.get(number), found) for number, found in pieces.items()}


def _links(connection: Connection, job_id: str) -> Iterator[str]:
    """The job, the one that it added to, and so on."""
    seen: set[str] = set()
    at: str | None = job_id
    while at is not None and at not in seen:
        row = jobs.get(connection, at)
        if row is None:
            return
        seen.add(at)
        yield at
        at = row.adds_to
