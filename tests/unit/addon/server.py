"""A server on loopback that answers as a test says, to try the add-on's line against."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Call:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""


@dataclass
class Answer:
    """``cut``: hang up instead; ``early``: answer before the body was read."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    early: bool = False


@contextmanager
def serving(answer: Callable[[Call], Answer]) -> Iterator[tuple[str, list[Call]]]:
    """The address, and the calls as they come."""
    calls: list[Call] = []

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            call = Call(self.command, self.path, {k.lower(): v for k, v in self.headers.items()})
            calls.append(call)
            said = answer(call)
            if not said.early:
                call.body = self.rfile.read(int(call.headers.get("content-length", 0)))
            self.close_connection = True
            if said.cut:
                return
            self.send_response(said.status)
            for name, value in {"Content-Length": str(len(said.body)), **said.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said.body)

        do_GET = do_PUT = do_POST = handle_one  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", calls
        finally:
            server.shutdown()
            thread.join(10)
