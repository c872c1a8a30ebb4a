"""What is done to a farm, by name. How each is done; when and how long is drawn in `plan`."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial

import psutil

from farm.domain.errors import TesseraError
from tests.chaos.machine import Machine
from tests.chaos.proxy import Manner
from tests.chaos.site import Site, Sort

_SEEK = 10.0  # seconds in which something has to be there that can be hit
_AGAIN = 90.0  # seconds in which a farm can be started again
_RENDER, _IMAGING = "workers.inside_blender", "workers.imaging"

_one_at_a_time = threading.Lock()  # what is done to a database

#: Does it, for so many seconds where it lasts; gives what was hit, or None where nothing was there.
type Deed = Callable[[Site, random.Random, float], str | None]
type Victims = Callable[[Site], list[psutil.Process]]


@dataclass(frozen=True)
class Kind:
    """A kind of fault, lasting from ``seconds[0]`` to ``seconds[1]``; ``weight``: how often it is drawn."""

    deed: Deed
    seconds: tuple[float, float] = (0.0, 0.0)
    weight: int = 2
    of: str = ""  # farms of this sort alone


def _part(name: str) -> Victims:
    return lambda site: [found] if (found := site.part(name)) else []


def _kill(victims: Victims, site: Site, dice: random.Random, seconds: float) -> str | None:
    """SIGKILL, which nobody can prepare for."""
    del seconds
    victim = _sought(victims, site, dice)
    if victim is None:
        return None
    with suppress(psutil.NoSuchProcess):
        victim.kill()
    return f"process {victim.pid}"


def _stop(victims: Victims, site: Site, dice: random.Random, seconds: float) -> str | None:
    """SIGSTOP, and SIGCONT after a while: it is there and does nothing."""
    victim = _sought(victims, site, dice)
    if victim is None:
        return None
    with _stopped(victim):
        time.sleep(seconds)
    return f"process {victim.pid}"


def _behave(manner: Manner, site: Site, dice: random.Random, seconds: float) -> str | None:
    """What lies between the farm and its storage changes its manner for a while."""
    del dice
    site.store.proxy.behave(manner)
    try:
        time.sleep(seconds)
    finally:
        site.store.proxy.behave(Manner.FAITHFUL)
    return "the way to storage"


def _cut(
    machine: Callable[[Site], Machine | None], site: Site, dice: random.Random, seconds: float
) -> str | None:
    """The cable between the farm's machine and another one is out."""
    del dice
    found = machine(site)
    if found is None:
        return None
    found.cable(up=False)
    try:
        time.sleep(seconds)
    finally:
        found.cable(up=True)
    return f"the cable to {found.there}"


def _storage(site: Site) -> Machine:
    return site.store.machine


def _node(site: Site) -> Machine | None:
    return site.cluster.node if site.cluster else None


def _fill(name: str, site: Site, dice: random.Random, seconds: float) -> str | None:
    del dice
    site.disks[name].fill()
    try:
        time.sleep(seconds)
    finally:
        site.disks[name].free()
    return f"the disk of {name}"


def _lock(site: Site, dice: random.Random, seconds: float) -> str | None:
    """Another program holds the database's lock for writing."""
    del dice
    other = sqlite3.connect(site.home / "farm.sqlite3", timeout=30, isolation_level=None)
    try:
        other.execute("BEGIN EXCLUSIVE")
        time.sleep(seconds)
        other.execute("ROLLBACK")
    finally:
        other.close()
    return "the database"


def _restart(number: signal.Signals, site: Site, dice: random.Random, seconds: float) -> str | None:
    """PostgreSQL ends, with all connections broken, and is started again after a while."""
    del dice
    if site.postgres is None:
        return None
    with _one_at_a_time:
        site.postgres.stop(number)
        time.sleep(seconds)
        site.postgres.start()
    return "PostgreSQL"


def _stop_database(site: Site, dice: random.Random, seconds: float) -> str | None:
    """PostgreSQL is there, and answers nobody."""
    del dice
    if site.postgres is None:
        return None
    with _one_at_a_time, ExitStack() as held:
        server = psutil.Process(site.postgres.process.pid)
        for process in (server, *server.children(recursive=True)):
            held.enter_context(_stopped(process))
        time.sleep(seconds)
    return "PostgreSQL"


def _second(site: Site, dice: random.Random, seconds: float) -> str | None:
    """Somebody starts another dispatcher beside the one that runs; it is killed in the end."""
    del dice
    other = site.another_dispatcher()
    if other is None:
        return None
    try:
        time.sleep(seconds)
    finally:
        other.kill()
        other.wait()
    return f"process {other.pid} came"


def _replace(site: Site, dice: random.Random, seconds: float) -> str | None:
    """The dispatcher is stopped for so long that another takes over, and wakes up beside that one."""
    victim = _sought(_part("dispatcher"), site, dice)
    if victim is None:
        return None
    with _stopped(victim):
        other = site.another_dispatcher()
        time.sleep(seconds)
    try:
        time.sleep(seconds / 2)
    finally:
        if other is not None:
            other.kill()
            other.wait()
    return f"process {victim.pid}"


