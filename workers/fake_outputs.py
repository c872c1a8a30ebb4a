"""What a fake render leaves in its output folder: a picture, or what a hostile scene would try.

Standard library only.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from workers.fake_pictures import mp4, png

WIDTH, HEIGHT = 64, 36


def write_outputs(out: Path, frame: int, behaviour: str, scene: Path) -> list[str]:
    """Write frame ``frame`` to ``out`` as ``behaviour`` says; the names that are claimed to be there."""
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
            seen = {
                "env": dict(os.environ),
                "uid": os.getuid(),
                "network": _network(),
                "writes": _writes(scene),
            }
            (out / "seen.json").write_text(json.dumps(seen))
            return ["seen.json"]
        case _:
            (out / "unasked.bin").write_bytes(b"nobody named this")
            target.write_bytes(png(WIDTH, HEIGHT))
    return [name]


def write_movie(out: Path, frames: list[int], behaviour: str, *, preview: bool) -> list[str]:
    """Write a movie of ``frames`` to ``out`` as ``behaviour`` says; the names that are claimed."""
    name = "preview.mp4" if preview else f"shot_{frames[0]:04d}-{frames[-1]:04d}.mp4"
    data = mp4(len(frames))
    match behaviour:
        case "nothing":
            return []
        case "truncated":
            data = data[:-1]
        case "ours":
            (out / "_farm").mkdir()
            name = "_farm/log.mp4"
        case "same-name":
            name = "preview.mp4"
    (out / name).write_bytes(data)
    return [name]


def _network() -> list[str]:
    """Interfaces that are there."""
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    return [line.partition(":")[0].strip() for line in lines]


def _writes(scene: Path) -> bool:
    """Whether the scene could be changed."""
    try:
        scene.chmod(0o644)
        with scene.open("a"):
            return True
    except OSError:
        return False
