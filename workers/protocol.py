"""Messages between a worker and its children: one JSON object a line, over pipes.

Standard library only, Python 3.11 syntax: it also runs inside older Blenders' own Pythons.

The child takes file descriptor 1 for its messages at start and points stdout at stderr, so that
whatever Blender or a library prints can never be taken for a message. Paths are absolute, as the
child sees them. A child is hostile ground: `decode` accepts only known kinds with known fields of
the right type, and a line longer than `MAX_LINE` bytes is a protocol fault.

Parent to child:  `Open`, `Inspect`, `RenderFrame`, `RenderTile`, `FinishFrame`, `EncodeVideo`,
`Probe`; to the imaging process `CheckPiece`, `MergeFrame`, `Shrink`, `Compare`; to the reference process
`RenderReference`, `CompareImages`.
Child to parent:  `Ready`, `Beat`, `Count`, `Done`, `Failed`. One `Done` or `Failed` answers each request.
End of file on its input ends the child.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Type, Union, get_args, get_origin, get_type_hints

MAX_LINE = 8 * 1024 * 1024


class ProtocolFault(Exception):
    """The other side sent something that is not a message."""


# --- parent to child -------------------------------------------------------------------------


@dataclass(frozen=True)
class Open:
    """Load a .blend with scripts off. Answer: Done with ``seconds``. Once per process."""

    path: str


@dataclass(frozen=True)
class Inspect:
    """Describe the open scene. Answer: Done with ``report``, a `SceneReport` as plain JSON.

    What is told about cutting holds for ``samples``; the report's own `samples` are the scene's.
    """

    scene: Optional[str] = None
    camera: Optional[str] = None
    engine: str = "scene"
    samples: Optional[int] = None


@dataclass(frozen=True)
class Look:
    """What every render request says about the scene: None leaves the scene's own value."""

    frame: int
    device: str  # CPU, OPTIX, CUDA: never AUTO, the worker has decided
    scene: Optional[str] = None
    camera: Optional[str] = None
    engine: str = "scene"
    samples: Optional[int] = None
    percentage: Optional[int] = None
    threads: int = 0  # 0: all
    #: Where frames depend on those before: the frame from which on all are played, in order, this one and
    #: those that its motion blur looks at included, before it is rendered. A process that has played some
    #: of them goes on from there.
    play_from: Optional[int] = None


@dataclass(frozen=True)
class RenderFrame:
    """Render a whole frame, composited and saved in place, as Blender's own ``-f`` does.

    Everything Blender writes lands under ``out_dir`` (every path of the file is mapped into it).
    ``preview`` is a JPEG through the scene's view transform. With ``exr``, all passes as a 32-bit
    multilayer EXR there too.
    Answer: Done with ``outputs`` (paths relative to out_dir) and ``seconds``.
    """

    look: Look
    out_dir: str
    preview: str
    exr: Optional[str] = None


@dataclass(frozen=True)
class RenderTile:
    """Render one piece as a 32-bit multilayer EXR with every pass of every view layer to ``exr``.

    No compositing, sequencer, stamp or denoise; denoising passes stored where the scene denoises.
    ``border`` is Blender's (min_x, max_x, min_y, max_y); ``width`` × ``height`` is what must come
    out. ``preview`` is a JPEG of the piece through the view transform. Several views lie in one file.

    With ``samples``, [first, count, total, seed]: only these samples of ``total``, with ``seed`` added to
    the scene's own.
    """

    look: Look
    border: List[float]
    width: int
    height: int
    exr: str
    preview: str
    samples: Optional[List[int]] = None


@dataclass(frozen=True)
class FinishFrame:
    """Denoise, composite and save a merged frame: the scene's own compositor runs once on ``merged``.

    Swaps the render engine, which costs a warm process what Cycles keeps of the scene: best done in a
    process of its own. Answers as `RenderFrame` does; with ``exr``, all passes of the finished frame go
    there as `RenderFrame` would save them.
    """

    look: Look
    merged: str
    out_dir: str
    preview: str
    exr: Optional[str] = None


@dataclass(frozen=True)
class EncodeVideo:
    """Encode pictures into a movie with Blender's own writer.

    ``listing`` is a JSON file of two lists: ``frames``, the pictures' numbers on the timeline, and
    ``pictures``, their paths, in the same order. A line to a child has no room for those of a long movie.
    ``preview`` False: the open scene's own container, codec, rate, size and sound, named as its output
    path says. True: an H.264 movie without sound, called ``preview.mp4``.
    Answer: Done with ``outputs`` (one movie, relative to out_dir) and ``notes``.
    """

    look: Look
    listing: str
    out_dir: str
    preview: bool = False


