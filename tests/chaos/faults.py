"""What can be done to a farm.

Each deed takes the farm, dice for the choice among several victims, and seconds for which it lasts where
it lasts. It gives what was hit, or None where nothing was there and nothing was done.
"""

from __future__ import annotations

import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import psutil

from farm.domain.errors import TesseraError
from tests.chaos.machine import Machine
from tests.chaos.proxy import Manner
from tests.chaos.site import Site

_SEEK = 10.0  # seconds in which something has to be there that can be hit
_AGAIN = 90.0  # seconds in which a farm can be started again

_one_at_a_time = threading.Lock()  # what is done to a database

type Victims = Callable[[Site], list[psutil.Process]]


def part(name: str) -> Victims:
    """One of the parts that the supervisor keeps."""
    return lambda site: [found] if (found := site.part(name)) else []


def kill(victims: Victims, site: Site, dice: random.Random, seconds: float) -> str | None:
    """SIGKILL, which nobody can prepare for."""
    del seconds
    victim = _sought(victims, site, dice)
    if victim is None:
        return None
    with suppress(psutil.NoSuchProcess):
        victim.kill()
    return f"process {victim.pid}"


def stop(victims: Victims, site: Site, dice: random.Random, seconds: float) -> str | None:
    """SIGSTOP, and SIGCONT after a while: it is there and does nothing."""
    victim = _sought(victims, site, dice)
    if victim is None:
        return None
    with _stopped(victim):
        time.sleep(seconds)
    return f"process {victim.pid}"


def behave(manner: Manner, site: Site, dice: random.Random, seconds: float) -> str | None:
    """What lies between the farm and its storage changes its manner for a while."""
    del dice
    site.store.proxy.behave(manner)
    try:
        time.sleep(seconds)
    finally:
        site.store.proxy.behave(Manner.FAITHFUL)
    return "the way to storage"


def cut(
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


def fill(name: str, site: Site, dice: random.Random, seconds: float) -> str | None:
    """A disk takes not a byte more for a while."""
    del dice
    site.disks[name].fill()
    try:
        time.sleep(seconds)
    finally:
        site.disks[name].free()
    return f"the disk of {name}"


def lock(site: Site, dice: random.Random, seconds: float) -> str | None:
    """Another program holds the database's lock for writing."""
    del dice
    other = sqlite3.connect(site.home / "farm.sqlite3", timeout=30, isolation_level=None)
    try:
        other.execute("BEGIN EXCLUSIVE")
        time.sleep(seconds)
        other.execute("ROLLBACK")
    except sqlite3.OperationalError:  # somebody else holds it all the time, or its disk is full
        return None
    finally:
        other.close()
    return "the database"


def restart(number: signal.Signals, site: Site, dice: random.Random, seconds: float) -> str | None:
    """PostgreSQL ends, with all connections broken, and is started again after a while."""
    del dice
    if site.postgres is None:
        return None
    with _one_at_a_time:
        site.postgres.stop(number)
        time.sleep(seconds)
        site.postgres.start()
    return "PostgreSQL"


def stop_database(site: Site, dice: random.Random, seconds: float) -> str | None:
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


def second(site: Site, dice: random.Random, seconds: float) -> str | None:
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


def replace(site: Site, dice: random.Random, seconds: float) -> str | None:
    """The dispatcher is stopped for so long that another takes over, and wakes up beside that one."""
    victim = _sought(part("dispatcher"), site, dice)
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


def supervisor(site: Site, dice: random.Random, seconds: float) -> str | None:
    """All of the farm's own goes down with its supervisor, or with its guardian; somebody starts it again."""
    del seconds
    pid = site.farm.pid
    with suppress(psutil.NoSuchProcess):
        found = psutil.Process(pid)
        victim = dice.choice((found, psutil.Process(found.ppid())))
        pid = victim.pid
        victim.kill()
        found.wait(_SEEK)  # it dies with its guardian, but not in the same moment
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
