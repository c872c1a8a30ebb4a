"""A child that speaks the protocol without Blender: for tests of the worker, and of the farm around it.

``Modules(render="workers.fake_child", imaging="workers.fake_child")`` puts it in the place of both
programs. The scene file's text says how it behaves: lines ``REQUEST = BEHAVIOUR``, where REQUEST is
the lower-case name of a request (``open``, ``renderframe`` …) and BEHAVIOUR one of `_BEHAVIOURS`;
everything else goes well. Where ``CUDA_VISIBLE_DEVICES`` is set, it has an OptiX GPU.
Standard library only.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workers.child import Handler, Link, Refusal, attach, serve
from workers.protocol import (
    MAX_LINE,
    Count,
    Done,
    FinishFrame,
    Inspect,
    MergeFrame,
    Open,
    Ready,
    RenderFrame,
    RenderTile,
    Shrink,
)

VERSION, BUILD = "5.2.3", "fake"
WIDTH, HEIGHT = 64, 36  # pixels of a frame at 100 percent

_behaviours: dict[str, str] = {}
_scene: list[Path] = []


def png(width: int, height: int) -> bytes:
    """A black greyscale PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(bytes((1 + width) * height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def exr(width: int, height: int) -> bytes:
    """A black one-channel, uncompressed, 32-bit OpenEXR."""

    def attribute(name: str, kind: str, data: bytes) -> bytes:
        return name.encode() + b"\0" + kind.encode() + b"\0" + struct.pack("<i", len(data)) + data

    box = struct.pack("<iiii", 0, 0, width - 1, height - 1)
    header = struct.pack("<ii", 20000630, 2) + b"".join(
        (
            attribute("channels", "chlist", b"Z\0" + struct.pack("<iiii", 2, 0, 1, 1) + b"\0"),
            attribute("compression", "compression", b"\0"),
            attribute("dataWindow", "box2i", box),
            attribute("displayWindow", "box2i", box),
            attribute("lineOrder", "lineOrder", b"\0"),
            attribute("pixelAspectRatio", "float", struct.pack("<f", 1.0)),
            attribute("screenWindowCenter", "v2f", struct.pack("<ff", 0.0, 0.0)),
            attribute("screenWindowWidth", "float", struct.pack("<f", 1.0)),
        )
    )
    header += b"\0"
    line = 8 + 4 * width
    start = len(header) + 8 * height
    table = b"".join(struct.pack("<Q", start + y * line) for y in range(height))
    lines = b"".join(struct.pack("<ii", y, 4 * width) + bytes(4 * width) for y in range(height))
    return header + table + lines


JPEG = b"\xff\xd8\xff\xe0" + bytes(32) + b"\xff\xd9"


def open_scene(request: Open, link: Link) -> Done:
    path = Path(request.path)
    _scene[:] = [path]
    for line in path.read_text().splitlines():
        name, _, behaviour = line.partition("=")
        _behaviours[name.strip()] = behaviour.strip()
    _behave("open", link)
    return Done(seconds={"load": 0.01})


def inspect(request: Inspect, link: Link) -> Done:
    behaviour = _behave("inspect", link)
    report: dict[str, Any] = {
        "scene": request.scene or "Scene",
        "scenes": ["Scene"],
        "camera": request.camera or "Camera",
        "cameras": ["Camera"],
        "frame_start": 1,
        "frame_end": 3,
        "full_width": WIDTH,
        "full_height": HEIGHT,
        "percentage": 100,
        "engine": "CYCLES",
        "samples": 4,
        "file_format": "PNG",
        "output_name": "shot_####",
        "blender": f"{VERSION} {BUILD}",
    }
    match behaviour:
        case "not-a-number":
            report["fps"] = float("nan")
        case "no-end":
            report["samples"] = 10**400
        case "below-zero":
            report["full_width"] = -64
        case "no-text":
            report["cameras"] = ["Camera", "K\ud800fer"]
    return Done(report=report)


def render_frame(request: RenderFrame, link: Link) -> Done:
    behaviour = _behave("renderframe", link)
    _count(link)
    names = _write_outputs(Path(request.out_dir), request.look.frame, behaviour)
    Path(request.preview).write_bytes(JPEG)
    if request.exr:
        Path(request.exr).write_bytes(exr(WIDTH, HEIGHT))
    device = "CPU" if behaviour == "wrong-device" else request.look.device
    return Done(outputs=names, seconds={"render": 0.02}, device=device, device_name="Fake")


def render_tile(request: RenderTile, link: Link) -> Done:
    behaviour = _behave("rendertile", link)
    _count(link)
    width = request.width + (behaviour == "wrong-size")
    data = exr(width, request.height)
    Path(request.exr).write_bytes(data[:-10] if behaviour == "truncated" else data)
    Path(request.preview).write_bytes(JPEG)
    return Done(seconds={"render": 0.02}, device=request.look.device, device_name="Fake")


def finish_frame(request: FinishFrame, link: Link) -> Done:
    behaviour = _behave("finishframe", link)
    if not Path(request.merged).is_file():
        raise Refusal("internal", "There is no merged frame.")
    names = _write_outputs(Path(request.out_dir), request.look.frame, behaviour)
    Path(request.preview).write_bytes(JPEG)
    return Done(outputs=names, seconds={"save": 0.02}, device="CPU")


def merge_frame(request: MergeFrame, link: Link) -> Done:
    del link
    covered = sum(piece.core[2] * piece.core[3] for piece in request.pieces)
    for piece in request.pieces:
        if Path(piece.path).read_bytes() != exr(piece.rendered[2], piece.rendered[3]):
            raise Refusal("bad-result", f"{piece.path} does not hold what was rendered.")
    if covered != request.width * request.height:
        raise Refusal("bad-result", f"The pieces cover {covered} pixels.")
    Path(request.out).write_bytes(exr(request.width, request.height))
    return Done(seconds={"load": 1000.0, "save": 1000.0})


def shrink(request: Shrink, link: Link) -> Done:
    del link
    Path(request.out).write_bytes(Path(request.source).read_bytes())
    return Done()


def _write_outputs(out: Path, frame: int, behaviour: str) -> list[str]:
    name = f"shot_{frame:04d}.png"
    target = out / name
    match behaviour:
        case "link":
            target.symlink_to("/etc/passwd")
        case "folder-link":
            (out / "deep").symlink_to("/etc")
            return ["deep/passwd"]
        case "fifo":
            os.mkfifo(target)
        case "not-written":
            pass
        case "nothing":
            return []
        case "climb":
            return ["../preview.jpg"]
        case "absolute":
            return ["/etc/passwd"]
        case "ours":
            (out / "_farm").mkdir()
            (out / "_farm" / "log.txt").write_text("forged")
            return ["_farm/log.txt"]
        case "empty":
            target.write_bytes(b"")
        case "truncated":
            target.write_bytes(png(WIDTH, HEIGHT)[:-8])
        case "look-around":
            seen = {"env": dict(os.environ), "uid": os.getuid(), "network": _network(), "writes": _writes()}
            (out / "seen.json").write_text(json.dumps(seen))
            return ["seen.json"]
        case _:
            (out / "unasked.bin").write_bytes(b"nobody named this")
            target.write_bytes(png(WIDTH, HEIGHT))
    return [name]


def _network() -> list[str]:
    """Interfaces that are there."""
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    return [line.partition(":")[0].strip() for line in lines]


def _writes() -> bool:
    """Whether the scene could be changed."""
    try:
        _scene[0].chmod(0o644)
        with _scene[0].open("a"):
            return True
    except OSError:
        return False


def _count(link: Link) -> None:
    for sample in range(1, 5):
        link.send(Count("rendering", sample, 4, "ViewLayer"))


def _behave(request: str, link: Link) -> str:
    """Do what the scene says for ``request``; what concerns its outputs is left to it."""
    behaviour = _behaviours.get(request, "")
    once = behaviour.removesuffix("-once")
    if once != behaviour:
        mark = Path(os.environ["HOME"]) / f"{request}-{once}"
        if mark.exists():
            return ""
        mark.touch()
        behaviour = once
    act = _BEHAVIOURS.get(behaviour.split(" ")[0])
    if act is not None:
        act(link, behaviour)
    return behaviour


def _say(line: str) -> None:
    """Write to the log, as Blender does."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _crash(link: Link, behaviour: str) -> None:
    del behaviour
    _say("Error: something in this scene is too much")
    link.send(Count("rendering", 1, 4))
    os.abort()


def _kill_itself(link: Link, behaviour: str) -> None:
    del link, behaviour
    os.kill(os.getpid(), signal.SIGKILL)


def _exit(link: Link, behaviour: str) -> None:
    del link, behaviour
    os._exit(7)


def _out_of_memory(link: Link, behaviour: str) -> None:
    del link, behaviour
    _say("Malloc returns null: len=68719476736 in image, total 12")
    os.abort()


def _hang(link: Link, behaviour: str) -> None:
    """Stop every thread, beats included, but leave a grandchild to clean up."""
    del link, behaviour
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    os.kill(os.getpid(), signal.SIGSTOP)


def _stuck(link: Link, behaviour: str) -> None:
    """Beat for ever, and do nothing."""
    link.send(Count("rendering", 1, 4))
    del behaviour
    time.sleep(1000)


def _slow(link: Link, behaviour: str) -> None:
    """``slow N``: N samples, a tenth of a second each."""
    total = int(behaviour.split(" ")[1])
    for sample in range(1, total + 1):
        link.send(Count("rendering", sample, total, "ViewLayer"))
        time.sleep(0.1)


def _garbage(link: Link, behaviour: str) -> None:
    del behaviour
    link._sink.write(b"Fra:1 Mem:12.0M (Peak 14.0M)\n")
    link._sink.flush()
    time.sleep(1000)


def _long_line(link: Link, behaviour: str) -> None:
    del behaviour
    link._sink.write(b"x" * (3 * MAX_LINE))
    link._sink.flush()
    time.sleep(1000)


def _deep(link: Link, behaviour: str) -> None:
    del behaviour
    link._sink.write(b'{"kind":' + b"[" * 1_000_000 + b"\n")
    link._sink.flush()
    time.sleep(1000)


def _flood(link: Link, behaviour: str) -> None:
    del behaviour
    for sample in range(20_000):
        link.send(Count("rendering", sample, 20_000, "L" * 200))


def _chatter(link: Link, behaviour: str) -> None:
    """Print far more than a log holds."""
    del link, behaviour
    for number in range(100_000):
        _say(f"{number:08d} " + "-" * 90)


def _two_answers(link: Link, behaviour: str) -> None:
    del behaviour
    link.send(Done())
    link.send(Done())


def _fail(link: Link, behaviour: str) -> None:
    """``fail CAUSE``."""
    del link
    raise Refusal(behaviour.split(" ")[1], "The scene has no\x1b[31m camera.\ud800", "Add one.")


_BEHAVIOURS: dict[str, Callable[[Link, str], None]] = {
    "crash": _crash,
    "kill": _kill_itself,
    "exit": _exit,
    "out-of-memory": _out_of_memory,
    "hang": _hang,
    "stuck": _stuck,
    "slow": _slow,
    "garbage": _garbage,
    "long-line": _long_line,
    "deep": _deep,
    "flood": _flood,
    "chatter": _chatter,
    "two-answers": _two_answers,
    "fail": _fail,
}

_HANDLERS: dict[type[Any], Handler] = {
    Open: open_scene,
    Inspect: inspect,
    RenderFrame: render_frame,
    RenderTile: render_tile,
    FinishFrame: finish_frame,
    MergeFrame: merge_frame,
    Shrink: shrink,
}

if __name__ == "__main__":
    devices = [{"type": "CPU", "name": "Fake CPU"}]
    if os.environ.get("CUDA_VISIBLE_DEVICES"):
        devices.insert(0, {"type": "OPTIX", "name": "Fake GPU"})
    ready = Ready("blender", version=VERSION, build=BUILD, kernel="avx2", devices=devices)
    sys.exit(serve(attach(), ready, _HANDLERS))
