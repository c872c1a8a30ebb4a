"""Scenes that bpy builds for these tests."""

from __future__ import annotations

from tests.integration.blender.conftest import build

__all__ = ["build"]
