"""Builds the Blender add-on's archive into a folder, and has Blender's own tool look at it.

Usage: python -P -m infra.build_addon dist
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from web.extension import build


def main(folder: Path) -> int:
    """Write the archive; 0 where it is valid."""
    addon = build()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / addon.name
    path.write_bytes(addon.content)
    checked = subprocess.run([sys.executable, str(blender_tool()), "validate", str(path)], check=False)
    if checked.returncode == 0:
        sys.stdout.write(f"{path}  {len(addon.content)} bytes  sha256:{addon.sha256}\n")
    return checked.returncode


def blender_tool() -> Path:
    """Blender's tool for extensions, in the installed library; it needs no Blender to run."""
    found = find_spec("bpy")
    if found is None or found.origin is None:
        raise SystemExit("Blender is not installed here. Run: make setup")
    [tool] = Path(found.origin).parent.glob("*/scripts/addons_core/bl_pkg/cli/blender_ext.py")
    return tool


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
