"""A real server on loopback around any services."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from web.__main__ import Server
from web.app import create_app
from web.services import Services


@contextmanager
def serving(services: Services, port: int = 0) -> Iterator[str]:
    """The farm's address; the server is stopped as SIGTERM would stop it."""
    app = create_app(services)
    with socket.create_server(("127.0.0.1", port)) as listening:
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, lifespan="on")
        server = Server(config, app.state.live)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            app.state.live.close()
            server.should_exit = True
            thread.join(20)
