"""The system libraries that Blender's wheel takes for granted, and the one line that brings them.

``python -m farm.embedded.libraries`` says that line on stderr and ends with 1 where some are missing.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

#: Debian's package of each library that `bpy` 5.2's wheel links but does not carry (ldd, Debian 12).
PACKAGES = {
    "libX11.so.6": "libx11-6",
    "libXrender.so.1": "libxrender1",
    "libXfixes.so.3": "libxfixes3",
    "libXi.so.6": "libxi6",
    "libXext.so.6": "libxext6",
    "libXxf86vm.so.1": "libxxf86vm1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxcb.so.1": "libxcb1",
    "libSM.so.6": "libsm6",
    "libICE.so.6": "libice6",
    "libGL.so.1": "libgl1",
    "libGLX.so.0": "libgl1",
    "libGLdispatch.so.0": "libgl1",
    "libEGL.so.1": "libegl1",
    "libstdc++.so.6": "libstdc++6",
    "libgcc_s.so.1": "libgcc-s1",
    "libgomp.so.1": "libgomp1",
}


def blender_module() -> Path | None:
    """The file of `bpy`, found without importing it; None where it is not installed."""
    found = importlib.util.find_spec("bpy")
    return Path(found.origin) if found is not None and found.origin else None


def missing(module: Path) -> list[str]:
    """Names of the libraries that the module needs and the system does not have."""
    told = subprocess.run(["ldd", str(module)], capture_output=True, text=True, timeout=60, check=False)
    return parse(told.stdout)


def parse(told: str) -> list[str]:
    """The libraries that ldd says are “not found”, each once, sorted."""
    return sorted({line.split()[0] for line in told.splitlines() if line.strip().endswith("not found")})


def cure(libraries: list[str]) -> str:
    """The one command that brings them; those of unknown packages are named for a search."""
    known = sorted({PACKAGES[name] for name in libraries if name in PACKAGES})
    unknown = [name for name in libraries if name not in PACKAGES]
    parts = []
    if known:
        parts.append(f"apt-get install --yes {' '.join(known)}")
    if unknown:
        parts.append(f"and the packages of {', '.join(unknown)} (apt-file search NAME finds them)")
    return " ".join(parts)


def main() -> int:
    """Exit code: 1 where libraries are missing."""
    module = blender_module()
    if module is None:
        sys.stderr.write("Blender (bpy) is not installed in this environment.\nRun: make setup\n")
        return 1
    lacking = missing(module)
    if lacking:
        sys.stderr.write(f"Blender needs {', '.join(lacking)}, missing here. As root:\n{cure(lacking)}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
