"""Is everything here that a farm needs? Each part is really tried, not only looked for."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from farm.domain.errors import TesseraError
from farm.embedded import libraries, seaweed
from farm.embedded.home import MIN_FREE
from farm.embedded.logs import last_words
from farm.embedded.outside import check_ray, check_storage
from farm.embedded.ports import check
from farm.embedded.stack import running
from farm.settings import Settings
from workers.protocol import ProtocolFault, Ready, decode
from workers.sandbox import sandbox_status

_INSTALL = 'Install it: pip install "tessera[head,worker]", or in the project: make setup'
_PATIENCE = 60.0  # seconds for Blender to start


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `ok` is None where it is missing and not needed."""

    name: str
    ok: bool | None
    what: str
    cure: str = ""


def checkup(settings: Settings) -> list[Check]:
    """Look at everything; takes some seconds, as Blender and Ray are started for a look."""
    looks: tuple[Callable[[Settings], list[Check]], ...] = (
        _python,
        _blender,
        _gpu,
        _sandbox,
        _storage,
        _ray,
        _disk,
        _farm,
    )
    with ThreadPoolExecutor(len(looks)) as pool:
        return [found for checks in pool.map(lambda look: look(settings), looks) for found in checks]


def _python(_: Settings) -> list[Check]:
    return [Check("Python", True, f"{platform.python_version()}, {platform.machine()}")]


def _blender(_: Settings) -> list[Check]:
    module = libraries.blender_module()
    if module is None:
        return [Check("Blender", False, "the bpy module is not installed.", _INSTALL)]
    if sys.platform == "linux" and (lacking := libraries.missing(module)):
        what = f"it needs {', '.join(lacking)}, missing here."
        return [Check("Blender", False, what, f"As root: {libraries.cure(lacking)}")]
    try:
        ready = _started_blender()
    except TesseraError as error:
        return [Check("Blender", False, error.what, error.cure)]
    return [
        Check("Blender", True, f"{ready.version} ({ready.build}), CPU kernel {ready.kernel}"),
        _devices(ready),
    ]


def _devices(ready: Ready) -> Check:
    """What Blender itself says that it can render on; having a GPU is not enough for that."""
    names = [f"{device.get('name', '?')} ({device.get('type', '?')})" for device in ready.devices]
    graphics = [device for device in ready.devices if device.get("type") != "CPU"]
    if graphics:
        return Check("Render devices", True, ", ".join(names))
    return Check("Render devices", None, "no GPU: Cycles renders on the CPU.")


def _started_blender() -> Ready:
    """The first message of a render process that is started for a look; raises `TesseraError`."""
    dropped = ("FARM_", "PYTHON")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    try:
        # The end of its input ends it, right after it has said what it is.
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "workers.inside_blender"],
            input=b"",
            capture_output=True,
            timeout=_PATIENCE,
            env={**environment, "PYTHONSAFEPATH": "1", "FARM_PARENT_PID": str(os.getpid())},
            check=False,
        )
        said = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
        first = decode(ended.stdout.partition(b"\n")[0])
    except subprocess.TimeoutExpired:
        first, said = None, []
    except ProtocolFault:
        first = None
    if isinstance(first, Ready):
        return first
    raise TesseraError(f"it does not start{': ' + said[0] if said else '.'}", _INSTALL)


