"""The Blender add-on as an extension: its archive, and the listing by which Blender installs and updates it.

The archive is made of the add-on's own files, the same bytes each time: sorted names, one date, no
owners. The listing has the format (v1) of Blender's own extensions platform.
"""

from __future__ import annotations

import hashlib
import io
import tomllib
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "addon"

_MANIFEST = "blender_manifest.toml"
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say
_LISTED = (
    "schema_version",
    "id",
    "name",
    "tagline",
    "version",
    "type",
    "maintainer",
    "license",
    "blender_version_min",
    "blender_version_max",
    "permissions",
    "tags",
)


@dataclass(frozen=True, slots=True)
class Extension:
    """An add-on ready to be installed. ``content`` is its zip; ``manifest`` what describes it."""

    manifest: dict[str, Any]
    content: bytes

    @property
    def version(self) -> str:
        return str(self.manifest["version"])

    @property
    def name(self) -> str:
        """The archive's file name."""
        return f"{self.manifest['id']}-{self.version}.zip"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    def listing(self) -> dict[str, Any]:
        """The repository's ``index.json``; the archive lies beside it."""
        entry = {key: self.manifest[key] for key in _LISTED} | {
            "archive_url": f"./{self.name}",
            "archive_size": len(self.content),
            "archive_hash": f"sha256:{self.sha256}",
        }
        return {"version": "v1", "blocklist": [], "data": [entry]}


def build(source: Path = SOURCE) -> Extension:
    """The extension made of the folder ``source``; raises OSError, and ValueError for a bad manifest."""
    described = (source / _MANIFEST).read_text(encoding="utf-8")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted([source / _MANIFEST, *source.rglob("*.py")]):
            entry = zipfile.ZipInfo(path.relative_to(source).as_posix(), _DATE)
            entry.create_system = 3  # Unix, wherever it is made
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return Extension(tomllib.loads(described), packed.getvalue())


@cache
def offered() -> Extension:
    """The extension that this farm offers, made once."""
    return build()
