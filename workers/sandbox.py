"""What a child may touch, by bubblewrap: its files, and nothing else of the machine.

Inside: the system's libraries, the interpreter and our child programs, all read-only; the scene,
read-only; the folders it may write to; a /tmp, /proc and /dev of its own; graphics devices. No
network, no environment, no other process, nobody's uid. Paths are the same inside and out.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

NOBODY = "65534"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt/rocm")
_SETTINGS = (  # of /etc only what libraries read: the loader, fonts, time zone, GPU drivers
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "fonts",
    "localtime",
    "OpenCL",
    "vulkan",
    "glvnd",
    "nvidia",
)
_CORES = ("/sys/devices/system",)
_GPU_DRIVER = ("/sys/devices", "/sys/bus/pci", "/sys/class/drm", "/sys/dev/char", "/sys/module")
_GPU = ("nvidia*", "dri", "kfd", "dxg")


@dataclass(frozen=True)
class Access:
    """The files of one child, all absolute and there. Later entries may lie inside earlier ones."""

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()


def wrapped(command: Sequence[str], access: Access, env: dict[str, str]) -> list[str]:
    """``command`` in a sandbox. ``env`` is all of the environment that it gets."""
    line = ["bwrap", "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--clearenv"]
    line += ["--uid", NOBODY, "--gid", NOBODY, "--hostname", "worker"]
    for name, value in env.items():
        line += ["--setenv", name, value]
    line += _system()
    line += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108  the sandbox's own
    for device in _devices():
        line += ["--dev-bind-try", device, device]
    for path in access.read:
        line += ["--ro-bind", str(path), str(path)]
    for path in access.write:
        line += ["--bind", str(path), str(path)]
    return [*line, "--", *command]


@functools.cache
def sandbox_status() -> tuple[bool, str]:
    """Whether children can be locked in here, and if not, what to do about it. Tried once."""
    if sys.platform != "linux":
        return False, "The sandbox needs Linux; children run with the user's own rights here."
    if shutil.which("bwrap") is None:
        return False, "bubblewrap is not installed: apt-get install bubblewrap (or dnf install bubblewrap)."
    try:
        tried = subprocess.run(
            wrapped(["true"], Access(), {"PATH": "/usr/bin:/bin"}),
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, f"bubblewrap does not start here ({error}). Reinstall it: apt-get install bubblewrap."
    if tried.returncode == 0:
        return True, ""
    said = (tried.stderr.strip().splitlines() or [f"exit code {tried.returncode}"])[-1]
    return False, f"bubblewrap cannot lock a process in here ({said}). {_cure(said)}"


def _cure(said: str) -> str:
    text = said.lower()
    if "proc" in text:
        return (
            "In a container, start it with an unmasked /proc (docker: --security-opt systempaths=unconfined)."
        )
    if "setting up uid map" in text or "loopback" in text:
        return "On Ubuntu 24.04 and later: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0."
    return (
        "Allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1, or in a container "
        "--security-opt seccomp=unconfined."
    )


def _system() -> list[str]:
    line: list[str] = []
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():  # /bin is a link to usr/bin on most systems
            line += ["--symlink", str(path.readlink()), name]
        elif path.exists():
            line += ["--ro-bind", name, name]
    for name in _SETTINGS:
        line += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    line += ["--symlink", "/proc/self/mounts", "/etc/mtab"]  # where Blender looks for file systems
    for name in _GPU_DRIVER if any(_devices()) else _CORES:
        line += ["--ro-bind-try", name, name]
    return line


def _devices() -> Iterable[str]:
    return sorted(str(device) for pattern in _GPU for device in Path("/dev").glob(pattern))