def _gpu(_: Settings) -> list[Check]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return [Check("GPU", None, "no NVIDIA driver here (no nvidia-smi).")]
    try:
        told = subprocess.run(
            [program, "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        told = None
    if told is None or told.returncode != 0 or not told.stdout.strip():
        said = told.stdout.strip().splitlines()[-1:] if told else []
        return [
            Check(
                "GPU",
                False,
                f"the NVIDIA driver does not answer{': ' + said[0] if said else '.'}",
                "Reload or reinstall the driver, or restart the machine; the CPU renders meanwhile.",
            )
        ]
    return [_one_gpu(line) for line in told.stdout.strip().splitlines()]


def _one_gpu(line: str) -> Check:
    """From “NVIDIA RTX A4000, 575.57.08, 16376 MiB”."""
    name, driver, memory = (part.strip() for part in [*line.split(","), "", ""][:3])
    what = f"{name}, {memory}, driver {driver}"
    major = driver.partition(".")[0]
    if major.isdigit() and int(major) < 575:
        # Cycles 5.2 asks OptiX for a version that older drivers do not have (intern/cycles/device/optix).
        return Check(
            "GPU", None, f"{what}; OptiX in Blender 5.2 needs driver 575.", "Update it, or use --device cuda"
        )
    return Check("GPU", True, what)


def _sandbox(settings: Settings) -> list[Check]:
    if not settings.sandbox:
        return [
            Check("Sandbox", None, "switched off (FARM_SANDBOX).", "Unset it: scenes may hold hostile code")
        ]
    works, why = sandbox_status()
    if works:
        return [Check("Sandbox", True, "bubblewrap locks scenes in.")]
    return [Check("Sandbox", None, "scenes are opened with your own rights.", why)]


def _storage(settings: Settings) -> list[Check]:
    if settings.storage.endpoint:
        try:
            check_storage(settings)
        except TesseraError as error:
            return [Check("Storage", False, error.what, error.cure)]
        return [Check("Storage", True, f"at {settings.storage.endpoint}, bucket {settings.storage.bucket}")]
    try:
        told = subprocess.run(
            [seaweed.program(), "version"], capture_output=True, text=True, timeout=30, check=True
        )
    except TesseraError as error:
        return [Check("Storage", False, error.what, error.cure)]
    except (OSError, subprocess.SubprocessError) as error:
        return [Check("Storage", False, f"SeaweedFS does not run: {error}", _INSTALL)]
    version = " ".join(told.stdout.split()[2:3])
    return [Check("Storage", True, f"SeaweedFS {version}, started with the farm")]


def _ray(settings: Settings) -> list[Check]:
    if importlib.util.find_spec("ray") is None:
        return [Check("Ray", False, "it is not installed.", _INSTALL)]
    told = subprocess.run(
        [sys.executable, "-P", "-m", "ray.scripts.scripts", "--version"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if told.returncode != 0:
        said = told.stderr.strip().splitlines()[-1:]
        return [Check("Ray", False, f"it does not run: {''.join(said)}", _INSTALL)]
    try:
        check_ray(settings)
    except TesseraError as error:
        return [Check("Ray", False, error.what, error.cure)]
    where = f", cluster at {settings.ray_address}" if settings.ray_address else ""
    return [Check("Ray", True, importlib.metadata.version("ray") + where)]


def _disk(settings: Settings) -> list[Check]:
    folder = settings.home
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    what = f"{free / 1e9:.1f} GB free for “{settings.home}”"
    if not os.access(folder, os.W_OK):
        return [Check("Disk", False, f"“{folder}” cannot be written.", "Set FARM_HOME to a folder of yours")]
    if free < MIN_FREE:
        cure = "Free some space, or set FARM_HOME to a folder on another disk"
        return [Check("Disk", False, f"only {what}.", cure)]
    return [Check("Disk", True, what)]


def _farm(settings: Settings) -> list[Check]:
    """The parts of the farm that runs here, or else whether its page's port is free."""
    found = running(settings.home)
    if found is None:
        if settings.port:
            try:
                check(settings.host, settings.port)
            except TesseraError as error:
                return [Check("Port", False, error.what, error.cure)]
            return [Check("Port", True, f"{settings.port} is free for the page.")]
        return []
    checks = []
    for part in found.parts:
        name = f"Farm: {part.name}"
        if part.ails(time.time()):
            said, cure = last_words(part.last)
            what = f"ended {part.restarts} times, is started again: {said or 'without a word'}"
            checks.append(Check(name, False, what, cure or f"Read {part.log}"))
        else:
            again = f", started again {part.restarts} times" if part.restarts else ""
            checks.append(Check(name, True, f"{part.phase}{again}"))
    return checks
