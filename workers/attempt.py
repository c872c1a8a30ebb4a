"""One attempt at an order: where its files go, what it tells, and how it stores them."""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from farm.domain.plan import Plan
from farm.domain.scene import SceneReport
from farm.domain.task import TaskKey
from farm.domain.tiles import Size
from farm.domain.work import Cause, Order, Progress, RenderClass, Result, Role, Seconds, StoredFile
from farm.storage import Storage
from workers.children import Child
from workers.devices import driver
from workers.failures import AttemptFailed, plain
from workers.harvest import Harvested, harvest
from workers.logs import AttemptLog
from workers.patiently import KEPT, patiently, together
from workers.pictures import TEXT
from workers.playhead import Playhead
from workers.protocol import Count, Done, Look
from workers.session import Session

_log = logging.getLogger(__name__)

#: Folder, in an attempt's prefix, of what is the farm's and not the artist's.
OURS = "_farm"
#: The phase of an attempt while storage is away.
WAITING = "waiting for storage"
_MOST = 1 << 31  # of a number that a child gives


@dataclass
class Attempt:
    """An attempt while it runs. Children write to `work`, read `inputs`, and never see `kept`."""

    order: Order
    session: Session
    storage: Storage
    log: AttemptLog
    tell: Callable[[Progress], None]
    work: Path
    inputs: Path
    kept: Path
    device: str = "CPU"
    spent: dict[str, float] = field(default_factory=dict)
    peak_memory: int = 0
    notes: list[str] = field(default_factory=list)
    device_name: str = ""
    seed: int | None = None
    _phase: str = ""
    _waits: int = 0  # calls that storage keeps waiting now
    _waited: float = 0.0  # seconds, less the time at which the wait that lasts began
    _timed: float = 0.0  # seconds that have counted for something
    _takes: Iterator[int] = field(default_factory=itertools.count)

    @property
    def key(self) -> TaskKey:
        return TaskKey.parse(self.order.task)

    @property
    def frame(self) -> int:
        """The frame of the task; raises ValueError for an inspection."""
        frame = self.key.frame
        if frame is None:
            raise ValueError(f"{self.order.task} has no frame")
        return frame

    @property
    def plan(self) -> Plan:
        if self.order.plan is None:
            raise ValueError(f"an order for {self.order.task} needs a plan")
        return self.order.plan

    @property
    def report(self) -> SceneReport:
        if self.order.report is None:
            raise ValueError(f"an order for {self.order.task} needs the scene's report")
        return self.order.report

    @property
    def picture_size(self) -> Size:
        """Pixels of the finished frame: the region's alone where the scene crops to it."""
        report, plan = self.order.report, self.plan
        return plan.area.size if report is not None and report.crops else plan.size

    @property
    def _in_order(self) -> bool:
        return self.order.plan is not None and self.order.plan.in_order

    @property
    def playhead(self) -> Playhead | None:
        """Where a process stands that has rendered this frame; None where frames stand alone."""
        if not self._in_order:
            return None
        return Playhead.at(self.order.settings.scene, self.frame, self.report)

    def look(self) -> Look:
        """What the order says about the scene, as a child wants to hear it."""
        settings = self.order.settings
        return Look(
            frame=self.frame,
            device=self.device,
            scene=settings.scene,
            camera=settings.camera,
            engine=settings.engine.value,
            samples=settings.samples,
            percentage=settings.scale,
            threads=self.session.ground.config.threads,
            play_from=self.report.frame_start if self._in_order else None,
        )

    def phase(self, name: str) -> None:
        self._phase = name
        self.tell(Progress(phase=name))

    def waiting(self, away: bool) -> None:
        """Tell that storage keeps this attempt waiting, or, once it is back for all that waited, go on."""
        self._waits += 1 if away else -1
        if self._waits == (1 if away else 0):
            now = asyncio.get_running_loop().time()
            self._waited += -now if away else now
            self.tell(Progress(phase=WAITING if away else self._phase))

    async def fetched(self, get: Callable[[], object]) -> None:
        """Have ``get`` bring a file from storage, patiently; raises what it raises."""
        await patiently(get, self.waiting)

    def count(self, count: Count) -> None:
        """Pass on what Cycles counted."""
        self.tell(
            Progress(
                phase=plain(count.phase, 40) or "rendering",
                sample=min(max(count.sample, 0), _MOST),
                samples=min(max(count.samples, 0), _MOST),
                layer=plain(count.layer, 100),
            )
        )

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Add the seconds spent inside to ``what``, a field of `Seconds`; storage being away costs none.

        Where one lies in another, each second counts for the inner one alone.
        """
        loop = asyncio.get_running_loop()
        began = loop.time() - self._waited - self._timed
        try:
            yield
        finally:
            seconds = loop.time() - self._waited - self._timed - began
            self.spent[what] = self.spent.get(what, 0.0) + seconds
            self._timed += seconds

    async def imaging(self) -> Child:
        """The session's imaging process; starting one is part of the load, once a worker."""
        with self.timed("load"):
            return await self.session.imaging(self.log)

    def heed(self, done: Done) -> None:
        """Take over what an answer says about itself; a child's numbers are believed only where sane."""
        for name in ("load", "sync", "render", "save"):
            seconds = done.seconds.get(name, 0.0)
            if math.isfinite(seconds) and 0 <= seconds < _MOST:
                self.spent[name] = self.spent.get(name, 0.0) + seconds
        self.peak_memory = max(self.peak_memory, min(max(done.peak_memory, 0), 1 << 50))
        if done.seed is not None and abs(done.seed) < _MOST:
            self.seed = done.seed
        self.notes += [plain(note, 300) for note in done.notes[:20]]

    def check_device(self, done: Done) -> None:
        """Raise `AttemptFailed` (no-device) where Blender rendered on something else in silence."""
        if done.device != self.device:
            raise AttemptFailed(
                Cause.NO_DEVICE,
                f"Blender was to render with {self.device} but used “{plain(done.device, 40)}”.",
                "Check the GPU's driver with “farm doctor”, or render with --device cpu.",
            )
        self.device_name = plain(done.device_name, 200)

    async def take(self, folder: str, names: Iterable[str]) -> list[Harvested]:
        """Files of ``work/folder`` (POSIX; empty for `work` itself), copied to where no child writes."""
        config = self.session.ground.config
        inside = str(Path(self.work.name) / folder)
        return await asyncio.to_thread(
            harvest,
            self.work.parent,
            inside,
            names,
            self.kept / f"take-{next(self._takes)}",
            most_files=config.output_files,
            most_bytes=config.output_bytes,
        )

    async def store(self, files: Iterable[tuple[Role, str, Path, str]]) -> tuple[StoredFile, ...]:
        """Store files given as role, name, path and media type, all at once.

        While storage is away they are kept here and tried again, for an hour: a picture that is rendered
        is worth the wait. Raises what `Storage.put_file` raises.
        """

        async def one(role: Role, name: str, path: Path, media: str) -> StoredFile:
            key = self.order.prefix + name
            blob = await patiently(lambda: self.storage.put_file(key, path, media), self.waiting, KEPT)
            return StoredFile(role=role, name=name, key=key, blob=blob, media_type=media)

        self.phase("storing")
        with self.timed("store"):
            return tuple(await together(one(*file) for file in files))

    async def store_log(self) -> tuple[StoredFile, ...]:
        """Store the log so far; a log that cannot be stored is no reason to fail."""
        if not self.log.finish():
            return ()
        key = f"{self.order.prefix}{OURS}/log.txt"
        try:
            async with asyncio.timeout(30):
                blob = await asyncio.to_thread(self.storage.put_file, key, self.log.path, TEXT)
        except Exception as error:  # noqa: BLE001  whatever it is, the attempt's own outcome matters more
            _log.warning("The log of attempt %s could not be stored: %s", self.order.attempt_id, error)
            return ()
        return (StoredFile(role=Role.LOG, name=f"{OURS}/log.txt", key=key, blob=blob, media_type=TEXT),)

    def result(self, files: Iterable[StoredFile], render_class: RenderClass | None = None) -> Result:
        """The outcome of an attempt that went well; the worker adds what the whole of it took."""
        return Result(
            files=tuple(files),
            seconds=Seconds(**self.spent),
            render_class=render_class,
            device_name=self.device_name,
            driver=driver(self.device),
            seed=self.seed,
            peak_memory=self.peak_memory,
            notes=tuple(self.notes),
        )
