"""The line to the farm: HTTP with the standard library, patient where the farm is away for a while."""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

from .trouble import Stopped, Trouble, reason

PIECE = 1 << 20  # bytes
PATIENCE = 600.0  # seconds that a farm which has answered before may be away
_LONGEST_PAUSE = 10.0
_AWAY = {502, 503, 504}


class Line:
    """Calls to the farm at ``url``. ``stopped`` ends every wait; ``told`` gets words while the farm is away.

    All methods raise `Trouble` with words for the artist, and `Stopped`.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        stopped: Event | None = None,
        told: Callable[[str], None] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.url = address(url)
        self._headers = {"User-Agent": "tessera-addon", "Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._stopped, self._told, self._patience = stopped or Event(), told or (lambda _: None), patience
        handlers: list[Any] = [_Plain(), _Secure(), _NoRedirect()]
        if is_local(self.url):
            handlers.append(urllib.request.ProxyHandler({}))  # a proxy knows another 127.0.0.1
        self._opener = urllib.request.build_opener(*handlers)
        self._met = False

    def ask(self, method: str, path: str, body: object = None, again: bool = True, wait: float = 30) -> Any:
        """The answer's JSON. Without ``again`` nothing that may have arrived is sent a second time."""
        data = None if body is None else json.dumps(body).encode()
        headers = {} if data is None else {"Content-Type": "application/json"}
        response = self._patiently(lambda: self._send(method, path, data, headers, wait), again)
        with response:
            try:
                return json.loads(response.read())
            except ValueError:
                raise self._strange(200) from None
            except (OSError, http.client.HTTPException):
                raise self._broken() from None

    def put(self, path: str, pieces: Callable[[], Iterator[bytes]], size: int) -> None:
        """Send ``size`` bytes; ``pieces`` gives them anew for every try."""
        headers = {"Content-Length": str(size), "Content-Type": "application/octet-stream"}
        self._patiently(lambda: self._send("PUT", path, pieces(), headers, 300), True).close()

    def stream(self, path: str) -> Iterator[bytes]:
        """The bytes at ``path``; a break in the middle is a `Trouble` that is ``away``."""
        with self._patiently(lambda: self._send("GET", path, None, {}, 60), True) as response:
            while True:
                if self._stopped.is_set():
                    raise Stopped
                try:
                    piece = response.read(PIECE)
                except (OSError, http.client.HTTPException):
                    raise self._broken() from None
                if not piece:
                    if response.length:  # cut short; reading says nothing of it
                        raise self._broken()
                    return
                yield piece

    def _patiently(self, send: Callable[[], Any], again: bool) -> Any:
        start, pause = time.monotonic(), 0.5
        while True:
            if self._stopped.is_set():
                raise Stopped
            try:
                response = send()
            except _Loss as loss:
                if not self._met or not (again or loss.unsent):
                    raise loss.trouble from None
                if time.monotonic() - start + pause > self._patience:
                    raise loss.trouble from None
                self._told(f"{loss.trouble.what} Trying again.")
                if self._stopped.wait(pause):
                    raise Stopped from None
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self._met = True
                self._told("")
                return response

    def _send(self, method: str, path: str, data: Any, headers: dict[str, str], wait: float) -> Any:
        request = urllib.request.Request(self.url + path, data, {**self._headers, **headers}, method=method)  # noqa: S310
        try:
            return self._opener.open(request, timeout=wait)
        except urllib.error.HTTPError as error:
            with error:
                trouble = self._refused(error)
            if error.code in _AWAY:
                raise _Loss(trouble, unsent=False) from None
            self._met = True
            raise trouble from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, ssl.SSLError):
                raise Trouble(
                    f"The farm at {self.url} could not prove who it is ({_short(error.reason)}).",
                    "Check the address, and the certificate with whoever runs the farm.",
                ) from None
            unsent = isinstance(error.reason, (ConnectionRefusedError, socket.gaierror))
            raise _Loss(self._nobody(error.reason), unsent) from None
        except (OSError, http.client.HTTPException):
            raise _Loss(self._broken(), unsent=False) from None

    def _refused(self, error: urllib.error.HTTPError) -> Trouble:
        away = error.code in _AWAY
        try:
            problem = json.loads(error.read(1 << 20))
            return Trouble(str(problem["detail"]), str(problem.get("cure", "")), away)
        except (ValueError, KeyError, TypeError, AttributeError, OSError, http.client.HTTPException):
            pass
        if error.code in (401, 403):
            return Trouble(
                f"The farm at {self.url} does not let you in.", "Check the token in the add-on's preferences."
            )
        if 300 <= error.code < 400:
            there = error.headers.get("Location", "elsewhere")
            return Trouble(
                f"{self.url} sends on to {there}.", "Put the address that it sends to into the preferences."
            )
        if away:
            return Trouble(
                f"The farm at {self.url} is not ready ({error.code}).", "Wait a moment.", away=True
            )
        return self._strange(error.code)

    def _nobody(self, cause: object) -> Trouble:
        if isinstance(cause, TimeoutError):
            return self._broken()
        return Trouble(
            f"No farm answers at {self.url}.",
            "Check the address in the add-on's preferences; on the farm's machine, start one with: farm up",
            away=True,
        )

    def _broken(self) -> Trouble:
        return Trouble(f"The line to the farm at {self.url} broke.", "Check the network.", away=True)

    def _strange(self, status: int) -> Trouble:
        return Trouble(
            f"What answers at {self.url} does not speak as a Tessera farm (HTTP {status}).",
            "Check the address, and that the add-on and the farm are of one version.",
        )


class _Loss(Exception):
    """No answer. ``unsent``: no connection was made, so nothing can have arrived."""

    def __init__(self, trouble: Trouble, unsent: bool) -> None:
        super().__init__(trouble.what)
        self.trouble, self.unsent = trouble, unsent


class _PlainConnection(http.client.HTTPConnection):
    """Reads the answer of a server which refuses before all was sent."""

    def request(self, *args: Any, **named: Any) -> None:
        try:
            super().request(*args, **named)
        except (BrokenPipeError, ConnectionResetError):
            if self.sock is None:
                raise


class _SecureConnection(_PlainConnection, http.client.HTTPSConnection):
    """As `_PlainConnection`, encrypted."""


class _Plain(urllib.request.HTTPHandler):
    def http_open(self, request: Any) -> Any:
        return self.do_open(_PlainConnection, request)


class _Secure(urllib.request.HTTPSHandler):
    def https_open(self, request: Any) -> Any:
        return self.do_open(_SecureConnection, request)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Never carries a token to where an answer points."""

    def redirect_request(self, *_: Any) -> None:
        return None


def address(text: str) -> str:
    """``http://HOST:PORT`` of what the artist wrote; raises `Trouble`."""
    written = text.strip()
    try:
        found = urllib.parse.urlsplit(written if "://" in written else f"http://{written}")
        host, _ = found.hostname, found.port
    except ValueError:
        host, found = None, urllib.parse.urlsplit("")
    if not host or found.scheme not in ("http", "https") or found.query or found.fragment:
        raise Trouble(f"“{text}” is not the address of a farm.", "Write it as http://HOST:PORT.")
    return f"{found.scheme}://{found.netloc}{found.path.rstrip('/')}"


def is_local(url: str) -> bool:
    """Whether the address is this machine's own."""
    host = urllib.parse.urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or bool(re.fullmatch(r"127(\.[0-9]+){3}", host))


def _short(error: OSError) -> str:
    return reason(error)[:100]