@dataclass(frozen=True)
class Probe:
    """Render a small scene of ours on ``device``, twice, in a process that has no scene open.

    Answer: Done with ``device`` and ``seconds``, or Failed (bad-result) where the pictures are not what they
    must be. ``folder`` is for files on the way.
    """

    device: str
    folder: str
    threads: int = 0  # 0: all


@dataclass(frozen=True)
class PieceFile:
    """A piece on disk. Boxes are [x, y, width, height] in the frame, y down."""

    path: str
    rendered: List[int]  # what the file holds
    core: List[int]  # what counts
    samples: Optional[List[int]] = None  # [first, count, total, seed]: the frame is cut by samples
    sure: bool = False  # rendered more than once: taken as it is, also where it looks wrong


@dataclass(frozen=True)
class CheckPiece:
    """Imaging process: is this piece a picture at all? Decodes all of it, and changes nothing.

    ``passes`` are names as ``ViewLayer.Depth`` that must be there (Blender's own, without the view).
    Answer: Done, or Failed (bad-result) for another size, a missing pass, values that are not numbers,
    and a file that cannot be decoded.
    """

    path: str
    width: int
    height: int
    passes: List[str]


@dataclass(frozen=True)
class MergeFrame:
    """Imaging process: merge pieces into one multilayer EXR, every pass, 32-bit float.

    Pieces cut by area are put beside each other, bit for bit. Pieces cut by samples are averaged.
    ``area`` is [x, y, width, height] of what the pieces cover where that is not the whole frame of
    ``width`` × ``height``: the merged file then holds just the area, and the boxes stay in the frame's
    coordinates.

    Answer: Done; ``report`` has ``digests`` (see `farm.domain.work.Result.digests`) and ``suspects``: the
    numbers, from 0, of pieces that are black and transparent throughout though the pixels of other
    pieces at their seams are not, and that are not ``sure``. Where there are suspects nothing is written.
    Failed (bad-result) with ``pieces`` where pieces are damaged, foreign, doubled or missing.
    """

    pieces: List[PieceFile]
    width: int
    height: int
    out: str
    area: Optional[List[int]] = None


@dataclass(frozen=True)
class Compare:
    """Imaging process: compare two multilayer EXR files, pass by pass and attribute by attribute.

    ``reference`` is plain Blender's, ``candidate`` the farm's; where the latter is empty, only its
    ``digests`` are left. Keys of metadata that always differ (date, host, render time, memory) are left
    out. Answer: Done; ``report`` has ``rows``, each a `farm.domain.work.Row` as plain JSON. With
    ``noisy``, Combined is compared with the reference's Noisy Image where it has one: digests are of the
    frame before denoising. ``added`` are passes that only the reference was made to store: the candidate
    need not have them. ``area`` is [x, y, width, height] in the frame, y down, of what the digests are
    of, where that is not the whole frame. ``denoised`` is the tolerance of passes that were denoised and
    whose noisy ones are compared beside them, None: as of all others; their rows have a kind of their own.
    """

    reference: str
    candidate: str = ""
    digests: Dict[str, str] = field(default_factory=dict)
    noisy: bool = False
    tolerance: float = 0.0
    denoised: Optional[float] = None
    added: List[str] = field(default_factory=list)
    area: Optional[List[int]] = None


@dataclass(frozen=True)
class RenderReference:
    """Reference process: render a whole frame as an artist's own Blender would, and save all its passes.

    Shares no code with pieces, merge and finish. Outputs land under ``out_dir`` under the names that a
    job delivers, passes at ``exr`` (the noisy picture too, where the scene denoises). With ``first``, only
    so many of the samples that ``look`` asks for: Cycles' own sample subset.
    Answer: Done with ``outputs`` and ``seconds``; ``report`` has ``added`` (see `Compare`), ``passes``
    (False where the picture has none, as one made of strips), ``burnt`` (what no second render can repeat
    and the scene burns into its picture, in words) and ``stamped`` (the outputs that it is burnt into).
    """

    look: Look
    out_dir: str
    exr: str
    first: Optional[int] = None


@dataclass(frozen=True)
class CompareImages:
    """Reference process: compare two pictures that Blender can read, value by value.

    Answer: Done; ``report`` has ``rows``, one for the pixels and one for the metadata where it differs.
    """

    reference: str
    candidate: str
    name: str
    tolerance: float = 0.0


