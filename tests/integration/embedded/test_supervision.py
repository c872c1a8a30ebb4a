"""The supervisor with stand-in parts: real processes, small ones."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from farm.embedded.beat import Beat
from farm.embedded.home import Home
from farm.embedded.identity import Identity
from farm.embedded.service import Service
from farm.embedded.services import Plan
from farm.embedded.state import FarmState, Part, Phase, read
from farm.embedded.supervisor import Supervisor

READY = "import pathlib, time; pathlib.Path(NAME + '.ready').touch(); time.sleep(600)"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.prepare()
    return made


class Farm:
    """Makes parts out of a few lines of Python and watches what the supervisor tells."""

    def __init__(self, home: Home) -> None:
        self.home = home

    def part(
        self, name: str, before: str = "", then: str = READY, *, needs: tuple[str, ...] = (), **how: object
    ) -> Service:
        """A part that runs `before`, and `then` says that it is ready and stays."""
        marker = self.home.run / f"{name}.ready"
        lines = (
            f"import os; os.chdir({str(self.home.run)!r}); NAME = {name!r}\n{textwrap.dedent(before)}\n{then}"
        )
        return Service(
            name=name,
            command=(sys.executable, "-I", "-S", "-W", "ignore", "-c", lines),
            environment=dict(os.environ),
            ready=marker.exists,
            needs=needs,
            **{"grace": 2.0, "sockets": (marker,), **how},  # type: ignore[arg-type]
        )

    @property
    def state(self) -> FarmState:
        found = read(self.home.state)
        assert found is not None
        return found

    def told(self, name: str) -> Part:
        return next(part for part in self.state.parts if part.name == name)

    async def until(self, what: Callable[[], bool], seconds: float = 30) -> None:
        async with asyncio.timeout(seconds):
            while not what():
                await asyncio.sleep(0.02)


@pytest.fixture
def farm(home: Home) -> Farm:
    return Farm(home)


@asynccontextmanager
async def supervised(farm: Farm, *services: Service) -> AsyncIterator[asyncio.Task[int]]:
    supervisor = Supervisor(farm.home, Plan(url="http://127.0.0.1:1", ports={}, services=services))
    running = asyncio.create_task(supervisor.run())
    await farm.until(farm.home.state.exists)
    try:
        yield running
    finally:
        supervisor.stop()
        await running


async def test_all_parts_are_started_and_all_are_ended(farm: Farm) -> None:
    async with supervised(farm, farm.part("storage"), farm.part("web")):
        await farm.until(lambda: farm.state.phase is Phase.READY)
        found = [Identity.of(part.pid) for part in farm.state.parts if part.pid]
        assert len(found) == 2

    assert not any(process.alive for process in found)
    assert [part.phase for part in farm.state.parts] == [Phase.STOPPED, Phase.STOPPED]
    assert not list(farm.home.run.glob("*.ready"))


async def test_a_part_waits_for_those_it_needs(farm: Farm) -> None:
    slow = "import time\nwhile not os.path.exists('go'): time.sleep(0.01)"
    async with supervised(farm, farm.part("storage", slow), farm.part("dispatcher", needs=("storage",))):
        await farm.until(lambda: farm.told("storage").phase is Phase.STARTING)
        assert farm.told("dispatcher").phase is Phase.WAITING
        assert farm.told("dispatcher").pid is None

        (farm.home.run / "go").touch()
        await farm.until(lambda: farm.state.phase is Phase.READY)


async def test_a_part_that_is_killed_comes_back_and_the_others_stay(farm: Farm) -> None:
    async with supervised(farm, farm.part("storage"), farm.part("web")):
        await farm.until(lambda: farm.state.phase is Phase.READY)
        before, beside = farm.told("web").pid, farm.told("storage").pid
        assert before is not None

        os.kill(before, signal.SIGKILL)
        await farm.until(lambda: farm.told("web").restarts == 1 and farm.told("web").phase is Phase.READY)

        assert farm.told("web").pid != before
        assert farm.told("storage").pid == beside


async def test_a_part_falls_with_the_one_that_bears_it_and_comes_back_after_it(farm: Farm) -> None:
    borne = farm.part("dispatcher", needs=("storage", "ray"), falls_with=("ray",))
    async with supervised(farm, farm.part("storage"), farm.part("ray"), borne):
        await farm.until(lambda: farm.state.phase is Phase.READY)
        before, ray, storage = (farm.told(name).pid for name in ("dispatcher", "ray", "storage"))
        assert before is not None
        assert ray is not None
        assert storage is not None
        found = Identity.of(before)

        os.kill(storage, signal.SIGKILL)
        await farm.until(lambda: farm.told("storage").restarts == 1)
        assert found.alive, "it needs storage only to start"
        os.kill(ray, signal.SIGKILL)
        await farm.until(lambda: not found.alive)
        await farm.until(lambda: farm.told("dispatcher").pid not in (None, before))
        await farm.until(lambda: farm.told("dispatcher").phase is Phase.READY)

        assert farm.told("ray").phase is Phase.READY


async def test_a_part_whose_heart_stops_is_killed_and_comes_back(farm: Farm) -> None:
    heart = """
        import pathlib, threading, time
        def beat():
            while True:
                pathlib.Path("beat").touch()
                time.sleep(0.1)
        threading.Thread(target=beat, daemon=True).start()
    """
    beat = Beat(farm.home.run / "beat", patience=1.0)
    async with supervised(farm, farm.part("dispatcher", heart, goes_on=beat.goes_on)):
        await farm.until(lambda: farm.state.phase is Phase.READY)
        before = farm.told("dispatcher").pid
        assert before is not None
        await asyncio.sleep(2.5)  # while it beats, it is left alone
        assert farm.told("dispatcher").pid == before

        os.kill(before, signal.SIGSTOP)
        await farm.until(lambda: farm.told("dispatcher").restarts == 1)
        assert farm.told("dispatcher").last[-1] == "it had stopped: its heart did not beat any more."
        await farm.until(lambda: farm.told("dispatcher").phase is Phase.READY)
        assert farm.told("dispatcher").pid != before


async def test_what_a_part_left_in_its_session_goes_before_it_comes_back(farm: Farm) -> None:
    parent = """
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"])
        pathlib = __import__("pathlib")
        pathlib.Path("child").write_text(str(child.pid))
    """
    async with supervised(farm, farm.part("ray", parent)):
        await farm.until(lambda: farm.state.phase is Phase.READY)
        child = Identity.of(int((farm.home.run / "child").read_text()))
        before = farm.told("ray").pid
        assert before is not None
        assert child.alive

        os.kill(before, signal.SIGKILL)
        await farm.until(lambda: farm.told("ray").restarts == 1)

        assert not child.alive


async def test_a_part_that_cannot_start_ends_the_farm_with_its_last_words(farm: Farm) -> None:
    broken = "raise SystemExit('the disk is made of cheese')"
    async with supervised(farm, farm.part("storage"), farm.part("web", broken)) as running:
        assert await asyncio.wait_for(running, 30) == 1
        found = farm.state

    assert found.phase is Phase.FAILED
    assert found.what == "The page could not be started: the disk is made of cheese"
    assert str(farm.home.logs / "web.log") in found.cure
    assert farm.told("web").restarts == 3
    assert farm.told("storage").phase is Phase.STOPPED


async def test_the_cure_that_a_part_knew_is_handed_on(farm: Farm) -> None:
    broken = "raise SystemExit('The disk is made of cheese.\\nTake one of metal.')"
    async with supervised(farm, farm.part("web", broken)) as running:
        assert await asyncio.wait_for(running, 30) == 1

    assert farm.state.what == "The page could not be started: The disk is made of cheese."
    assert farm.state.cure.startswith("Take one of metal. The whole log is in ")


async def test_a_part_that_never_gets_ready_ends_the_farm(farm: Farm) -> None:
    deaf = farm.part("web", then="import time; time.sleep(600)", patience=0.3)
    async with supervised(farm, deaf) as running:
        assert await asyncio.wait_for(running, 30) == 1
        assert farm.state.phase is Phase.FAILED


async def test_a_part_that_keeps_ending_later_is_told_about_and_not_given_up(farm: Farm) -> None:
    once = """
        import pathlib, time
        if pathlib.Path("broken").exists():
            raise SystemExit("no more")
    """
    async with supervised(farm, farm.part("storage"), farm.part("web", once)) as running:
        await farm.until(lambda: farm.state.phase is Phase.READY)
        (farm.home.run / "broken").touch()
        pid = farm.told("web").pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

        await farm.until(lambda: farm.told("web").restarts >= 3)

        assert farm.told("web").phase in (Phase.FAILING, Phase.STARTING)
        assert farm.told("web").last[-1] == "no more"
        assert not running.done()
        (farm.home.run / "broken").unlink()
        await farm.until(lambda: farm.told("web").phase is Phase.READY)


async def test_a_part_for_whose_folders_there_is_no_room_starts_once_there_is(farm: Farm) -> None:
    folder = farm.home.run / "sessions" / "ray"
    async with supervised(farm, farm.part("web"), farm.part("ray", fresh=(folder,))):
        await farm.until(lambda: farm.state.phase is Phase.READY)
        before = farm.told("ray").pid
        assert before is not None
        folder.rmdir()
        folder.parent.rmdir()
        folder.parent.touch()  # as a full disk, no folder can be made there

        os.kill(before, signal.SIGKILL)
        await farm.until(lambda: farm.told("ray").restarts >= 2)
        assert farm.told("ray").last[-1] == "it could not be started: Not a directory."
        assert farm.told("ray").phase is Phase.FAILING

        folder.parent.unlink()
        await farm.until(lambda: farm.told("ray").phase is Phase.READY)
        assert farm.state.phase is Phase.READY


async def test_what_a_full_disk_kept_from_being_told_is_told_once_there_is_room(
    farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("farm.embedded.supervisor._ROTATE_EVERY", 0.05)
    write = FarmState.write
    full, marker = asyncio.Event(), farm.home.run / "web.ready"

    def written(state: FarmState, path: Path) -> None:
        if full.is_set():
            raise OSError(28, "No space left on device")
        write(state, path)

    monkeypatch.setattr(FarmState, "write", written)
    async with supervised(farm, farm.part("web")):
        await farm.until(lambda: farm.state.phase is Phase.READY)
        before = farm.told("web").pid
        assert before is not None
        found = Identity.of(before)
        full.set()
        os.kill(before, signal.SIGKILL)
        await farm.until(lambda: not found.alive)
        await farm.until(lambda: not marker.exists())
        await farm.until(marker.exists)
        await asyncio.sleep(0.5)  # it is looked at ten times a second: from here on there is no news
        assert farm.told("web").restarts == 0, "nobody could tell"

        full.clear()
        await farm.until(lambda: farm.told("web").restarts == 1 and farm.told("web").phase is Phase.READY)


async def test_a_part_that_does_not_listen_to_sigterm_is_killed_after_its_grace(farm: Farm) -> None:
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    async with supervised(farm, farm.part("web", stubborn, grace=0.2)):
        await farm.until(lambda: farm.state.phase is Phase.READY)
        pid = farm.told("web").pid
        assert pid is not None
        found = Identity.of(pid)

    assert not found.alive


async def test_storage_ends_after_those_that_use_it(farm: Farm) -> None:
    told = """
        import signal, sys
        def end(*_):
            with open("order", "a") as file:
                file.write(NAME + " ")
            sys.exit(0)
        signal.signal(signal.SIGTERM, end)
    """
    parts = [farm.part("storage", told, last_to_go=True), farm.part("web", told)]
    async with supervised(farm, *parts):
        await farm.until(lambda: farm.state.phase is Phase.READY)

    assert (farm.home.run / "order").read_text() == "web storage "
