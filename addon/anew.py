"""Starts the background Blender that saves .blends with paths which fit the farm (`rewrite`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Event

from .gathered import Gathered
from .trouble import Stopped, Trouble

_SCRIPT = Path(__file__).with_name("rewrite.py")
_BREATH = 0.1


def rewritten(found: Gathered, scratch: Path, stopped: Event) -> dict[str, str]:
    """Full paths of .blends that had to be written anew, and where the new ones lie, under ``scratch``."""
    order, answer = scratch / "order.json", scratch / "answer.json"
    files = []
    for index, blend in enumerate(found.rewrite):
        place = found.place if blend == found.copy else found.layout.place(blend)
        files.append([blend, place, str(scratch / f"{index}.blend")])
    layout = found.layout
    told = {"root": layout.root, "outside": layout.outside, "answer": str(answer), "files": files}
    order.write_text(json.dumps(told), encoding="utf-8")
    said = _run(_command(found.blender, order), scratch / "blender.log", stopped)
    try:
        written = json.loads(answer.read_text(encoding="utf-8"))["written"]
    except (OSError, ValueError, KeyError):
        raise Trouble(
            f"Blender could not put paths right in a copy of the file{said}.",
            "Use File › External Data › Make Paths Relative, keep files near the .blend, and submit again.",
        ) from None
    return {files[index][0]: files[index][2] for index in written}


def _command(blender: str, order: Path) -> list[str]:
    if not blender:
        return [sys.executable, str(_SCRIPT), str(order)]
    options = ["--background", "--factory-startup", "--disable-autoexec", "--python-exit-code", "1"]
    return [blender, *options, "--python", str(_SCRIPT), "--", str(order)]


def _run(command: list[str], log: Path, stopped: Event) -> str:
    """Run ``command`` to its end; the last line that it wrote, for an error, as the end of a sentence."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        with log.open("wb") as file:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment
            )
            try:
                while process.poll() is None:
                    if stopped.wait(_BREATH):
                        raise Stopped
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError as error:
        return f" ({error})"
    return f" ({lines[-1].strip()[:200]})" if lines else ""
