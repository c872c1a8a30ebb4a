"""Scenes: a .blend and its files, as a manifest of blobs."""

from __future__ import annotations

from farm.domain.errors import BadInput
from farm.domain.job import Principal
from farm.domain.scene import SceneManifest
from farm.domain.views import SceneRef
from farm.service.context import Farm
from farm.store import scenes


def register(farm: Farm, who: Principal, manifest: SceneManifest) -> SceneRef:
    """Register a scene whose blobs are all there; raises `BadInput` naming those that are not."""
    del who
    with farm.store.write() as connection:
        known = scenes.known_blobs(connection, [blob.sha256 for blob in manifest.files.values()])
        for name, blob in manifest.files.items():
            if known.get(blob.sha256) != blob.bytes:
                raise BadInput(
                    f"“{name}” has not been sent to the farm.",
                    "Send all files first, then register the scene.",
                )
        return SceneRef(scene_id=scenes.add_scene(connection, manifest, farm.now()))