@dataclass(frozen=True)
class Shrink:
    """Imaging process: write a JPEG of ``source`` (JPEG or PNG) at most ``width`` pixels wide.

    ``box`` is [x, y, width, height] in the source, y down: only that much of it, cut out before it
    shrinks.
    """

    source: str
    out: str
    width: int
    box: Optional[List[int]] = None


# --- child to parent -------------------------------------------------------------------------


@dataclass(frozen=True)
class Ready:
    """First message of a child: what it is. ``devices`` lists what it could render on."""

    program: str  # "blender" or "imaging"
    version: str = ""
    build: str = ""
    kernel: str = ""  # CPU kernel variant: avx2, sse42, neon
    devices: List[Dict[str, str]] = field(default_factory=list)  # type, name


@dataclass(frozen=True)
class Beat:
    """The process lives. Sent once a second from a thread of its own, also while rendering."""

    peak_memory: int = 0  # bytes


@dataclass(frozen=True)
class Count:
    """What Cycles counted."""

    phase: str
    sample: int = 0
    samples: int = 0
    layer: str = ""


@dataclass(frozen=True)
class Done:
    """The request is carried out. Which fields are filled is said at the request."""

    outputs: List[str] = field(default_factory=list)
    seconds: Dict[str, float] = field(default_factory=dict)  # load, sync, render, save
    device: str = ""  # what rendered, read back
    device_name: str = ""
    seed: Optional[int] = None  # of the noise, with what a sample range adds to it
    report: Optional[Dict[str, Any]] = None
    notes: List[str] = field(default_factory=list)
    peak_memory: int = 0


@dataclass(frozen=True)
class Failed:
    """The request failed for a reason that can be told. ``cause`` is a `farm.domain.work.Cause`."""

    cause: str
    what: str
    cure: str = ""
    pieces: List[int] = field(default_factory=list)  # of a merge: numbers, from 0, of those at fault


Request = Union[
    Open,
    Inspect,
    RenderFrame,
    RenderTile,
    FinishFrame,
    EncodeVideo,
    Probe,
    CheckPiece,
    MergeFrame,
    Shrink,
    Compare,
    RenderReference,
    CompareImages,
]
Answer = Union[Ready, Beat, Count, Done, Failed]
Message = Union[Request, Answer]

_KINDS: Dict[str, Type[Any]] = {kind.__name__: kind for kind in get_args(Message)}
_HINTS = {kind: get_type_hints(kind) for kind in (*_KINDS.values(), Look, PieceFile)}


def encode(message: Message) -> bytes:
    """One line, newline included."""
    body = {"kind": type(message).__name__, **dataclasses.asdict(message)}
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Message:
    """The message in ``line``; raises `ProtocolFault` for anything else."""
    if len(line) > MAX_LINE:
        raise ProtocolFault(f"a message of {len(line)} bytes is longer than {MAX_LINE}")
    try:
        body = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ProtocolFault(f"not JSON: {line[:80]!r}") from error
    name = body.pop("kind", None) if isinstance(body, dict) else None
    if not isinstance(name, str) or name not in _KINDS:
        raise ProtocolFault(f"not a known message: {line[:80]!r}")
    message: Message = _build(_KINDS[name], body)
    return message


def _build(kind: Type[Any], body: Dict[str, Any]) -> Any:
    hints = _HINTS[kind]
    if not set(body) <= set(hints):
        raise ProtocolFault(f"{kind.__name__} has no {sorted(set(body) - set(hints))}")
    try:
        return kind(**{name: _checked(value, hints[name], name) for name, value in body.items()})
    except TypeError as error:
        raise ProtocolFault(str(error)) from error


def _checked(value: Any, hint: Any, name: str) -> Any:
    """``value`` as ``hint``; containers are checked to the bottom."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin is Union:
        return None if value is None else _checked(value, inner[0], name)
    if origin is list and isinstance(value, list):
        return [_checked(item, inner[0], name) for item in value]
    if origin is dict and isinstance(value, dict):
        return {_checked(k, inner[0], name): _checked(v, inner[1], name) for k, v in value.items()}
    if dataclasses.is_dataclass(hint) and isinstance(value, dict):
        return _build(hint, value)  # type: ignore[arg-type]
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError as error:
            raise ProtocolFault(f"{name} is a number beyond all bounds") from error
    if isinstance(hint, type) and isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    raise ProtocolFault(f"{name} should be {hint}, not {value!r:.80}")
