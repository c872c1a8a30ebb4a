"""How fast the dispatcher is: ``python -m benchmarks.dispatch [--database URL] [--peak]``.

Stand-ins (`benchmarks.dispatch_crowd`) take the place of the workers; the dispatcher, its database and
the calls through Ray are the real ones. One job of a million frames is submitted, none of them cut. Each
stand-in answers an order after a drawn delay, so that all together offer ``--rate`` tasks a second; with
``--peak`` at once. Each frame commits three files, as that of a worker does.

Two clocks. Dispatcher: starts when the free worker's report has arrived in the dispatcher's process and
was read, stops when the next order for that worker is handed to Ray. Worker: starts when the stand-in has
its result ready, stops when its next order has arrived there. All on one machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import ray

from benchmarks.dispatch_crowd import CrowdCluster, Timings
from farm.dispatch.loop import Dispatcher
from farm.domain.job import LOCAL_OWNER, JobSpec, RenderSettings, new_id
from farm.domain.scene import Blob, SceneManifest
from farm.domain.states import TaskState
from farm.storage import MemoryStorage
from farm.store import Database, frames, jobs, scenes

FRAMES = 1_000_000
_PROCESSES = 2
_WARM = 3.0  # seconds before the clocks count
_MANIFEST = SceneManifest(main="a.blend", files={"a.blend": Blob(sha256="0" * 64, bytes=1)})


@dataclass(frozen=True)
class Measured:
    """What came out. Times are seconds, memory is bytes."""

    database: str
    rate: float  # tasks a second, as they were dispatched
    timings: Timings
    accepted: float  # from the submission of the job until its first frame is on its way …
    accepted_memory: int  # … and what that took of memory
    cpu: float  # of the dispatcher's process, as a share of one core
    memory: int
    doubled: int  # frames that were committed and are not done: none


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print a table for docs/benchmarks.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dispatch", description=__doc__)
    parser.add_argument("--database", default="", help="URL; a new SQLite file where none is given")
    parser.add_argument("--workers", type=int, default=128)
    parser.add_argument("--rate", type=float, default=200.0, help="tasks a second that are offered")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--peak", action="store_true", help="answer at once, as much as goes")
    asked = parser.parse_args(arguments)
    with _ray(), tempfile.TemporaryDirectory() as folder:
        url = asked.database or f"sqlite:///{Path(folder) / 'farm.sqlite3'}"
        mean = 0.0 if asked.peak else asked.workers / asked.rate
        found = asyncio.run(measure(url, asked.workers, mean, asked.seconds))
    sys.stdout.write(f"{table(found, asked.workers, None if asked.peak else asked.rate)}\n")


async def measure(url: str, count: int, mean: float, seconds: float) -> Measured:
    """Dispatch to ``count`` stand-ins for so long."""
    store = Database(url)
    dispatcher = Dispatcher(store, MemoryStorage(), cluster := CrowdCluster(count, _PROCESSES, mean, FRAMES))
    running = asyncio.create_task(dispatcher.run())
    try:
        await _until(lambda: len(dispatcher.core.state.workers) == count)
        memory, began = _memory(), time.monotonic()
        job_id = await asyncio.to_thread(_submit, store)
        await _until(lambda: any(job.frames for job in dispatcher.core.state.jobs.values()))
        accepted, accepted_memory = time.monotonic() - began, _memory() - memory
        await asyncio.sleep(_WARM)
        timings = cluster.timings
        for values in (timings.handed, timings.arrived, timings.orders):
            values.clear()
        cpu, began = time.process_time(), time.monotonic()
        await asyncio.sleep(seconds)
        cpu, took, dispatched = time.process_time() - cpu, time.monotonic() - began, len(timings.orders)
        measured = Timings(list(timings.handed), list(timings.arrived))
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await dispatcher.close()
    wrong = _wrong(store, job_id)
    kind = "SQLite, synchronous=FULL" if store.sqlite else "PostgreSQL"
    store.close()
    rate = dispatched / took
    return Measured(kind, rate, measured, accepted, accepted_memory, cpu / took, _memory(), wrong)


def table(found: Measured, count: int, offered: float | None) -> str:
    """The figures, as Markdown."""
    load = "as much as goes" if offered is None else f"{offered:.0f} tasks/s"
    lines = [
        f"{found.database}; {count} workers in {_PROCESSES} processes; offered: {load}",
        "",
        "| | p50 | p90 | p99 | longest |",
        "|---|---|---|---|---|",
        _line("report read → order handed to Ray", found.timings.handed),
        _line("result ready at the worker → order there", found.timings.arrived),
        "",
        f"{found.rate:.0f} tasks/s dispatched; the dispatcher took {100 * found.cpu:.0f} % of one core "
        f"and {found.memory / 1e6:.0f} MB. A job of {FRAMES:,} frames was on its way after "
        f"{found.accepted:.2f} s and took {found.accepted_memory / 1e6:.0f} MB. "
        f"Results that were not as committed: {found.doubled}.",
    ]
    return "\n".join(lines)


def _line(what: str, seconds: list[float]) -> str:
    ordered = sorted(seconds) or [0.0]
    shown = [ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.5, 0.9, 0.99, 1.0)]
    return f"| {what} | " + " | ".join(f"{1000 * value:.2f} ms" for value in shown) + " |"


def _submit(store: Database) -> str:
    job_id = new_id()
    with store.write() as connection:
        jobs.add_user(connection, LOCAL_OWNER, time.time())
        scene_id = scenes.add_scene(connection, _MANIFEST, time.time())
        spec = JobSpec(name="A million", scene_id=scene_id, settings=RenderSettings(tiles="none"))
        jobs.add(connection, job_id, LOCAL_OWNER, spec, time.time())
    return job_id


def _wrong(store: Database, job_id: str) -> int:
    """Frames that were opened and have neither ended well nor are still at it."""
    with store.read() as connection:
        [row] = jobs.by_id(connection, [job_id])
        counted = frames.counts(connection, {job_id: row.opened})[job_id]
    well = (TaskState.DONE, TaskState.RUNNING, TaskState.WAITING)
    return row.opened - sum(counted.get(state, 0) for state in well)


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not true():  # noqa: ASYNC110  what is waited for is the state of the thing that is measured
            await asyncio.sleep(0.01)


def _memory() -> int:
    """Bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


@contextlib.contextmanager
def _ray() -> Iterator[None]:
    folder = tempfile.mkdtemp(prefix="bench")
    ray.init(
        num_cpus=_PROCESSES,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        _temp_dir=folder,
    )
    try:
        yield
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
