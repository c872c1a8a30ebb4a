"""Ray's head on this machine alone, started as a program: `farm.cluster` alone imports ray."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping

from farm.domain.errors import TesseraError
from farm.embedded.home import Home
from farm.embedded.service import Service, listens

PORTS = (
    "ray",
    "ray.node-manager",
    "ray.object-manager",
    "ray.runtime-env-agent",
    "ray.dashboard-agent-listen",
    "ray.dashboard-agent-grpc",
    "ray.metrics-export",
    "ray.ray-client-server",
)
_STORE = 80 * 1024 * 1024  # bytes, near Ray's least: no picture goes through it


def environment(home: Home) -> dict[str, str]:
    """What Ray's own programs and everything that connects to it must have in their environment."""
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(home.ray_token()),
        "RAY_USAGE_STATS_ENABLED": "0",
        # Ray takes 127.0.0.1 for a mistake and listens on the network instead, except where this says
        # that the machine is no part of a larger cluster (ray/_private/services.py, get_node_ip_address).
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_ROTATION_MAX_BYTES": str(4 * 1024 * 1024),
        "RAY_ROTATION_BACKUP_COUNT": "2",
    }


def service(home: Home, ports: Mapping[str, int], inherited: Mapping[str, str]) -> Service:
    """A head on the `PORTS` given; its sessions lie in the short folder for sockets."""
    if importlib.util.find_spec("ray") is None:
        raise TesseraError(
            "Ray, which carries the farm’s workers, is not installed.",
            'Install it: pip install "tessera[head,worker]".',
        )
    own = {name: ports[name] for name in PORTS}
    port = own.pop("ray")
    return Service(
        name="ray",
        command=(
            sys.executable,
            "-P",
            "-m",
            "ray.scripts.scripts",
            "start",
            "--head",
            "--block",
            "--node-ip-address=127.0.0.1",
            f"--port={port}",
            *(f"--{name.removeprefix('ray.')}-port={number}" for name, number in own.items()),
            "--min-worker-port=0",
            "--max-worker-port=0",
            "--no-monitor",
            "--include-dashboard=false",
            "--include-log-monitor=false",
            "--disable-usage-stats",
            f"--object-store-memory={_STORE}",
            f"--temp-dir={home.sockets / 'ray'}",
            "--log-style=record",
            "--log-color=false",
        ),
        environment={**inherited, **environment(home)},
        ready=lambda: _ready(home, ports),
        grace=4.0,
        last_to_go=True,
        fresh=(home.sockets / "ray",),
    )


def _ready(home: Home, ports: Mapping[str, int]) -> bool:
    """The head takes connections and the node's raylet has joined."""
    session = home.sockets / "ray" / "session_latest" / "sockets" / "raylet"
    return session.exists() and all(
        listens(ports[name]) for name in ("ray", "ray.node-manager", "ray.dashboard-agent-grpc")
    )
