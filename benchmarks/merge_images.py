"""Two ranges of a frame's samples, merged by us and by Blender's own ``merge_images``, beside the whole.

``python -m benchmarks.merge_images`` renders the sample scene “passes” with 16 samples, whole and as the
first 4 and the other 12, and prints a table in markdown: how far each kind of pass is from the whole frame.
Blender's operator sees the first part of a file only, so it is also given files of a single part.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import OpenEXR

import scenes
from benchmarks import imaging
from workers.protocol import MergeFrame, PieceFile

SAMPLES, FIRST = 16, 4
_HERE = Path(__file__).parent
_KINDS = {
    "Combined": (".Combined",),
    "Light groups": ("Combined_",),
    "Direct and indirect light": (" Direct", " Indirect"),
    "Colours, emission, environment, occlusion": (" Color", "Emission", "Environment", "Occlusion"),
    "Depth, position, object and material index": ("Depth", "Position", " Index"),
    "Normal, UV, mist": ("Normal", "UV", "Mist"),
    "Vector": ("Vector",),
    "AOVs": ("pattern", "facing"),
    "Cryptomatte: coverage, id by id": ("Crypto",),
}

Channels = dict[str, Any]


def main() -> int:
    """Render, merge both ways, print the table; exit code 1 where something failed."""
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary:
        room = Path(temporary)
        try:
            scene = scenes.build_file("passes", room / "passes.blend")
            _run(_HERE / "sample_ranges.py", scene, room, SAMPLES, FIRST)
            merge(room)
            for name in ("one", "two"):
                flatten(room / f"{name}.exr", room / f"flat-{name}.exr")
            for kind in ("", "flat-"):
                merging = (room / f"{kind}{name}.exr" for name in ("one", "two", "blender"))
                _run(_HERE / "blender_merge.py", *merging)
        except (scenes.BuildFailed, subprocess.CalledProcessError, imaging.MergeFailed) as error:
            sys.stderr.write(f"{error}\n")
            return 1
        whole = channels(room / "whole.exr")
        others = [channels(room / f"{name}.exr") for name in ("blender", "flat-blender", "ours")]
    rows = [
        [f"{SAMPLES} samples as {FIRST} + {SAMPLES - FIRST}", "`merge_images`", "…, one part", "Tessera"],
        ["---", "---:", "---:", "---:"],
        [f"channels, of {len(whole)}", *(str(len(other)) for other in others)],
        *([kind, *(told(whole, other, words) for other in others)] for kind, words in _KINDS.items()),
    ]
    sys.stdout.write("".join(f"| {' | '.join(row)} |\n" for row in rows))
    return 0


def _run(script: Path, *arguments: object) -> None:
    subprocess.run([sys.executable, "-P", str(script), *map(str, arguments)], capture_output=True, check=True)


def flatten(source: Path, target: Path) -> None:
    """Write all channels of ``source`` in one part, as Blender 4 did: all that ``merge_images`` can see."""
    with OpenEXR.File(str(source), separate_channels=True) as file:
        left_out = ("channels", "name", "chunkCount", "view")
        header = {key: value for key, value in file.parts[0].header.items() if key not in left_out}
        found = {name: channel.pixels for part in file.parts for name, channel in part.channels.items()}
        OpenEXR.File(header, found).write(str(target))


def merge(room: Path) -> None:
    """Let the imaging process merge the two ranges into ours.exr; raises `MergeFailed`."""
    with OpenEXR.File(str(room / "one.exr"), header_only=True) as file:
        width, height = (int(corner) + 1 for corner in file.header()["dataWindow"][1])
    box = [0, 0, width, height]
    ranges = {"one": [0, FIRST], "two": [FIRST, SAMPLES - FIRST]}
    pieces = [PieceFile(str(room / f"{n}.exr"), box, box, [*r, SAMPLES, 0]) for n, r in ranges.items()]
    imaging.merged(MergeFrame(pieces, width, height, str(room / "ours.exr")))


def channels(path: Path) -> Channels:
    """All channels of a file by their full names, as float32."""
    with OpenEXR.File(str(path), separate_channels=True) as file:
        return {name: channel.pixels for part in file.parts for name, channel in part.channels.items()}


def told(whole: Channels, other: Channels, words: tuple[str, ...]) -> str:
    """The largest difference in passes of these names, as a share of the pass's largest value, or of 1."""
    names = [name for name in whole if any(_is(name, word) for word in words)]
    kept = [name for name in names if name in other]
    if not kept:
        return "lost"
    if words == ("Crypto",):
        worst = max(_coverage(whole, other, kind) for kind in sorted(set(_cryptomattes(kept))))
    else:
        worst = max(
            float(np.abs(other[name].astype(np.float64) - whole[name]).max())
            / max(float(np.abs(whole[name]).max()), 1.0)
            for name in kept
        )
    return "0" if worst == 0 else f"{worst:.0e}"


def _is(channel: str, word: str) -> bool:
    name = channel.rpartition(".")[0]
    return name.endswith(word) if word.startswith(".") else word in name


def _cryptomattes(names: list[str]) -> Iterator[str]:
    return (name.rpartition(".")[0][:-2] for name in names)


def _coverage(whole: Channels, other: Channels, kind: str) -> float:
    """The largest difference in coverage of an id in a pixel; one that is not there covers nothing."""
    pixels = whole[f"{kind}00.r"].size
    pairs = [
        (made[f"{kind}{level:02}.{a}"].ravel().view(np.uint32), sign * made[f"{kind}{level:02}.{b}"].ravel())
        for made, sign in ((whole, 1.0), (other, -1.0))
        for level in range(3)
        for a, b in ("rg", "ba")
    ]
    key = np.concatenate([ids.astype(np.uint64) * pixels + np.arange(pixels) for ids, _ in pairs])
    _, at = np.unique(key, return_inverse=True)
    return float(np.abs(np.bincount(at, np.concatenate([weight for _, weight in pairs]))).max())


if __name__ == "__main__":
    sys.exit(main())
