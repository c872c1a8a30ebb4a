"""HEAD, for every path that answers GET: the same status and headers, and no body."""

from __future__ import annotations

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Head:
    """ASGI middleware that has a HEAD answered as the GET it stands for, up to the first byte."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        with anyio.CancelScope() as rest:  # a body may be gigabytes, or never end

            async def begun(message: Message) -> None:
                if message["type"] == "http.response.start" and not rest.cancel_called:
                    await send(message)
                    await send({"type": "http.response.body", "body": b""})
                    rest.cancel()

            await self._app({**scope, "method": "GET"}, receive, begun)
