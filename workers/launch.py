"""How a child is started: its command line, its environment, and what it may touch."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from workers.runtimes import Runtime, code_folder
from workers.sandbox import Access, wrapped

#: Passed on to a child where set: how to find libraries, speak and pick a GPU. Nothing of ours, and
#: nothing that could hold a secret.
PASSED_ON = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "CYCLES_CPU_NO_AVX2",  # chooses the CPU kernel, and so the render class
    "CYCLES_CPU_NO_SSE42",
)


@dataclass(frozen=True)
class Launch:
    """Everything needed to start a child. `sandboxed` children report signals as 128 + number."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    folder: Path
    sandboxed: bool
    program: str  # for people: “Blender”, “The imaging process”


@dataclass(frozen=True)
class Folders:
    """A child's folders. `cache` outlives it: the GPU driver keeps compiled kernels there."""

    scratch: Path
    cache: Path
    read: tuple[Path, ...] = ()


def launch(
    program: str, runtime: Runtime, module: str, folders: Folders, *, sandbox: bool, parent: int | None = None
) -> Launch:
    """The start of ``module`` under ``runtime``; the folders are made where they are missing."""
    home = folders.scratch / "home"
    home.mkdir(parents=True, exist_ok=True)
    folders.cache.mkdir(parents=True, exist_ok=True)
    env = environment(os.environ, home, folders.cache, runtime.python_path)
    command = runtime.command(module)
    if not sandbox:
        env["FARM_PARENT_PID"] = str(os.getpid() if parent is None else parent)
        return Launch(command, env, folders.scratch, sandboxed=False, program=program)
    access = Access(
        read=(*_outermost([*runtime.folders, code_folder()]), *folders.read),
        write=(folders.scratch, folders.cache),
    )
    argv = (*wrapped(command, access, env),)
    return Launch(
        argv, {"PATH": env.get("PATH", os.defpath)}, folders.scratch, sandboxed=True, program=program
    )


def environment(ours: Mapping[str, str], home: Path, cache: Path, python_path: str) -> dict[str, str]:
    """All that a child gets to see of ``ours``, and what makes it write into its own folders only."""
    env = {name: ours[name] for name in PASSED_ON if name in ours}
    env.setdefault("PATH", os.defpath)
    env.setdefault("LANG", "C.UTF-8")
    env |= {
        "HOME": str(home),
        "TMPDIR": str(home),
        "XDG_CACHE_HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "XDG_RUNTIME_DIR": str(home),
        "CUDA_CACHE_PATH": str(cache / "cuda"),
        "CUDA_CACHE_MAXSIZE": str(4 << 30),  # OptiX kernels of one Blender alone overflow the default
        "OPTIX_CACHE_PATH": str(cache / "optix"),
        "PYTHONSAFEPATH": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if python_path:
        env["PYTHONPATH"] = python_path
    return env


def _outermost(folders: Iterable[Path]) -> list[Path]:
    """``folders`` without those that lie in another one: binding them twice would be waste."""
    kept: list[Path] = []
    for folder in sorted({path.absolute() for path in folders}, key=lambda path: len(path.parts)):
        if not any(folder.is_relative_to(outer) for outer in (*kept, Path("/usr"))):
            kept.append(folder)
    return kept
