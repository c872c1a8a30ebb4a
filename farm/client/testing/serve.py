"""The farm that renders nothing, on a port."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from farm.client.testing.api import Api
from farm.client.testing.farm import Call, FakeFarm


@contextmanager
def served(farm: FakeFarm, port: int = 0) -> Iterator[str]:
    """Serve ``farm`` on this machine; gives its address."""

    api = Api(farm)
    lines: list[socket.socket] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, media_type, data = api.answer(Call(self.command, parts.path, query, body))
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = _answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing: tests speak through `FakeFarm.calls`."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def get_request(self) -> tuple[socket.socket, object]:
            accepted = super().get_request()
            lines.append(accepted[0])
            return accepted

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that went away in the middle is no news."""

    server = Server(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        for line in lines:  # a dead server keeps no line open
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
        thread.join()
