"""Blobs: bytes by their SHA-256, uploaded once however many scenes use them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Annotated

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from fastapi import APIRouter, Path, Request

from farm.domain.scene import SHA256_PATTERN, Blob
from farm.domain.views import BlobQuery
from web.needs import Farm, Who
from web.problems import documented

router = APIRouter(prefix="/blobs", tags=["scenes"], responses=documented(422, 503))

#: What is handed to storage at once; small enough for many uploads, big enough to keep them quick.
CHUNK = 1 << 20

#: Uploads at once; each holds a thread for as long as its sender takes, so they have threads of their own.
UPLOADS = 16


@router.post("/missing", summary="Which of these blobs the farm lacks")
def missing_blobs(query: BlobQuery, farm: Farm, who: Who) -> BlobQuery:
    """Upload only what this returns."""
    return farm.missing_blobs(who, query)


@router.put(
    "/{sha256}",
    status_code=201,
    summary="Upload a blob",
    responses=documented(507),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def put_blob(
    sha256: Annotated[str, Path(pattern=SHA256_PATTERN)], request: Request, farm: Farm, who: Who
) -> Blob:
    """The raw bytes as the body. They are hashed on the way and refused where the hash is another one."""
    chunks = _gathered(request.stream())
    pulled = _pulled(chunks, anyio.lowlevel.current_token())
    uploads: anyio.CapacityLimiter = request.app.state.uploads
    return await anyio.to_thread.run_sync(lambda: farm.put_blob(who, sha256, pulled), limiter=uploads)


async def _gathered(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The body in pieces of about `CHUNK` bytes; the server's own are 64 kB and less."""
    held = bytearray()
    async for piece in stream:
        held += piece
        if len(held) >= CHUNK:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


def _pulled(chunks: AsyncIterator[bytes], loop: anyio.lowlevel.EventLoopToken) -> Iterator[bytes]:
    """``chunks`` for any other thread, each read from the socket only when it is asked for.

    Storage reads a large upload from threads of its own, so the loop is named, not looked up.
    """
    while True:
        try:
            yield anyio.from_thread.run(_next, chunks, token=loop)
        except StopAsyncIteration:
            return


async def _next(chunks: AsyncIterator[bytes]) -> bytes:
    return await anext(chunks)
