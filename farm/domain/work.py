"""What the head sends to a worker, and what comes back. Small values: no picture goes this way."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from farm.domain.job import RenderSettings
from farm.domain.plan import Plan
from farm.domain.scene import Blob, SceneManifest, SceneReport, Value
from farm.domain.task import TaskKind


class Role(StrEnum):
    """What a stored file is for."""

    OUTPUT = "output"  # what the artist asked for
    PIECE = "piece"  # 32-bit multilayer EXR of one tile
    EXR = "exr"  # the frame's passes, kept on request (--keep-exr)
    PREVIEW = "preview"  # JPEG through the scene's view transform, at most 1920 pixels wide
    VIDEO = "video"  # a movie made of the frames
    LOG = "log"


class StoredFile(Value):
    """A file that a worker stored. `name` is the path in the artist's folder, POSIX and relative."""

    role: Role
    name: str
    key: str
    blob: Blob
    media_type: str = "application/octet-stream"


class RenderClass(Value):
    """Pieces of one frame come from one class: other builds, devices or kernels give other bits."""

    blender: str  # version and build hash: "5.2.3 e13b728c6880"
    device: str  # CPU, OPTIX, CUDA
    kernel: str  # CPU instruction set (avx2, sse42) or GPU architecture (sm_90)

    def __str__(self) -> str:
        return f"Blender {self.blender}, {self.device} {self.kernel}"


class PieceRef(Value):
    """A committed piece, as the finish of its frame needs it."""

    tile: int
    key: str
    blob: Blob
    render_class: RenderClass
    #: How often this piece was rendered so far. One that looks wrong is rendered once more, to be sure.
    renders: int = Field(default=1, ge=1)


class FramePicture(Value):
    """A committed picture of a frame, as the encoding of a movie needs it."""

    frame: int
    file: StoredFile


class Claim(Value):
    """What a finished frame is said to be, for the task that verifies it."""

    job_id: str
    plan: Plan
    render_class: RenderClass
    outputs: tuple[StoredFile, ...]
    exr: StoredFile | None = None  # its passes, where they were kept
    digests: dict[str, str] = {}  # of its merged passes, see `Result.digests`


class Row(Value):
    """One line of a proof: a pass, or a file, of the frame as the farm made it and as Blender makes it.

    ``differing`` counts pixels and ``largest`` is the largest difference of a value; both are None where
    only a digest of the farm's pixels is left, and where nothing differs they are 0.

    A file of many passes has one row where all of it is the same; else ``part`` names the pass of the file.
    """

    kind: str  # "pass", "denoised" (a pass, by a tolerance of its own), "output", "metadata"
    name: str  # "ViewLayer.Combined", "shot_0012.png"
    part: str = ""  # "ViewLayer.Depth", of an output that holds passes
    same: bool
    pixels: int = 0  # of the frame, in this pass or file
    differing: int | None = None
    largest: float | None = None
    note: str = ""  # "one of them has no such pass", "the date is burnt into the picture: not compared"

    @property
    def called(self) -> str:
        """What the row is of, on one line: “passes_0012.exr: ViewLayer.Depth”."""
        return f"{self.name}: {self.part}" if self.part else self.name


class Proof(Value):
    """What came out when plain Blender rendered a frame whole, in the class of the frame's pieces."""

    frame: int
    render_class: RenderClass
    rows: tuple[Row, ...]
    seconds: float = 0.0  # of the whole render
    tolerance: float = 0.0  # 0 on the CPU

    @property
    def exact(self) -> bool:
        """Whether nothing differs by more than the tolerance."""
        return bool(self.rows) and all(row.same for row in self.rows)


class Order(Value):
    """One attempt at one task, complete in itself."""

    attempt_id: str
    task: str  # a TaskKey
    kind: TaskKind
    scene_id: str
    manifest: SceneManifest
    settings: RenderSettings
    prefix: str  # where the attempt's files go
    plan: Plan | None = None  # None for an inspection
    report: SceneReport | None = None
    pieces: tuple[PieceRef, ...] = ()  # for a finish
    render_class: RenderClass | None = None  # where the frame's class is settled: the only one allowed
    claim: Claim | None = None  # for a verification
    #: Seconds in which the frames of this job always moved on: a render process that neither counts nor
    #: computes for so long hangs. None where nothing is known yet: the worker's own patience counts.
    patience: float | None = None
    pictures: tuple[FramePicture, ...] = ()  # for an encoding: of every frame, in their order

    def sent(self) -> dict[str, Any]:
        """The order as plain JSON values; what the orders of a job have in common is made once for all."""
        shared = {name: getattr(self, name) for name in ("manifest", "settings", "plan", "report")}
        own = self.model_dump(mode="json", exclude=set(shared))
        return own | {name: None if value is None else value.plain for name, value in shared.items()}


