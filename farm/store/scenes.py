"""Rows of blobs and scenes."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, select

from farm.domain.scene import Blob, SceneManifest
from farm.store.database import insert_once
from farm.store.schema import blobs, scenes

_CHUNK = 500  # SQLite caps the variables of a statement


def known_blobs(connection: Connection, hashes: Iterable[str]) -> dict[str, int]:
    """Bytes by SHA-256, of those that are there."""
    wanted = list(dict.fromkeys(hashes))
    found: dict[str, int] = {}
    for start in range(0, len(wanted), _CHUNK):
        part = wanted[start : start + _CHUNK]
        rows = connection.execute(select(blobs.c.sha256, blobs.c.bytes).where(blobs.c.sha256.in_(part)))
        found.update({row.sha256: row.bytes for row in rows})
    return found


def add_blob(connection: Connection, blob: Blob, now: float) -> None:
    """Note a blob whose bytes are stored and verified; one that is known already is left alone."""
    insert_once(connection, blobs, sha256=blob.sha256, bytes=blob.bytes, created=now)


def add_scene(connection: Connection, manifest: SceneManifest, now: float) -> str:
    """Register a scene; returns its id. The same files at the same paths are the same scene."""
    scene_id = manifest.scene_id
    insert_once(connection, scenes, id=scene_id, manifest=manifest.model_dump_json(), created=now)
    return scene_id


def is_known(connection: Connection, scene_id: str) -> bool:
    """Whether a scene is registered; its manifest, which may be large, is not read."""
    return connection.execute(select(scenes.c.id).where(scenes.c.id == scene_id)).first() is not None


def manifest_of(connection: Connection, scene_id: str) -> SceneManifest | None:
    """The files of a scene; None where it is not known."""
    text = connection.execute(select(scenes.c.manifest).where(scenes.c.id == scene_id)).scalar_one_or_none()
    return None if text is None else SceneManifest.model_validate_json(text)
