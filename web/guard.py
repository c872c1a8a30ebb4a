"""The door: who may speak to a farm that has no sign-in because it serves one machine only.

A page from anywhere can make a browser send requests to 127.0.0.1. Two checks stop it: the Host must
be one of ours (DNS rebinding gives a foreign name the loopback address), and whatever changes state
must not come from another origin. Every answer also says how far browsers may trust it.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from farm.domain.errors import ProblemDetails
from web.problems import answer

#: Names of this machine that a Host header may carry, whatever the settings say.
LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",  # a restarted farm may be a newer one; ETags keep this cheap
}


class Guard:
    """ASGI middleware that refuses foreign hosts and origins, and adds headers that a route left out."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = LOCAL_NAMES | {host.strip("[]").lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope["method"], Headers(scope=scope))
        if refusal is None:
            await self._app(scope, receive, send_guarded)
        else:
            await answer(Request(scope, receive), refusal)(scope, receive, send_guarded)

    def _refusal(self, method: str, headers: Headers) -> ProblemDetails | None:
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            return ProblemDetails(
                type="urn:tessera:problem:foreign-host",
                title="Not this farm's address",
                status=421,
                detail=f"This farm does not answer to the name “{host[:80]}”.",
                cure="Open it as 127.0.0.1 or localhost, with the port that “farm status” shows.",
                code="foreign-host",
            )
        if method not in _SAFE_METHODS and _foreign(headers, host):
            return ProblemDetails(
                type="urn:tessera:problem:foreign-origin",
                title="Not from another page",
                status=403,
                detail="Another web page tried to change something on this farm.",
                cure="Use the farm's own page, the farm command or a program outside of the browser.",
                code="foreign-origin",
            )
        return None


def _name(host: str) -> str:
    """Host without its port, as browsers write it; empty for what is no host."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _foreign(headers: Headers, host: str) -> bool:
    """Programs send neither header; browsers send Origin with every request that changes something."""
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return True
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc.lower() != host.lower()
    except ValueError:  # no address at all
        return True