class Cause(StrEnum):
    """Why an attempt failed. Whether a retry can help is a property of the cause."""

    BAD_SCENE = "bad-scene"  # Blender cannot open or render it: stops the job
    CRASH = "crash"
    HANG = "hang"
    OUT_OF_MEMORY = "out-of-memory"
    NO_DEVICE = "no-device"  # the device asked for is not there
    BAD_RESULT = "bad-result"  # wrong size, missing pass, NaN, truncated
    WRONG_CLASS = "wrong-class"  # another render class than the frame's
    STORAGE = "storage"
    DISK_FULL = "disk-full"
    INTERNAL = "internal"
    CANCELLED = "cancelled"
    LOST = "lost"
    PREEMPTED = "preempted"  # the worker was taken back by its owner, or by its cloud

    @property
    def stops_job(self) -> bool:
        return self in (Cause.BAD_SCENE, Cause.NO_DEVICE)

    @property
    def free_retry(self) -> bool:
        """The task is not to blame, so the try does not count."""
        return self in (Cause.LOST, Cause.PREEMPTED, Cause.STORAGE)


class Seconds(Value):
    """Where an attempt's time went, in seconds; each counts once.

    Time in which storage was away is in `total` alone.
    """

    fetch: float = 0.0  # files of the scene that this machine lacked, pieces, pictures
    load: float = 0.0  # processes started and the scene opened; 0 where all of it was warm
    #: Cycles making the scene ready, kernels and what was played before the frame included: little where the
    #: process has rendered this frame, or this scene where nothing of it moves, before.
    sync: float = 0.0
    render: float = 0.0  # samples, and compositing where a frame is whole
    save: float = 0.0  # written by Blender, checked, merged and shrunk
    store: float = 0.0
    total: float = 0.0  # from the order to its end


class Result(Value):
    """A successful attempt."""

    files: tuple[StoredFile, ...] = ()
    seconds: Seconds = Seconds()
    render_class: RenderClass | None = None
    device_name: str = ""
    driver: str = ""  # of the GPU, as it names itself
    seed: int | None = None  # of the noise, with what a sample range adds to it
    peak_memory: int = 0  # bytes, of the render process
    report: SceneReport | None = None  # of an inspection
    notes: tuple[str, ...] = ()
    #: Of a finish: SHA-256 by pass ("ViewLayer.Depth", with several views "ViewLayer.Depth.left") of the
    #: merged frame before denoising: the raw little-endian values of its channels in the order of their
    #: names, each row by row from the top.
    digests: dict[str, str] = {}
    proof: Proof | None = None  # of a verification


class Failure(Value):
    """A failed attempt, in words. `log_tail` is the telling end of Blender's own log."""

    cause: Cause
    what: str
    cure: str = ""
    log_tail: str = ""
    files: tuple[StoredFile, ...] = ()  # the log, mostly
    memory: int = 0  # bytes that its worker had, where they were too few …
    host: bool = False  # … of its machine, whatever it renders on; else of what it renders on
    pieces: tuple[int, ...] = ()  # of a finish: pieces that are at fault and are to be rendered again


class Progress(Value):
    """What Cycles counted. `sample` of `samples` of the running view layer, never a guess."""

    phase: str = "starting"  # fetching, loading, syncing, rendering, compositing, saving, merging, storing
    sample: int = 0
    samples: int = 0
    layer: str = ""


class Report(Value):
    """One message of a worker to the head, numbered so that none is lost or taken twice."""

    sequence: int = Field(ge=1)
    attempt_id: str = ""  # none where it tells of the worker itself
    away: str | None = None  # why the worker takes no orders: “lent from 19:00 to 8:00”; "": it does again
    progress: Progress | None = None
    result: Result | None = None
    failure: Failure | None = None


class WorkerInfo(Value):
    """What a worker is. Sent on start, and when asked."""

    worker_id: str
    host: str
    pid: int
    device: str  # CPU, OPTIX, CUDA
    device_name: str
    threads: int
    memory: int  # bytes
    render_class: RenderClass
    sandboxed: bool
    tags: tuple[str, ...] = ()  # words of its owner, see `farm.domain.control.Needs`
    gpu_memory: int = 0  # bytes; 0 on the CPU
    driver: str = ""  # of the GPU, as it names itself
    price: float = Field(default=0.0, ge=0)  # an hour
    away: str = ""  # why it takes no orders now; empty: it does

    @property
    def render_memory(self) -> int:
        """Bytes that a scene has to fit into."""
        return self.gpu_memory or self.memory
