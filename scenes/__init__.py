"""Sample scenes, as scripts that build them.

Importing this package needs no bpy: a scene is built in a Blender process of its own, from the
module of its name. ``python -m scenes --list`` says what each one exercises.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).parent
_NAMES = ("passes", "lens", "grade", "forest", "cameras", "turntable", "still", "layers")


class BuildFailed(RuntimeError):
    """A scene's script failed in its Blender process; the message ends with what it said."""


def names() -> tuple[str, ...]:
    """The sample scenes, in the order in which they are listed."""
    return _NAMES


def about(name: str) -> str:
    """What scene ``name`` shows and exercises: its module's docstring. KeyError for an unknown name."""
    return ast.get_docstring(ast.parse(_module(name).read_text(encoding="utf-8"))) or ""


def build_file(name: str, path: Path) -> Path:
    """Build scene ``name`` in a fresh Blender process and save it to ``path``; gives the full path.

    Raises KeyError for an unknown name and `BuildFailed` when the script fails.
    """
    _module(name)
    target = path.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-P", "-m", "scenes.builder", name, str(target)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0 or not target.is_file():
        said = (done.stderr or done.stdout).strip()[-2000:]
        raise BuildFailed(f"Building “{name}” ended with exit code {done.returncode}:\n{said}")
    return target


def _module(name: str) -> Path:
    if name not in _NAMES:
        raise KeyError(f"There is no sample scene “{name}”. There are: {', '.join(_NAMES)}.")
    return _HERE / f"{name}.py"
