"""Which parts this farm has, by its settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from farm.embedded import ray_head, seaweed
from farm.embedded.beat import Beat
from farm.embedded.home import Home
from farm.embedded.ports import check, find_free, is_free
from farm.embedded.service import Service, answers
from farm.settings import MachineSettings, Settings

_LOOPBACK = "127.0.0.1,localhost,::1"


@dataclass(frozen=True)
class Plan:
    """What the supervisor is to run."""

    url: str
    ports: dict[str, int]
    services: tuple[Service, ...]


def plan(settings: Settings) -> Plan:
    """The parts, with ports and keys settled. The home must be prepared.

    A store or a Ray cluster that the settings name is used as it is, and none of ours started.
    Raises `TesseraError` where a port is taken or a program is missing.
    """
    home = Home(settings.home)
    wanted = [
        *(() if settings.storage.endpoint else seaweed.PORTS),
        *(() if settings.ray_address else ray_head.PORTS),
    ]
    web, *found = find_free(1 + len(wanted))
    ports = {**dict(zip(wanted, found, strict=True)), "web": _web_port(settings, home, web)}
    inherited = _inherited()
    services = []
    if not settings.storage.endpoint:
        services.append(seaweed.service(home, ports, inherited))
    if not settings.ray_address:
        of_workers = {"FARM_HOME": str(settings.home), **of_the_machine()}
        services.append(ray_head.service(home, ports, {**inherited, **of_workers}))
    given = {**inherited, **variables(settings, home, ports)}
    given |= _keys_of_ray() if settings.ray_address else ray_head.environment(home)
    below = tuple(service.name for service in services)
    beat = Beat(home.run / "dispatcher.beat")
    services.append(
        Service(
            name="dispatcher",
            command=(*_module("farm.dispatch"), "--beat", str(beat.file)),
            environment=given,
            ready=beat.begun,
            goes_on=beat.goes_on,
            needs=below,
            sockets=(beat.file,),
            # Ray keeps nothing over its end; who speaks to the old one finds that out after a minute.
            falls_with=() if settings.ray_address else ("ray",),
        )
    )
    services.append(
        Service(
            name="web",
            command=_module("web"),
            environment=given,
            ready=lambda: answers(settings.host, ports["web"], "/healthz"),
        )
    )
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    return Plan(url=f"http://{shown}:{ports['web']}", ports=ports, services=tuple(services))


def variables(settings: Settings, home: Home, ports: Mapping[str, int]) -> dict[str, str]:
    """The settings as the environment of the farm's own programs."""
    store = settings.storage
    access, secret = store.access_key, store.secret_key.get_secret_value()
    endpoint, carry = store.endpoint, carried(settings)
    if not endpoint:
        endpoint = f"http://127.0.0.1:{ports['s3']}"
        access, secret = home.access_keys()
        carry["FARM_STORAGE__FOLDER"] = str(home.storage)
    return {
        **carry,
        "FARM_PORT": str(ports["web"]),
        "FARM_DATABASE_URL": settings.database,
        "FARM_STORAGE__ENDPOINT": endpoint,
        "FARM_STORAGE__ACCESS_KEY": access,
        "FARM_STORAGE__SECRET_KEY": secret,
        "FARM_RAY_ADDRESS": settings.ray_address or f"127.0.0.1:{ports['ray']}",
    }


def carried(settings: Settings) -> dict[str, str]:
    """The settings as they were given, so that `Settings()` in another process is the same."""
    store = settings.storage
    given = {
        "FARM_HOME": str(settings.home),
        "FARM_HOST": settings.host,
        "FARM_PORT": str(settings.port),
        "FARM_DATABASE_URL": settings.database_url,
        "FARM_STORAGE__ENDPOINT": store.endpoint,
        "FARM_STORAGE__REGION": store.region,
        "FARM_STORAGE__BUCKET": store.bucket,
        "FARM_STORAGE__ACCESS_KEY": store.access_key,
        "FARM_STORAGE__SECRET_KEY": store.secret_key.get_secret_value(),
        "FARM_RAY_ADDRESS": settings.ray_address,
        "FARM_WORKERS": str(settings.workers),
        "FARM_SANDBOX": "true" if settings.sandbox else "false",
    }
    if settings.scratch is not None:
        given["FARM_SCRATCH"] = str(settings.scratch)
    if store.folder is not None:
        given["FARM_STORAGE__FOLDER"] = str(store.folder)
    return given


def of_the_machine() -> dict[str, str]:
    """What this environment says of the machine's workers, who read it there: `MachineSettings`."""
    names = (f"FARM_{name.upper()}" for name in MachineSettings.model_fields)
    return {name: os.environ[name] for name in names if name in os.environ}


def _keys_of_ray() -> dict[str, str]:
    """How to prove to a cluster that is not ours that we may speak to it: the caller knows."""
    return {name: value for name, value in os.environ.items() if name.startswith("RAY_AUTH_")}


def _inherited() -> dict[str, str]:
    """The caller's environment without what is ours to set, or would change what our programs import."""
    dropped = ("FARM_", "RAY_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    # A proxy for the world outside must not come between the parts of one machine.
    around = ",".join(part for part in (kept.get("NO_PROXY") or kept.get("no_proxy"), _LOOPBACK) if part)
    path = os.pathsep.join((str(Path(sys.executable).parent), kept.get("PATH", os.defpath)))
    return {
        **kept,
        "PATH": path,
        "NO_PROXY": around,
        "no_proxy": around,
        "PYTHONSAFEPATH": "1",
        "PYTHONUNBUFFERED": "1",
    }


def _module(name: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", name)


def _web_port(settings: Settings, home: Home, free: int) -> int:
    """The port asked for, else the one of the last time, so that the page keeps its address."""
    if settings.port:
        check(settings.host, settings.port)
        return settings.port
    memory = home.root / "web-port"
    try:
        last = int(memory.read_text())
    except (OSError, ValueError):
        last = 0
    port = last if 1024 <= last < 65536 and is_free(settings.host, last) else free
    memory.write_text(f"{port}\n")
    return port
