"""How large a request may be that is held in memory. Blobs are not: they are streamed."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Bytes; the manifest of a scene of 100,000 files is a third of it.
LARGEST_REQUEST = 64 << 20


class Limit:
    """ASGI middleware: a body that grows past `LARGEST_REQUEST` is a 413, whatever its headers say."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (scope["path"].startswith("/api/blobs/") and scope["method"] == "PUT"):
            await self._app(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > LARGEST_REQUEST:
                raise HTTPException(413)
            return message

        await self._app(scope, counted, send)
