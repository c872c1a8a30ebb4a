"""Outputs: the stored files of a job."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import PurePosixPath
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Header, HTTPException, Path, Query
from fastapi.responses import Response, StreamingResponse

from farm.domain.views import OutputView
from web.needs import Farm, Who
from web.problems import documented

router = APIRouter(prefix="/outputs", tags=["outputs"], responses=documented(404, 422, 503))

#: What a browser may show in place. A file of any other type, named by a hostile scene, is only saved.
_SHOWN = frozenset(
    {"image/png", "image/jpeg", "image/webp", "image/bmp", "video/mp4", "video/webm", "text/plain"}
)


@router.get(
    "/{output_id}",
    summary="The bytes of an output",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
        206: {"description": "The part that Range asked for."},
        304: {"description": "The copy with this ETag is still right: outputs never change."},
    },
)
def get_output(
    output_id: Annotated[int, Path(ge=1, lt=1 << 63)],
    farm: Farm,
    who: Who,
    download: Annotated[bool, Query(description="Ask the browser to save it.")] = False,
    if_none_match: Annotated[str | None, Header()] = None,
    if_range: Annotated[str | None, Header()] = None,
    wanted: Annotated[str | None, Header(alias="Range")] = None,
) -> Response:
    """The ETag is the SHA-256 of the content, which never changes. A Range of one part is honoured."""
    output = farm.output(who, output_id)
    headers = _headers(output, download)
    if _held(if_none_match, output.sha256):
        del headers["Content-Length"], headers["Content-Disposition"]
        return Response(status_code=304, headers=headers)
    status, first, count = 200, 0, output.bytes
    same = if_range in (None, headers["ETag"])
    if wanted is not None and same and (part := byte_range(wanted, output.bytes)):
        first, last = part
        status, count = 206, last - first + 1
        headers["Content-Range"] = f"bytes {first}-{last}/{output.bytes}"
        headers["Content-Length"] = str(count)
    # The first chunk is read before the status is sent, so that storage that is away is a 503.
    chunks = _limited(farm.stream_output(who, output_id, first), count)
    begun: Iterator[bytes] = chain([next(chunks, b"")], chunks)
    return StreamingResponse(begun, status, headers=headers, media_type=_media_type(output))


def byte_range(wanted: str, size: int) -> tuple[int, int] | None:
    """First and last byte that a Range header asks of ``size`` bytes; None: the whole is the answer.

    Several parts, and what is no range, may be answered with the whole (RFC 9110, 14.2), which this
    does; a part that begins past the end is an `HTTPException` 416.
    """
    found = re.fullmatch(r"bytes=([0-9]{0,18})-([0-9]{0,18})", wanted.strip().lower())
    if not found or not (found[1] or found[2]):
        return None
    if not found[1]:  # the last so many bytes
        first, last = max(0, size - int(found[2])), size - 1
    else:
        first, last = int(found[1]), min(int(found[2] or size), size - 1)
        if found[2] and int(found[2]) < first:
            return None
    if first >= size or first > last:
        raise HTTPException(416, headers={"Content-Range": f"bytes */{size}"})
    return first, last


def _limited(chunks: Iterator[bytes], count: int) -> Iterator[bytes]:
    """The first ``count`` bytes of ``chunks``."""
    for chunk in chunks:
        yield chunk[:count]
        count -= len(chunk)
        if count <= 0:
            return


def _headers(output: OutputView, download: bool) -> dict[str, str]:
    name = PurePosixPath(output.name).name or f"output-{output.id}"
    plain = "".join(
        char if char.isascii() and char.isprintable() and char not in '"\\%' else "_" for char in name
    )
    how = "inline" if _media_type(output) in _SHOWN and not download else "attachment"
    return {
        "Accept-Ranges": "bytes",
        "Content-Length": str(output.bytes),
        "Content-Disposition": f"{how}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}",
        "ETag": f'"{output.sha256}"',
        "Cache-Control": "private, max-age=31536000, immutable",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
    }


def _media_type(output: OutputView) -> str:
    """The stored type where it is one that can only be a picture or text, else bytes to be saved."""
    kind = output.media_type.partition(";")[0].strip().lower()
    if kind.startswith(("image/", "video/")) and kind.replace("/", "").replace("-", "").isalnum():
        return kind
    return "text/plain" if kind == "text/plain" else "application/octet-stream"


def _held(if_none_match: str | None, sha256: str) -> bool:
    tags = [] if if_none_match is None else [tag.strip() for tag in if_none_match.split(",")]
    return any(tag == "*" or tag.removeprefix("W/") == f'"{sha256}"' for tag in tags)
