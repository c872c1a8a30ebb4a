"""Blobs: bytes that clients send once, by their hash."""

from __future__ import annotations

from collections.abc import Iterable

from farm.domain import keys
from farm.domain.errors import BadInput
from farm.domain.job import Principal, new_id
from farm.domain.scene import Blob
from farm.domain.views import BlobQuery
from farm.service.context import Farm
from farm.store import scenes


def missing(farm: Farm, who: Principal, query: BlobQuery) -> BlobQuery:
    """Which of these the farm lacks."""
    del who
    with farm.store.read() as connection:
        known = scenes.known_blobs(connection, query.sha256)
    return BlobQuery(sha256=tuple(sha for sha in query.sha256 if sha not in known))


def put(farm: Farm, who: Principal, sha256: str, chunks: Iterable[bytes]) -> Blob:
    """Store bytes; they count only once their hash was verified here. Raises `BadInput` otherwise."""
    del who
    arriving = f"incoming/{new_id(16)}"
    blob = farm.storage.put_stream(arriving, chunks)
    try:
        if blob.sha256 != sha256:
            raise BadInput(
                f"The file arrived damaged: its SHA-256 is {blob.sha256[:12]}…, not {sha256[:12]}….",
                "Send it again. If it goes wrong each time, check the file and the network.",
            )
        farm.storage.copy(arriving, keys.blob(sha256))
        with farm.store.write() as connection:
            scenes.add_blob(connection, blob, farm.now())
    finally:
        farm.storage.delete([arriving])
    return blob
