"""Which Blender serves which scene, and what its Python needs to find our child programs.

Blender comes as the `bpy` module of one Python version. Today a worker has one runtime, the `bpy`
of its own interpreter; others (an older Blender under its own Python) join by being listed.
"""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import workers
from farm.domain.errors import Unavailable
from farm.domain.scene import SceneReport

RENDER = "workers.inside_blender"
IMAGING = "workers.imaging"


@dataclass(frozen=True)
class Runtime:
    """An interpreter that can import `bpy`. `version` is Blender's: ``5.2.3``."""

    name: str
    python: Path
    version: str

    def command(self, module: str) -> tuple[str, ...]:
        """The command that runs one of our child programs, without the caller's folder on the path."""
        return (str(self.python), "-P", "-m", module)

    @property
    def folders(self) -> tuple[Path, ...]:
        """What the interpreter has to be able to read: its environment and its standard library."""
        if not self.is_own:
            return (self.python.parent.parent, self.python.resolve().parent.parent)
        return (Path(sys.prefix), Path(sys.base_prefix))

    @property
    def is_own(self) -> bool:
        return self.python == Path(sys.executable)

    @property
    def python_path(self) -> str:
        """``PYTHONPATH`` for a child: empty where `workers` is installed beside the interpreter.

        Otherwise the folder that holds our code; the children import nothing else from there.
        """
        if self.is_own and _installed():
            return ""
        return str(code_folder().parent)


def own() -> Runtime:
    """This interpreter's `bpy`; raises `Unavailable` where there is none."""
    try:
        version = importlib.metadata.version("bpy")
    except importlib.metadata.PackageNotFoundError:
        raise Unavailable(
            "This machine has no Blender: its Python has no bpy package.",
            "Install the worker's packages: pip install “tessera[worker]”.",
        ) from None
    return Runtime("own", Path(sys.executable), version)


def serving(report: SceneReport | None, runtimes: Sequence[Runtime]) -> Runtime:
    """The runtime that renders a scene: the one that inspected it, else the first.

    Frames of a job must all come from the Blender that the inspection reported.
    """
    if not runtimes:
        raise ValueError("a worker needs a runtime")
    inspected_by = report.blender.split(" ")[0] if report is not None else ""
    return next((runtime for runtime in runtimes if runtime.version == inspected_by), runtimes[0])


def code_folder() -> Path:
    """The folder of the `workers` package, the only code of ours that a child reads."""
    return Path(workers.__path__[0])


def _installed() -> bool:
    try:
        importlib.metadata.distribution("tessera")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
