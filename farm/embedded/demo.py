"""``make demo``: what Tessera does, in two jobs, through its public commands alone.

Builds two sample scenes, starts the farm of this machine, renders an animation by frames and a still
by tiles, and leaves the farm up so that its page can be looked at.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_OUT = Path("demo-output")
#: The sample still denoises, which is the same to the last bit for a power of two.
_EXACT = ("--samples", "16")
_FARM = (sys.executable, "-P", "-m", "farm.cli")


class _Stopped(Exception):
    """A command failed; it has said why."""


def main() -> int:
    """Exit code: 0 when both jobs are done."""
    scenes = _OUT / "scenes"
    scenes.mkdir(parents=True, exist_ok=True)
    try:
        _say("Building two sample scenes …")
        for name in ("turntable", "still"):
            _run(sys.executable, "-P", "-m", "scenes", name, str(scenes / f"{name}.blend"))
        _say("Starting the farm …")
        url = json.loads(_run(*_FARM, "up", "--workers", "2", "--json"))["url"]
        _say(f"The farm is up: {url}")
        _say("\nAn animation, frame by frame:")
        frames = _render(scenes / "turntable.blend", "turntable", "--frames", "1-6", "--scale", "50")
        _say("\nA still, cut into four tiles and stitched:")
        still = _render(scenes / "still.blend", "still", "--tiles", "2x2", "--scale", "50", *_EXACT)
    except _Stopped as error:
        return error.args[0] or 1
    _say(f"\n{len(frames) + len(still)} pictures:")
    for path in (*frames, *still):
        _say(f"  {path}")
    _say(f"\nThe page, with both jobs: {url}")
    _say(f"To stop the farm:         {Path(sys.executable).with_name('farm')} down")
    return 0


def _render(scene: Path, name: str, *options: str) -> list[str]:
    """Render with progress on the terminal, then ask for the job's files."""
    out = _OUT / name
    out.mkdir(exist_ok=True)
    command = (*_FARM, "render", str(scene), *options, "--out", str(out), "--overwrite")
    code = subprocess.run(command, check=False).returncode
    if code:
        raise _Stopped(code)
    return sorted(str(path) for path in out.iterdir() if path.is_file())


def _run(*command: str) -> str:
    """The command's output; its errors go to the terminal."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise _Stopped(done.returncode)
    return done.stdout


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
