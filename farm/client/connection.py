"""One line to a farm: requests, their retries, and their errors as `farm.domain.errors`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
from pydantic import TypeAdapter, ValidationError

from farm import __version__
from farm.domain.errors import (
    ProblemDetails,
    TesseraError,
    Unavailable,
    UsageError,
    error_from_problem,
)

#: Seconds that a farm which has answered once may be away before a call gives up on it.
PATIENCE = 60.0

_AWAY = frozenset({502, 503, 504})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 4.0
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

type Content = Callable[[], Iterable[bytes]]


class Connection:
    """Speaks HTTP with the farm at ``url``; safe to share between threads.

    A call that may be repeated (``again``) is repeated with growing pauses while the farm is away,
    for up to ``patience`` seconds, once the farm has answered at all: a web process that restarts
    is not noticed. A farm that never answered fails at once.
    Proxies of the environment are used, but never for a farm on this machine.
    """

    def __init__(
        self,
        url: str,
        *,
        patience: float = PATIENCE,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = _checked(url)
        self._patience = patience
        self._clock = clock
        self._sleep = sleep
        self._met = False
        self._client = httpx.Client(
            base_url=self.url,
            transport=transport,
            trust_env=self.url.host not in _LOOPBACK and not self.url.host.startswith("127."),
            timeout=httpx.Timeout(60.0, connect=10.0),
            headers={"User-Agent": f"tessera/{__version__}"},
        )

    def close(self) -> None:
        self._client.close()

    def ask[T](
        self,
        kind: type[T] | TypeAdapter[T],
        method: str,
        path: str,
        *,
        again: bool = True,
        params: Mapping[str, Any] | None = None,
        json: object = None,
        content: Content | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> T:
        """Send, wait, and read the answer as ``kind``; raises `TesseraError`.

        ``content`` makes the body anew for every try. ``timeout`` is the seconds to wait for bytes.
        """
        request: dict[str, Any] = {"params": params, "headers": headers}
        if timeout is not None:
            request["timeout"] = httpx.Timeout(timeout, connect=10.0)
        if json is not None:
            request["json"] = json

        def send() -> httpx.Response:
            body = None if content is None else content()
            return self._client.request(method, path, content=body, **request)

        response = self._patiently(send, again)
        adapter = kind if isinstance(kind, TypeAdapter) else TypeAdapter(kind)
        try:
            return adapter.validate_json(response.content)
        except ValidationError:
            raise self._strange() from None

    @contextmanager
    def stream(self, path: str) -> Iterator[Iterator[bytes]]:
        """The bytes at ``path`` in pieces; a break in the middle raises `Unavailable`."""

        def open_stream() -> httpx.Response:
            return self._client.send(self._client.build_request("GET", path), stream=True)

        response = self._patiently(open_stream, again=True)
        try:
            yield self._pieces(response)
        finally:
            response.close()

    def _pieces(self, response: httpx.Response) -> Iterator[bytes]:
        try:
            yield from response.iter_bytes(1 << 20)
        except httpx.TransportError as error:
            raise self._away(error) from None

    def _patiently(self, send: Callable[[], httpx.Response], again: bool) -> httpx.Response:
        start, pause = self._clock(), _FIRST_PAUSE
        while True:
            fault = self._try(send)
            if isinstance(fault, httpx.Response):
                return fault
            # A connection that was never made carried nothing, so any call may be made again.
            error, unsent = fault
            waited = self._clock() - start
            if not self._met or not (again or unsent) or waited + pause > self._patience:
                raise error
            self._sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _try(self, send: Callable[[], httpx.Response]) -> httpx.Response | tuple[TesseraError, bool]:
        """The answer, or why the farm is away and whether nothing was sent; other errors are raised."""
        try:
            response = send()
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return self._away(error), True
        except httpx.TransportError as error:
            return self._away(error), False
        if response.is_success:
            self._met = True
            return response
        response.read()
        response.close()
        told = self._error(response)
        if response.status_code in _AWAY:
            return told, False
        self._met = True
        raise told

    def _error(self, response: httpx.Response) -> TesseraError:
        try:
            return error_from_problem(ProblemDetails.model_validate_json(response.content))
        except ValidationError:
            pass
        if response.status_code in _AWAY:
            return Unavailable(
                f"The farm at {self.url} is not ready ({response.status_code}).",
                "Wait a moment and try again.",
            )
        return self._strange(response.status_code)

    def _away(self, error: httpx.TransportError) -> Unavailable:
        if isinstance(error, httpx.TimeoutException):
            return Unavailable(
                f"The farm at {self.url} did not answer in time.", "Look at it with: farm status"
            )
        if isinstance(error, httpx.ConnectError):
            return Unavailable(
                f"No farm answers at {self.url}.", "Start one with: farm up, or name one with --farm URL."
            )
        return Unavailable(f"The line to the farm at {self.url} broke.", "Look at it with: farm status")

    def _strange(self, status: int | None = None) -> TesseraError:
        told = f" (HTTP {status})" if status else ""
        return TesseraError(
            f"What answers at {self.url} does not speak as a Tessera {__version__} farm{told}.",
            "Check the address, and that client and farm are of one version.",
        )


def _checked(url: str) -> httpx.URL:
    cure = "Write it as http://HOST:PORT."
    try:
        found = httpx.URL(url)
    except httpx.InvalidURL:
        raise UsageError(f"“{url}” is not the address of a farm.", cure) from None
    if found.scheme not in ("http", "https") or not found.host:
        raise UsageError(f"“{url}” is not the address of a farm.", cure)
    return found
