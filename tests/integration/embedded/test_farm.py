"""The farm of one machine, whole: started, hurt, stopped."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import SecretStr

from farm.domain.errors import StorageFull, TesseraError, UsageError
from farm.embedded import stack
from farm.embedded.home import Home
from farm.embedded.stack import RunningFarm
from farm.embedded.state import Part, Phase
from farm.settings import Settings, StorageSettings
from farm.storage import S3Storage, open_storage

pytestmark = pytest.mark.timeout(300)


def until(what: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


def everything(farm: RunningFarm) -> list[psutil.Process]:
    """The guardian, the supervisor, and all that they started, to the last child."""
    guardian = psutil.Process(farm.pid).parent()
    assert guardian is not None
    return [guardian, *guardian.children(recursive=True)]


def part(home: Path, name: str) -> Part:
    found = stack.running(home)
    assert found is not None
    return next(one for one in found.parts if one.name == name)


def storage_of(home: Path) -> S3Storage:
    access, secret = Home(home).access_keys()
    port = _state(home).ports["s3"]
    return open_storage(
        StorageSettings(endpoint=f"http://127.0.0.1:{port}", access_key=access, secret_key=SecretStr(secret))
    )


def _state(home: Path):
    from farm.embedded.state import read

    found = read(Home(home).state)
    assert found is not None
    return found


def gone(processes: list[psutil.Process]) -> bool:
    return not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes)


def nothing_left(home: Path) -> bool:
    """No socket, and no process that names the home or its sockets."""
    marks = (str(home), str(Home(home).sockets))
    for process in psutil.process_iter(["cmdline"]):
        if process.pid != os.getpid() and any(
            mark in word for word in process.info["cmdline"] or () for mark in marks
        ):
            return False
    return not Home(home).sockets.exists()


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tessera ö "))
    yield folder
    stack.stop(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def farm(home: Path) -> RunningFarm:
    """Started by two at once, as two terminals would."""
    told: list[str] = []
    lock = threading.Lock()

    def start(_: int) -> RunningFarm:
        def say(step: str) -> None:
            with lock:
                told.append(step)

        return stack.start(Settings(home=home), workers=1, on_step=say)

    with ThreadPoolExecutor(2) as pool, pytest.MonkeyPatch.context() as owner:
        owner.setenv("FARM_WORKER_TAGS", "studio-b")
        first, second = pool.map(start, range(2))
    assert first.pid == second.pid
    assert "The page is up." in told
    return first


def test_a_farm_that_is_up_has_all_its_parts(farm: RunningFarm, home: Path) -> None:
    assert farm.ready
    assert [one.name for one in farm.parts] == ["storage", "ray", "dispatcher", "web"]
    assert all(one.phase is Phase.READY for one in farm.parts)
    assert stack.running(home) == farm


def test_what_the_owner_says_where_the_farm_is_started_reaches_those_that_start_its_workers(
    farm: RunningFarm, home: Path
) -> None:
    pid = part(home, "ray").pid
    assert pid is not None
    assert psutil.Process(pid).environ()["FARM_WORKER_TAGS"] == "studio-b"


def test_nothing_listens_where_other_machines_could_reach_it(farm: RunningFarm) -> None:
    listening = [
        connection.laddr.ip
        for process in everything(farm)
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    ]

    assert len(listening) > 10
    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def test_a_second_start_gives_the_farm_that_runs(farm: RunningFarm, home: Path) -> None:
    assert stack.start(Settings(home=home)).pid == farm.pid


def test_storage_that_is_killed_comes_back_with_what_it_took(farm: RunningFarm, home: Path) -> None:
    store = storage_of(home)
    taken = {f"kept/{number}": os.urandom(50_000 + number) for number in range(40)}
    for key, data in taken.items():
        store.put_stream(key, [data])
    before = part(home, "storage")
    assert before.pid is not None

    os.kill(before.pid, signal.SIGKILL)
    until(lambda: part(home, "storage").restarts == before.restarts + 1)
    until(lambda: part(home, "storage").phase is Phase.READY)

    assert {key: b"".join(store.stream(key)) for key in taken} == taken
    store.put_stream("kept/after", [b"and takes more"])


@pytest.mark.parametrize("name", ["web", "dispatcher", "ray"])
def test_a_part_that_is_killed_comes_back(farm: RunningFarm, home: Path, name: str) -> None:
    before = part(home, name)
    assert before.pid is not None
    below = psutil.Process(before.pid).children(recursive=True)

    os.kill(before.pid, signal.SIGKILL)
    until(lambda: part(home, name).restarts > before.restarts and part(home, name).phase is Phase.READY)

    assert gone(below)
    running = stack.running(home)
    assert running is not None
    assert running.pid == farm.pid


def test_a_stopped_farm_leaves_nothing_and_the_next_one_finds_its_state(
    farm: RunningFarm, home: Path
) -> None:
    processes = everything(farm)
    storage_of(home).put_stream("before the stop", [b"kept"])

    assert stack.stop(home) is True
    assert gone(processes)
    assert nothing_left(home)
    assert stack.running(home) is None
    assert stack.stop(home) is False

    again = stack.start(Settings(home=home), workers=1)
    assert again.url == farm.url
    assert b"".join(storage_of(home).stream("before the stop")) == b"kept"

    # And now the hard way.
    processes = everything(again)
    assert len(processes) > 8
    os.kill(again.pid, signal.SIGKILL)
    until(lambda: gone(processes), 10)
    until(lambda: nothing_left(home), 10)
    assert stack.running(home) is None


def test_what_a_killed_guardian_left_goes_with_the_next_stop(home: Path) -> None:
    farm = stack.start(Settings(home=home), workers=1)
    processes = everything(farm)

    processes[0].kill()
    until(lambda: stack.running(home) is None, 10)
    stack.stop(home)

    until(lambda: gone(processes), 10)
    assert nothing_left(home)


def test_a_port_in_use_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(TesseraError, match=f"Port {port} on 127.0.0.1 is taken"):
            stack.start(Settings(home=tmp_path, port=port))

    assert stack.running(tmp_path) is None
    assert not Home(tmp_path).state.exists()


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"storage": {"endpoint": "http://127.0.0.1:9"}}, "No storage answers at http://127.0.0.1:9."),
        ({"storage": {"endpoint": "s3://bucket"}}, "“s3://bucket” is not the address of a store."),
        ({"ray_address": "127.0.0.1:9"}, "No Ray cluster answers at 127.0.0.1:9."),
        ({"ray_address": "auto"}, "“auto” is not the address of a Ray cluster."),
    ],
)
def test_a_part_elsewhere_that_does_not_answer_is_named_before_anything_is_started(
    tmp_path: Path, given: dict[str, Any], what: str
) -> None:
    with pytest.raises(TesseraError) as told:
        stack.start(Settings(home=tmp_path, **given))

    assert told.value.what == what
    assert "leave FARM_" in told.value.cure
    assert not Home(tmp_path).state.exists()


def test_a_farm_that_others_could_reach_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no sign-in") as told:
        stack.start(Settings(home=tmp_path, host="0.0.0.0"))  # noqa: S104

    assert "SSH tunnel" in told.value.cure
    assert not Home(tmp_path).state.exists()


def test_a_part_that_cannot_start_is_named_and_nothing_is_left_running(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    nowhere = f"sqlite:///{tmp_path}/file/farm.sqlite3"

    with pytest.raises(TesseraError, match="The page could not be started: ") as told:
        stack.start(Settings(home=tmp_path, database_url=nowhere))

    assert str(tmp_path) in told.value.cure
    assert stack.running(tmp_path) is None
    until(lambda: nothing_left(tmp_path), 15)


def test_a_full_disk_is_refused_with_a_cure(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root may mount a small disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        with pytest.raises(StorageFull, match="MB are free") as told:
            stack.start(Settings(home=tmp_path / "home"))
        (tmp_path / "rest").touch()
        with (tmp_path / "rest").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
            while True:
                file.write(b"x" * 65536)
        with pytest.raises(StorageFull):
            stack.start(Settings(home=tmp_path / "home"))
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)

    assert "FARM_HOME" in told.value.cure


@pytest.mark.parametrize("seconds", [0.0, 2.0])
def test_a_start_that_is_interrupted_leaves_nothing(tmp_path: Path, seconds: float) -> None:
    starting = subprocess.Popen(
        [sys.executable, "-P", "-m", "farm.cli", "up"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "FARM_HOME": str(tmp_path)},
        start_new_session=True,
    )
    assert starting.stdout is not None
    assert starting.stdout.readline() == "Starting the farm …\n"
    time.sleep(seconds)
    os.killpg(starting.pid, signal.SIGINT)
    out, err = starting.communicate(timeout=60)

    assert (starting.returncode, err) == (130, "Interrupted.\n")
    assert "Its page" not in out
    assert stack.running(tmp_path) is None
    until(lambda: nothing_left(tmp_path), 15)
