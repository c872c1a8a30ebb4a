"""Runs code that builds scenes: called with a folder, ``root`` in the code, and the code."""

from __future__ import annotations

import sys
from pathlib import Path

import bpy

from tests.integration.assets import build_kinds as kinds

if __name__ == "__main__":
    kinds.empty()
    reach = {"bpy": bpy, "root": Path(sys.argv[1]), "kinds": kinds, "save": kinds.save}
    exec(sys.argv[2], reach)  # noqa: S102
