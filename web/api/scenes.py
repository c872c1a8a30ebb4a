"""Scenes: a .blend and its assets, named by the hash of their content."""

from __future__ import annotations

from fastapi import APIRouter

from farm.domain.scene import SceneManifest
from farm.domain.views import SceneRef
from web.needs import Farm, Who
from web.problems import documented

router = APIRouter(prefix="/scenes", tags=["scenes"], responses=documented(422, 503))


@router.post("", summary="Register a scene")
def register_scene(manifest: SceneManifest, farm: Farm, who: Who) -> SceneRef:
    """Once all its blobs are uploaded. The same files at the same paths are the same scene."""
    return farm.register_scene(who, manifest)