def _supervisor(site: Site, dice: random.Random, seconds: float) -> str | None:
    """All of the farm's own goes down at once, and somebody starts it again."""
    del dice, seconds
    pid = site.farm.pid
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + _AGAIN
    while True:
        try:
            site.up()
        except TesseraError:  # its disk may be full meanwhile
            if time.monotonic() > deadline:
                raise
            time.sleep(1)
        else:
            return f"process {pid}"


def _sought(victims: Victims, site: Site, dice: random.Random) -> psutil.Process | None:
    """One of the victims, waiting for one to be there."""
    deadline = time.monotonic() + _SEEK
    while time.monotonic() < deadline:
        found = sorted(victims(site), key=lambda process: process.pid)
        if found:
            return dice.choice(found)
        time.sleep(0.05)
    return None


@contextmanager
def _stopped(victim: psutil.Process) -> Iterator[None]:
    with suppress(psutil.NoSuchProcess):
        victim.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(psutil.NoSuchProcess):
            victim.send_signal(signal.SIGCONT)


def _node_raylet(site: Site) -> list[psutil.Process]:
    return site.cluster.node.processes("raylet") if site.cluster else []


_PARTS: dict[str, Victims] = {
    "dispatcher": _part("dispatcher"),
    "web": _part("web"),
    "raylet": lambda site: site.ray("raylet"),
    "gcs": lambda site: site.ray("gcs_server"),
    "worker": lambda site: site.workers(),
    "render": lambda site: site.children(_RENDER),
    "imaging": lambda site: site.children(_IMAGING),
    "storage": lambda site: site.store.processes(),
}

KINDS: dict[str, Kind] = {
    "kill dispatcher": Kind(partial(_kill, _PARTS["dispatcher"]), weight=6),
    "kill web": Kind(partial(_kill, _PARTS["web"])),
    "kill raylet": Kind(partial(_kill, _PARTS["raylet"]), weight=3),
    "kill gcs": Kind(partial(_kill, _PARTS["gcs"]), weight=1),
    "kill worker": Kind(partial(_kill, _PARTS["worker"]), weight=4),
    "kill render": Kind(partial(_kill, _PARTS["render"]), weight=4),
    "kill imaging": Kind(partial(_kill, _PARTS["imaging"]), weight=3),
    "kill storage": Kind(partial(_kill, _PARTS["storage"]), weight=4),
    "kill supervisor": Kind(_supervisor),
    "stop dispatcher": Kind(partial(_stop, _PARTS["dispatcher"]), (2, 8), weight=3),
    "stop web": Kind(partial(_stop, _PARTS["web"]), (2, 8), weight=1),
    "stop raylet": Kind(partial(_stop, _PARTS["raylet"]), (2, 10)),
    "stop worker": Kind(partial(_stop, _PARTS["worker"]), (2, 12), weight=3),
    "stop render": Kind(partial(_stop, _PARTS["render"]), (2, 12)),
    "stop imaging": Kind(partial(_stop, _PARTS["imaging"]), (2, 12), weight=1),
    "stop storage": Kind(partial(_stop, _PARTS["storage"]), (2, 12)),
    "hang render": Kind(partial(_stop, _PARTS["render"]), (40, 45), weight=1),
    "replace dispatcher": Kind(_replace, (12, 20), weight=2),
    "second dispatcher": Kind(_second, (4, 10), weight=2),
    "cut network": Kind(partial(_cut, _storage), (2, 15), weight=3),
    "cut network long": Kind(partial(_cut, _storage), (30, 50), weight=1),
    "cut node": Kind(partial(_cut, _node), (2, 15), weight=5, of="spread"),
    "cut node long": Kind(partial(_cut, _node), (45, 60), weight=2, of="spread"),
    "kill node": Kind(partial(_kill, _node_raylet), weight=5, of="spread"),
    "stop node": Kind(partial(_stop, _node_raylet), (2, 15), weight=2, of="spread"),
    "slow storage": Kind(partial(_behave, Manner.SLOW), (3, 10)),
    "truncating storage": Kind(partial(_behave, Manner.CUT), (3, 10)),
    "resetting storage": Kind(partial(_behave, Manner.RESET), (3, 10)),
    "holding storage": Kind(partial(_behave, Manner.HOLD), (3, 15)),
    "full storage": Kind(partial(_fill, "storage"), (3, 10), weight=1),
    "full scratch": Kind(partial(_fill, "scratch"), (3, 10), weight=2),
    "full home": Kind(partial(_fill, "home"), (3, 10), weight=2),
    "locked database": Kind(_lock, (2, 20), weight=2, of="sqlite"),
    "restart database": Kind(partial(_restart, signal.SIGINT), (0, 6), weight=6, of="postgres"),
    "kill database": Kind(partial(_restart, signal.SIGQUIT), (0, 6), weight=6, of="postgres"),
    "stop database": Kind(_stop_database, (2, 15), weight=4, of="postgres"),
}


def kinds_for(sort: Sort) -> tuple[str, ...]:
    """All that can be done to a farm of this sort."""
    sorts = ("", "postgres") if sort is Sort.POSTGRES else ("", "sqlite", sort.value)
    return tuple(name for name, kind in KINDS.items() if kind.of in sorts)
