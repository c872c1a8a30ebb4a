"""The processes and folders of one scene on one worker, kept warm from order to order."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from pathlib import Path

from farm.domain.scene import SceneManifest
from workers import scene_folder, telemetry
from workers.blob_cache import BlobCache
from workers.children import Child
from workers.config import WorkerConfig
from workers.launch import Folders, launch
from workers.logs import AttemptLog
from workers.patiently import Waiting, patiently, unheard
from workers.playhead import Playhead
from workers.protocol import Open
from workers.runtimes import Runtime
from workers.vigil import Patience


@dataclass(frozen=True)
class Modules:
    """The programs that the children run, by module name."""

    render: str = "workers.inside_blender"
    imaging: str = "workers.imaging"
    reference: str = "workers.reference"


@dataclass(frozen=True)
class Ground:
    """What all sessions of a worker share."""

    config: WorkerConfig
    modules: Modules
    cache: BlobCache
    sandbox: bool  # asked for, and working
    driver_cache: Path

    @property
    def patience(self) -> Patience:
        config = self.config
        return Patience(
            config.start_seconds, config.silence_seconds, config.idle_seconds, config.spinning_seconds
        )


@dataclass
class Session:
    """One scene: its folder, a warm render process with it loaded, an imaging process, and scratch.

    Both processes may write to ``scratch``; the scene is theirs to read. A dead process is replaced
    at the next order. To be used from one event loop, one order at a time.
    """

    ground: Ground
    manifest: SceneManifest
    runtime: Runtime
    root: Path
    load_seconds: float = 0.0  # of the last time a process started and opened it; 0 while it was warm
    patience: Patience | None = None  # of the order at work; None: the worker's own
    waiting: Waiting = unheard  # told whether storage keeps the order at work waiting
    _laid_out: bool = False
    _render: Child | None = None
    _orders: int = 0
    _played: Playhead | None = None
    _imaging: Child | None = None
    _others: list[Child] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        for folder in (self.scratch, self.inputs):
            folder.mkdir(parents=True)

    @property
    def scratch(self) -> Path:
        """The one folder that the children may write to."""
        return self.root / "scratch"

    @property
    def inputs(self) -> Path:
        """Where the worker lays other files for the children to read."""
        return self.root / "inputs"

    @property
    def scene(self) -> Path:
        return self.root / "scene"

    @property
    def usable(self) -> bool:
        """False where fetching the scene was broken off: a thread may still write to its folder."""
        return self._laid_out

    def serves(self, manifest: SceneManifest, runtime: Runtime) -> bool:
        return self.manifest == manifest and self.runtime == runtime

    async def lay_out(self) -> None:
        """Have the scene's files here; raises what `scene_folder.lay_out` raises."""
        if self._laid_out:
            return
        self._stop = stop = threading.Event()
        try:
            await patiently(lambda: self._lay_out_now(stop), self.waiting)
        except BaseException:
            stop.set()
            raise
        self._laid_out = True

    async def render(self, log: AttemptLog, to: Playhead | None = None) -> Child:
        """The warm render process with the scene open, started anew where it is dead, old or fat.

        ``to`` is what it is about to play and render, where frames depend on those before: a process
        that cannot go on to there is replaced too.
        """
        await self.lay_out()
        self.load_seconds = 0.0
        began = asyncio.get_running_loop().time()
        if self._render is not None and (self._worn_out(self._render) or not self._leads_to(to)):
            await self._render.kill()
            self._render = None
        if self._render is None:
            self._render = await self._start_blender("Blender", self.ground.modules.render, log)
            self._orders = 0
            self._played = None
            await self._open(self._render)
            self.load_seconds = asyncio.get_running_loop().time() - began
        self._played = to or self._played
        self._render.log = log
        self._render.patience = self._patience
        self._orders += 1
        return self._render

    async def fresh(self, log: AttemptLog) -> Child:
        """Another render process with the scene open, for one request; `release` it afterwards.

        Where memory is short, the warm one makes room first.
        """
        return await self._another("Blender", self.ground.modules.render, log)

    async def reference(self, log: AttemptLog) -> Child:
        """A reference process with the scene open, as `fresh` gives a render process."""
        return await self._another("The reference process", self.ground.modules.reference, log)

    async def release(self, child: Child) -> None:
        """End a process that `fresh` or `reference` gave."""
        await child.kill()
        if child in self._others:
            self._others.remove(child)

    async def imaging(self, log: AttemptLog) -> Child:
        """The imaging process; it needs no scene, and gets none."""
        if self._imaging is None or not self._imaging.alive:
            folders = Folders(self.scratch, self.root / "imaging-cache", (self.inputs,))
            start = launch(
                "The imaging process",
                self.runtime,
                self.ground.modules.imaging,
                folders,
                sandbox=self.ground.sandbox,
            )
            self._imaging = await Child.start(start, log, self._patience)
        self._imaging.log = log
        self._imaging.patience = self._patience
        return self._imaging

    def strike(self) -> None:
        """Kill all of its processes at once, without waiting."""
        self._stop.set()
        for child in self._children():
            child.strike()

    async def end_processes(self) -> None:
        """Kill all of its processes and wait for that; the scene's files stay."""
        self.strike()
        for child in self._children():
            await child.kill()
        self._render = self._imaging = None
        self._others.clear()

    async def close(self) -> None:
        """End the processes and delete the files."""
        await self.end_processes()
        await asyncio.to_thread(scene_folder.remove, self.root)

    async def _another(self, program: str, module: str, log: AttemptLog) -> Child:
        await self.lay_out()
        warm = self._render
        if warm is not None and warm.alive and telemetry.host().memory_free < 1.2 * warm.memory():
            await warm.kill()
        child = await self._start_blender(program, module, log)
        self._others.append(child)
        await self._open(child)
        return child

    async def _start_blender(self, program: str, module: str, log: AttemptLog) -> Child:
        folders = Folders(self.scratch, self.ground.driver_cache, (self.scene, self.inputs))
        start = launch(program, self.runtime, module, folders, sandbox=self.ground.sandbox)
        return await Child.start(start, log, self._patience)

    async def _open(self, child: Child) -> None:
        """Open the scene; a process that could not is of no further use."""
        try:
            await child.ask(Open(str(self.scene / self.manifest.main)))
        except BaseException:
            await child.kill()
            raise

    @property
    def _patience(self) -> Patience:
        return self.patience or self.ground.patience

    def _worn_out(self, child: Child) -> bool:
        config = self.ground.config
        most = config.process_bytes or telemetry.host().memory // 2
        return not child.alive or self._orders >= config.tasks_per_process or child.memory() > most

    def _leads_to(self, to: Playhead | None) -> bool:
        return to is None or self._played is None or self._played.leads_to(to)

    def _lay_out_now(self, stop: threading.Event) -> None:
        try:
            scene_folder.lay_out(self.manifest, self.scene, self.ground.cache, stop)
        except BaseException:  # a cancelled attempt does not wait for this thread: it tidies up itself
            scene_folder.remove(self.scene)
            raise

    def _children(self) -> list[Child]:
        return [child for child in (self._render, self._imaging, *self._others) if child is not None]
