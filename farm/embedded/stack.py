"""Start, stop and find the farm of this machine."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from farm.domain.errors import TesseraError, Unavailable
from farm.embedded.home import Home
from farm.embedded.identity import Identity
from farm.embedded.leftovers import clear
from farm.embedded.logs import tail
from farm.embedded.outside import check_ray, check_storage
from farm.embedded.ports import check, check_host
from farm.embedded.services import carried, of_the_machine
from farm.embedded.state import FarmState, Part, Phase, read
from farm.settings import Settings

_START = 180.0  # seconds until a start counts as failed
_STOP = 15.0  # seconds until a stop turns to SIGKILL
_TOLD = 5.0  # seconds until a supervisor that was just launched has told of itself
_TICK = 0.05

Step = Callable[[str], None]

_STEPS = {
    "storage": "Storage is ready.",
    "ray": "Ray is ready.",
    "dispatcher": "The dispatcher runs.",
    "web": "The page is up.",
}


@dataclass(frozen=True)
class RunningFarm:
    """A farm on this machine. `pid` is its supervisor's; `parts` are its processes, as last told."""

    url: str
    pid: int
    home: Path
    parts: tuple[Part, ...] = ()
    ready: bool = True


def running(home: Path) -> RunningFarm | None:
    """The farm that lives in `home`, also while it starts or ends; None where none does."""
    place = Home(home)
    state = read(place.state)
    if state is None or state.phase is Phase.FAILED or not state.supervisor.alive:
        return None
    return _farm(place, state)


def start(
    settings: Settings, *, workers: int | None = None, wait: bool = True, on_step: Step | None = None
) -> RunningFarm:
    """Start a farm in ``settings.home``, or give the one that lives there.

    With `wait`, it comes back once every part is ready; `on_step` is told of each in a sentence.
    Raises `TesseraError` with what went wrong and its cure; then nothing of it is left running, nor
    after a KeyboardInterrupt.
    """
    if sys.platform != "linux":
        raise TesseraError(
            "A farm of its own runs on Linux only.", "Name a farm elsewhere with --farm URL, or FARM_URL."
        )
    if workers is not None:
        settings = settings.model_copy(update={"workers": workers})
    home = Home(settings.home)
    home.prepare()
    tell = on_step or (lambda _: None)
    with _locked(home):
        found = running(settings.home)
        if found is None:
            check_host(settings.host)
            if settings.port:
                check(settings.host, settings.port)
            check_storage(settings)
            check_ray(settings)
            _wait_until_gone(home, _STOP)
        try:
            if found is None:
                _launch(settings, home)
            return _await(home, wait, tell)
        except KeyboardInterrupt:
            if found is None:
                _undo(home)
            raise


def stop(home: Path) -> bool:
    """End the farm in `home` and everything it started; False where none ran.

    Takes a few seconds; what has not ended by then is killed.
    """
    place = Home(home)
    if not place.run.is_dir():
        return False
    state = read(place.state)
    found = state is not None and state.supervisor.alive
    if state is not None and found:
        state.supervisor.signal(signal.SIGTERM)
        if not _gone_within(place, _STOP):
            state.supervisor.signal(signal.SIGKILL)  # the guardian kills all the rest
    if not _gone_within(place, _STOP):
        raise TesseraError(
            f"The farm in “{place.root}” does not end.", "Try again; if it stays, restart the machine."
        )
    clear(place)
    place.state.unlink(missing_ok=True)
    return found


def _launch(settings: Settings, home: Home) -> None:
    """Start the guardian, which starts the supervisor; both in a session of their own."""
    clear(home)
    home.state.unlink(missing_ok=True)
    home.make_sockets()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FARM_")}
    with (home.logs / "farm.log").open("ab") as output:
        subprocess.run(
            [sys.executable, "-P", "-m", "farm.embedded.guardian", str(home.root), str(home.sockets)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env={**kept, **of_the_machine(), **carried(settings)},
            start_new_session=True,
            check=False,  # whether it lives is read from the state file
        )


def _undo(home: Home) -> None:
    """End a farm whose start was interrupted, maybe before its supervisor could say that it is there."""
    deadline = time.monotonic() + _TOLD
    while read(home.state) is None and time.monotonic() < deadline:
        time.sleep(_TICK)
    stop(home.root)


def _await(home: Home, wait: bool, tell: Step) -> RunningFarm:
    """Follow the start: until ready, or with `wait` off until there is a supervisor."""
    deadline = time.monotonic() + _START
    told: set[str] = set()
    seen: Identity | None = None
    while time.monotonic() < deadline:
        state = read(home.state)
        if state is not None:
            seen = state.supervisor
            if state.phase is Phase.FAILED:
                _gone_within(home, _STOP)
                raise TesseraError(state.what, state.cure)
            for part in state.parts:
                if part.phase is Phase.READY and part.name not in told:
                    told.add(part.name)
                    tell(_STEPS.get(part.name, f"{part.name} is ready."))
            if state.phase is Phase.READY or not wait:
                return _farm(home, state)
        if seen is not None and not seen.alive:
            state = read(home.state)
            if state is None or state.phase is not Phase.FAILED:
                break
        time.sleep(_TICK)
    stop(home.root)
    said = tail(home.logs / "farm.log", 1)
    raise Unavailable(
        f"The farm could not be started{': ' + said[0] if said else '.'}",
        f"The whole log is in {home.logs / 'farm.log'}; “farm doctor” checks this machine.",
    )


def _farm(home: Home, state: FarmState) -> RunningFarm:
    return RunningFarm(
        url=state.url,
        pid=state.supervisor.pid,
        home=home.root,
        parts=state.parts,
        ready=state.phase is Phase.READY,
    )


@contextmanager
def _locked(home: Home) -> Iterator[None]:
    """Only one starts a farm in a home; a second waits and then finds it."""
    handle = os.open(home.starting, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _wait_until_gone(home: Home, seconds: float) -> None:
    if not _gone_within(home, seconds):
        raise Unavailable(
            f"The last farm in “{home.root}” has not ended yet.", "Wait a moment, then try again."
        )


def _gone_within(home: Home, seconds: float) -> bool:
    """Whether the guardian has ended, and with it everything of the farm."""
    deadline = time.monotonic() + seconds
    handle = os.open(home.living, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    return False
                time.sleep(_TICK)
            else:
                return True
    finally:
        os.close(handle)
