"""Outputs: the stored files of a job."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import PurePosixPath
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query
from fastapi.responses import Response, StreamingResponse

from farm.domain.views import OutputView
from web.needs import Farm, Who
from web.problems import documented

router = APIRouter(prefix="/outputs", tags=["outputs"], responses=documented(404, 422, 503))

#: What a browser may show in place. A file of any other type, named by a hostile scene, is only saved.
_SHOWN = frozenset({"image/png", "image/jpeg", "image/webp", "image/bmp", "text/plain"})


@router.get(
    "/{output_id}",
    summary="The bytes of an output",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
        304: {"description": "The copy with this ETag is still right: outputs never change."},
    },
)
def get_output(
    output_id: Annotated[int, Path(ge=1, lt=1 << 63)],
    farm: Farm,
    who: Who,
    download: Annotated[bool, Query(description="Ask the browser to save it.")] = False,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """The ETag is the SHA-256 of the content, which never changes."""
    output = farm.output(who, output_id)
    headers = _headers(output, download)
    if _held(if_none_match, output.sha256):
        del headers["Content-Length"], headers["Content-Disposition"]
        return Response(status_code=304, headers=headers)
    # The first chunk is read before the status is sent, so that storage that is away is a 503.
    chunks = farm.stream_output(who, output_id)
    begun: Iterator[bytes] = chain([next(chunks, b"")], chunks)
    return StreamingResponse(begun, headers=headers, media_type=_media_type(output))


def _headers(output: OutputView, download: bool) -> dict[str, str]:
    name = PurePosixPath(output.name).name or f"output-{output.id}"
    plain = "".join(
        char if char.isascii() and char.isprintable() and char not in '"\\%' else "_" for char in name
    )
    how = "inline" if _media_type(output) in _SHOWN and not download else "attachment"
    return {
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
