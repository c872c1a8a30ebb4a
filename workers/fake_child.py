"""A child that speaks the protocol without Blender: for tests of the worker, and of the farm around it.

``Modules(render="workers.fake_child", imaging="workers.fake_child")`` puts it in the place of both
programs. The scene file's text says how it behaves: lines ``REQUEST = BEHAVIOUR``, where REQUEST is
the lower-case name of a request (``open``, ``renderframe`` …) and BEHAVIOUR one of
`workers.fake_faults.FAULTS`, or something odd about its answer that the functions here name; with
``-once`` behind it, the first time only. Everything else goes well. Where ``CUDA_VISIBLE_DEVICES`` is
set, it has an OptiX GPU.
Standard library only.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from workers.child import Handler, Link, Refusal, attach, serve
from workers.fake_faults import FAULTS
from workers.fake_pictures import JPEG, exr, png
from workers.protocol import (
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
    act = FAULTS.get(behaviour.split(" ")[0])
    if act is not None:
        act(link, behaviour)
    return behaviour


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
