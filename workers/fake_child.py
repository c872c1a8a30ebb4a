"""A child that speaks the protocol without Blender: for tests of the worker, and of the farm around it.

``Modules(*("workers.fake_child",) * 3)`` puts it in the place of all three programs. The scene file's text
says how it behaves: lines ``REQUEST = BEHAVIOUR``, where REQUEST is the lower-case name of a request
(``open``, ``renderframe`` …) and BEHAVIOUR one of `workers.fake_faults.FAULTS`, or something odd about
its answer that the functions here name; with ``-once`` behind it, the first time only. Everything else
goes well. The imaging process opens no scene: what it is to say of a piece, the piece itself tells.
Where ``CUDA_VISIBLE_DEVICES`` is set, it has an OptiX GPU.
Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from workers.child import Handler, Link, Refusal, attach, serve
from workers.fake_faults import FAULTS
from workers.fake_imaging import check_piece, compare, merge_frame, shrink
from workers.fake_outputs import write_movie, write_outputs
from workers.fake_pictures import DARK, JPEG, NAN, exr
from workers.protocol import (
    CheckPiece,
    Compare,
    CompareImages,
    Count,
    Done,
    EncodeVideo,
    FinishFrame,
    Inspect,
    MergeFrame,
    Open,
    Probe,
    Ready,
    RenderFrame,
    RenderReference,
    RenderTile,
    Shrink,
)

VERSION, BUILD = "5.2.3", "fake"
WIDTH, HEIGHT = 64, 36  # pixels of a frame at 100 percent
LAYERS = [{"name": "ViewLayer", "passes": ["Combined"]}]

_behaviours: dict[str, str] = {}
_scene: list[Path] = []
_played: list[int] = []


def open_scene(request: Open, link: Link) -> Done:
    path = Path(request.path)
    _scene[:] = [path]
    for line in path.read_text().splitlines():
        name, _, behaviour = line.partition("=")
        _behaviours[name.strip()] = behaviour.strip()
    _behave("open", link)
    return Done(seconds={"load": 0.01})


def inspect(request: Inspect, link: Link) -> Done:
    """``report {…}``: fields of the report, as JSON."""
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
        "layers": LAYERS,
        "file_format": "PNG",
        "output_name": "shot_####",
        "blender": f"{VERSION} {BUILD}",
    }
    match behaviour.split(" ")[0]:
        case "not-a-number":
            report["fps"] = float("nan")
        case "no-end":
            report["samples"] = 10**400
        case "below-zero":
            report["full_width"] = -64
        case "no-text":
            report["cameras"] = ["Camera", "K\ud800fer"]
        case "report":
            report |= json.loads(behaviour.partition(" ")[2])
    return Done(report=report)


def render_frame(request: RenderFrame, link: Link) -> Done:
    behaviour = _behave("renderframe", link)
    _play(request.look.play_from, request.look.frame)
    _count(link)
    names = write_outputs(Path(request.out_dir), request.look.frame, behaviour, _scene[0])
    Path(request.preview).write_bytes(JPEG)
    if request.exr:
        Path(request.exr).write_bytes(exr(WIDTH, HEIGHT))
    device = "CPU" if behaviour == "wrong-device" else request.look.device
    return Done(outputs=names, seconds={"render": 0.02}, device=device, device_name="Fake")


def render_tile(request: RenderTile, link: Link) -> Done:
    """``dark``, ``not-finite``, ``no-combined``: what checks and merges have to find in the piece."""
    behaviour = _behave("rendertile", link)
    _count(link)
    width = request.width + (behaviour == "wrong-size")
    channel = "ViewLayer.Depth.V" if behaviour == "no-combined" else "ViewLayer.Combined.V"
    data = exr(width, request.height, {"dark": DARK, "not-finite": NAN}.get(behaviour, b""), channel)
    Path(request.exr).write_bytes(data[:-10] if behaviour == "truncated" else data)
    Path(request.preview).write_bytes(JPEG)
    return Done(seconds={"render": 0.02}, device=request.look.device, device_name="Fake")


def finish_frame(request: FinishFrame, link: Link) -> Done:
    behaviour = _behave("finishframe", link)
    merged = Path(request.merged)
    if not merged.is_file():
        raise Refusal("internal", "There is no merged frame.")
    names = write_outputs(Path(request.out_dir), request.look.frame, behaviour, _scene[0])
    Path(request.preview).write_bytes(JPEG)
    if request.exr:
        Path(request.exr).write_bytes(merged.read_bytes())
    return Done(outputs=names, seconds={"save": 0.02}, device="CPU")


def encode_video(request: EncodeVideo, link: Link) -> Done:
    behaviour = _behave("encodevideo", link)
    listed = json.loads(Path(request.listing).read_text(encoding="utf-8"))
    for picture in listed["pictures"]:
        if not Path(picture).is_file():
            raise Refusal("internal", f"There is no {picture}.")
    names = write_movie(Path(request.out_dir), listed["frames"], behaviour, preview=request.preview)
    link.send(Count("encoding", len(listed["frames"]), len(listed["frames"])))
    return Done(outputs=names, seconds={"save": 0.02}, notes=["encoded"])


def render_reference(request: RenderReference, link: Link) -> Done:
    behaviour = _behave("renderreference", link)
    _count(link)
    out = Path(request.out_dir)
    out.mkdir(parents=True, exist_ok=True)
    names = write_outputs(out, request.look.frame, behaviour, _scene[0])
    Path(request.exr).write_bytes(exr(WIDTH, HEIGHT, DARK if behaviour == "dark" else b""))
    return Done(
        outputs=[name for name in names if (out / name).is_file()],
        seconds={"render": 0.02},
        device=request.look.device,
        device_name="Fake",
        report={"added": [], "passes": True, "burnt": [], "stamped": []},
    )


def compare_images(request: CompareImages, link: Link) -> Done:
    behaviour = _behave("compareimages", link)
    same = behaviour != "differ" and _sum(request.reference) == _sum(request.candidate)
    row = {
        "kind": "output",
        "name": request.name,
        "same": same,
        "pixels": WIDTH * HEIGHT,
        "differing": 0 if same else 1,
        "largest": 0.0 if same else 1.0,
    }
    return Done(report={"rows": [row]})


def probe(request: Probe, link: Link) -> Done:
    """There is no scene that could say how: a file ``probe`` beside the worker's driver cache does."""
    said = Path(os.environ["CUDA_CACHE_PATH"]).parent / "probe"
    if said.is_file():
        _behaviours["probe"] = said.read_text()
    behaviour = _behave("probe", link)
    return Done(device="CPU" if behaviour == "wrong-device" else request.device, device_name="Fake")


def _sum(path: str) -> bytes:
    return hashlib.sha256(Path(path).read_bytes()).digest()


def _play(first: int | None, frame: int) -> None:
    """Refuse what a real process could not play; a file of this process tells what was."""
    if first is None:
        return
    if _played and _played[-1] > frame:
        raise Refusal("internal", f"Frame {frame} is in the past: {_played[-1]} is played.")
    _played.extend(range(_played[-1] + 1 if _played else min(first, frame), frame + 1))


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
    EncodeVideo: encode_video,
    Probe: probe,
    RenderReference: render_reference,
    CompareImages: compare_images,
    CheckPiece: check_piece,
    MergeFrame: merge_frame,
    Compare: compare,
    Shrink: shrink,
}

if __name__ == "__main__":
    devices = [{"type": "CPU", "name": "Fake CPU"}]
    if os.environ.get("CUDA_VISIBLE_DEVICES"):
        devices.insert(0, {"type": "OPTIX", "name": "Fake GPU"})
    ready = Ready("blender", version=VERSION, build=BUILD, kernel="avx2", devices=devices)
    sys.exit(serve(attach(), ready, _HANDLERS))
