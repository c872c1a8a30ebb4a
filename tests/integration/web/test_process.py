"""``python -m web`` as the supervisor starts it, on the real service and SQLite."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

SECRET = "hunter2-very-secret"


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {
        "HOME": str(home),
        "FARM_HOME": str(home),
        "FARM_STORAGE__ENDPOINT": "http://127.0.0.1:9",  # nothing answers there
        "FARM_STORAGE__ACCESS_KEY": "key",
        "FARM_STORAGE__SECRET_KEY": SECRET,
        **more,
    }


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.fixture
def web(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str, Path]]:
    port, log = free_port(), tmp_path / "web.log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "web"],
            env=environment(tmp_path, FARM_PORT=str(port)),
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            text=True,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                httpx.get(f"{url}/healthz", timeout=5)
                break
            except httpx.TransportError:
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
        yield process, url, log
    finally:
        process.kill()
        process.wait()


def test_it_serves_the_real_farm_and_stops_soon_with_a_stream_open(
    web: tuple[subprocess.Popen[str], str, Path],
) -> None:
    process, url, log = web
    assert httpx.get(f"{url}/api/jobs", timeout=20).json() == []
    pulse = httpx.get(f"{url}/api/farm", timeout=20).json()
    assert (pulse["dispatcher"], pulse["storage"]) == ("away", "away")
    assert "Storage is away" in httpx.get(f"{url}/", timeout=20).text
    missing = httpx.get(f"{url}/api/jobs/nope2345", timeout=20)
    assert (missing.status_code, missing.json()["code"]) == (404, "not-found")
    blob = httpx.put(f"{url}/api/blobs/{'a' * 64}", content=b"x", timeout=60)
    assert (blob.status_code, blob.json()["code"]) == (503, "unavailable")

    with httpx.stream("GET", f"{url}/api/events/stream", timeout=20) as answer:
        assert next(answer.iter_lines()).startswith(":")
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    said = log.read_text()
    assert "Traceback" not in said
    assert SECRET not in said


@pytest.mark.parametrize(
    ("settings", "code", "words"),
    [
        ({"FARM_HOST": "0.0.0.0"}, 2, "it has no sign-in yet"),  # noqa: S104
        ({"FARM_HOST": "no-such-host.invalid"}, 2, "no such address"),
        ({"FARM_PORT": "x"}, 2, "cannot be read: port"),
    ],
)
def test_settings_that_cannot_work_are_told_in_two_lines(
    tmp_path: Path, settings: dict[str, str], code: int, words: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "web"],
        env=environment(tmp_path, **settings),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 2


def test_a_taken_port_is_told_in_two_lines(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "web"],
            env=environment(tmp_path, FARM_PORT=str(port)),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert f"port {port}" in done.stderr
    assert "Traceback" not in done.stderr
    assert json.dumps(SECRET) not in done.stderr
