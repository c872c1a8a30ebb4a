"""The small pieces of the embedded farm, each by itself."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from farm.domain.errors import TesseraError, UsageError
from farm.embedded import libraries, logs, stack
from farm.embedded.home import Home
from farm.embedded.identity import Identity, session
from farm.embedded.ports import check, check_host, find_free, is_free
from farm.embedded.services import carried, plan, variables
from farm.embedded.state import FarmState, Part, Phase, read
from farm.settings import Settings, StorageSettings


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path / "a farm’s home")
    made.prepare()
    made.make_sockets()
    yield made
    shutil.rmtree(made.sockets, ignore_errors=True)


# --- the home ---------------------------------------------------------------------------------


def test_a_home_is_for_its_owner_alone(home: Home) -> None:
    folders = (home.root, home.logs, home.run, home.storage, home.sockets, home.sockets.parent)

    assert {mode(folder) for folder in folders} == {0o700}


def test_keys_are_made_once_and_read_by_nobody_else(home: Home) -> None:
    first = home.access_keys()

    assert home.access_keys() == first
    assert all(len(part) >= 20 for part in first)
    assert mode(home.root / "storage-keys.json") == 0o600
    assert home.ray_token().read_text() == home.ray_token().read_text()
    assert mode(home.ray_token()) == 0o600


def test_two_homes_have_keys_and_sockets_of_their_own(home: Home, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")
    other.prepare()

    assert other.access_keys() != home.access_keys()
    assert other.sockets != home.sockets


def test_sockets_lie_on_a_short_path_however_long_the_home_is(tmp_path: Path) -> None:
    session_of_ray = "/ray/session_2030-12-31_23-59-59_999999_4194304/sockets/plasma_store"
    home = Home(tmp_path / ("long" * 50) / "ü")

    assert len(str(home.sockets) + session_of_ray) < 107  # unix(7): what a socket's path may have


def test_a_home_that_is_a_file_is_refused_with_a_cure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(TesseraError, match="cannot use") as told:
        Home(tmp_path / "file" / "home").prepare()

    assert "FARM_HOME" in told.value.cure


# --- processes --------------------------------------------------------------------------------


def test_a_process_is_known_by_more_than_its_pid() -> None:
    here = Identity.of(os.getpid())

    assert here.alive
    assert not here.model_copy(update={"ticks": here.ticks + 1}).alive
    assert not here.model_copy(update={"boot": "another boot"}).alive


def test_a_process_that_ended_is_not_alive_though_nobody_has_reaped_it() -> None:
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE)
    found = Identity.of(child.pid)
    assert found.alive

    found.signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert not found.alive
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        Identity.of(child.pid)


def test_a_signal_never_reaches_a_process_that_took_over_the_pid() -> None:
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE)
    stale = Identity.of(child.pid).model_copy(update={"ticks": 1})

    stale.signal(signal.SIGKILL)
    child.communicate(b"\n")

    assert child.returncode == 0


def test_a_session_is_found_with_its_children() -> None:
    script = "import os; pid = os.fork(); print(pid, flush=True) if pid else None; input()"
    leader = subprocess.Popen(
        [sys.executable, "-I", "-S", "-W", "ignore", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert leader.stdout is not None
    child = int(leader.stdout.readline())

    assert sorted(session(leader.pid)) == sorted([leader.pid, child])

    leader.communicate("\n\n")


# --- ports ------------------------------------------------------------------------------------


def test_free_ports_are_different_and_can_be_used() -> None:
    found = find_free(20)

    assert len(set(found)) == 20
    assert all(is_free("127.0.0.1", port) for port in found)


def test_a_port_that_is_taken_is_refused_with_a_cure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(TesseraError, match=f"Port {port} on 127.0.0.1 is taken") as told:
            check("127.0.0.1", port)

        assert "--port" in told.value.cure
        assert not is_free("127.0.0.1", port)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_loopback_is_where_a_farm_may_serve(host: str) -> None:
    check_host(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "203.0.113.1", "no.such.host.invalid"])  # noqa: S104
def test_a_host_that_others_could_reach_is_refused(host: str) -> None:
    with pytest.raises(UsageError) as told:
        check_host(host)

    assert "127.0.0.1" in told.value.cure


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(TesseraError, match="cannot be used"):
        check("203.0.113.1", 8080)


# --- logs -------------------------------------------------------------------------------------


def test_a_long_log_is_moved_aside_while_its_writer_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "part.log"
    with path.open("ab", buffering=0) as writer:
        for round_ in range(4):
            writer.write(f"round {round_}\n".encode() * 10)
            logs.rotate(path, limit=50)
            writer.write(b"after\n")

    assert path.read_text() == "after\n"
    assert set((tmp_path / "part.log.1").read_text().splitlines()) == {"after", "round 3"}
    assert set((tmp_path / "part.log.2").read_text().splitlines()) == {"after", "round 2"}
    assert len(list(tmp_path.iterdir())) == 3


def test_the_end_of_a_log_has_no_empty_lines(tmp_path: Path) -> None:
    (tmp_path / "part.log").write_bytes(b"one\n\ntwo\n \nthr\xffee\n")

    assert logs.tail(tmp_path / "part.log", 2) == ("two", "thr�ee")
    assert logs.tail(tmp_path / "nothing.log", 2) == ()


# --- settings and state -----------------------------------------------------------------------


def test_settings_arrive_in_another_process_as_they_were_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Settings(
        home=tmp_path / "ho me",
        port=8123,
        database_url="postgresql+psycopg://farm@db/farm",
        storage=StorageSettings(
            endpoint="https://s3.example.org", bucket="b", access_key="a", secret_key=SecretStr("s")
        ),
        workers=3,
        scratch=tmp_path / "scratch",
        sandbox=False,
    )
    for name, value in carried(given).items():
        monkeypatch.setenv(name, value)

    assert Settings() == given


def test_parts_are_told_where_the_farms_own_storage_and_ray_are(home: Home) -> None:
    told = variables(Settings(home=home.root), home, {"s3": 1111, "ray": 2222, "web": 3333})

    assert told["FARM_STORAGE__ENDPOINT"] == "http://127.0.0.1:1111"
    assert (told["FARM_STORAGE__ACCESS_KEY"], told["FARM_STORAGE__SECRET_KEY"]) == home.access_keys()
    assert told["FARM_RAY_ADDRESS"] == "127.0.0.1:2222"
    assert told["FARM_PORT"] == "3333"
    assert told["FARM_DATABASE_URL"] == f"sqlite:///{home.root}/farm.sqlite3"


def test_a_store_and_a_cluster_that_are_named_are_used_and_none_started(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(
        home=home.root,
        ray_address="10.0.0.1:6379",
        storage=StorageSettings(endpoint="https://s3.example.org"),
    )

    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_ADDRESS", "elsewhere:6379")
    made = plan(settings)

    assert [service.name for service in made.services] == ["dispatcher", "web"]
    assert made.services[0].needs == made.services[0].falls_with == ()
    assert made.services[0].environment["FARM_RAY_ADDRESS"] == "10.0.0.1:6379"
    ray = {name: value for name, value in made.services[0].environment.items() if name.startswith("RAY_")}
    assert ray == {"RAY_AUTH_MODE": "token"}, "the cluster's key, and nothing of ours"


def test_everything_listens_on_this_machine_only_and_under_keys(home: Home) -> None:
    made = {service.name: service for service in plan(Settings(home=home.root)).services}

    assert list(made) == ["storage", "ray", "dispatcher", "web"]
    assert {"-ip=127.0.0.1", "-ip.bind=127.0.0.1"} <= set(made["storage"].command)
    assert "-master.telemetry=false" in made["storage"].command
    assert "--node-ip-address=127.0.0.1" in made["ray"].command
    assert made["ray"].environment["RAY_AUTH_MODE"] == "token"
    assert made["ray"].environment["RAY_USAGE_STATS_ENABLED"] == "0"
    assert not any(home.access_keys()[1] in part for part in made["storage"].command)
    assert "FARM_STORAGE__SECRET_KEY" not in made["ray"].environment
    assert made["dispatcher"].needs == ("storage", "ray")
    assert made["dispatcher"].falls_with == ("ray",)


def test_workers_hear_what_the_owner_of_the_machine_says_of_them(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FARM_WORKER_TAGS", "rtx")
    monkeypatch.setenv("FARM_LEND_HOURS", "sat,sun")
    monkeypatch.setenv("FARM_DATABASE_URL", "sqlite:///elsewhere")

    [ray] = [part for part in plan(Settings(home=home.root)).services if part.name == "ray"]

    told = {name: value for name, value in ray.environment.items() if name.startswith("FARM_")}
    assert told == {"FARM_HOME": str(home.root), "FARM_WORKER_TAGS": "rtx", "FARM_LEND_HOURS": "sat,sun"}


def test_a_proxy_for_the_world_does_not_come_between_the_parts(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example.org:3128")
    monkeypatch.setenv("no_proxy", "intern.example.org")

    web = plan(Settings(home=home.root)).services[-1]

    assert web.environment["NO_PROXY"] == "intern.example.org,127.0.0.1,localhost,::1"
    assert web.environment["no_proxy"] == web.environment["NO_PROXY"]


def test_the_page_keeps_its_port_from_start_to_start(home: Home) -> None:
    first = plan(Settings(home=home.root))

    assert plan(Settings(home=home.root)).url == first.url

    with socket.create_server(("127.0.0.1", first.ports["web"])):
        assert plan(Settings(home=home.root)).url != first.url


def test_state_is_read_as_it_was_written_by_its_owner_alone(tmp_path: Path) -> None:
    state = FarmState(
        phase=Phase.READY,
        url="http://127.0.0.1:1",
        supervisor=Identity.of(os.getpid()),
        started=1.5,
        parts=(Part(name="web", phase=Phase.FAILING, restarts=2, last=("boom",)),),
        ports={"web": 1},
    )
    state.write(tmp_path / "state.json")

    assert read(tmp_path / "state.json") == state
    assert mode(tmp_path / "state.json") == 0o600


@pytest.mark.parametrize("text", ["", "{", "{}", '{"phase": "ready"}'])
def test_a_state_that_cannot_be_read_is_no_farm(tmp_path: Path, text: str) -> None:
    home = Home(tmp_path)
    home.prepare()
    home.state.write_text(text)

    assert read(home.state) is None
    assert stack.running(tmp_path) is None
    assert stack.stop(tmp_path) is False


def test_a_pid_that_was_given_to_another_process_is_no_farm(home: Home) -> None:
    stale = Identity.of(os.getpid()).model_copy(update={"ticks": 1})
    FarmState(phase=Phase.READY, url="http://127.0.0.1:1", supervisor=stale, started=0).write(home.state)

    assert stack.running(home.root) is None
    assert stack.stop(home.root) is False


def test_a_farm_that_never_was_is_not_stopped(tmp_path: Path) -> None:
    assert stack.running(tmp_path / "nothing") is None
    assert stack.stop(tmp_path / "nothing") is False
    assert not (tmp_path / "nothing").exists()


# --- libraries --------------------------------------------------------------------------------


def test_missing_libraries_are_read_from_ldd_and_brought_by_one_line() -> None:
    told = (
        "\tlinux-vdso.so.1 (0x00007f2c448db000)\n"
        "\tlibXi.so.6 => not found\n"
        "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f2c1e41e000)\n"
        "\tlibX11.so.6 => not found\n"
        "\tlibXi.so.6 => not found\n"
    )

    lacking = libraries.parse(told)

    assert lacking == ["libX11.so.6", "libXi.so.6"]
    assert libraries.cure(lacking) == "apt-get install --yes libx11-6 libxi6"
    assert "libodd.so.1" in libraries.cure(["libodd.so.1"])
