"""Streams over real sockets: server-sent events and uploads."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from farm.domain.events import EventKind
from tests.integration.web.serving import serving
from tests.unit.web.fake_farm import FakeFarm


@pytest.fixture
def farm() -> FakeFarm:
    return FakeFarm()


@pytest.fixture
def url(farm: FakeFarm) -> Iterator[str]:
    with serving(farm) as address:
        yield address


def events(lines: Iterator[str], count: int) -> list[dict[str, str]]:
    """The next ``count`` server-sent events, as their fields; comments left out."""
    found: list[dict[str, str]] = []
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            if name not in ("", "retry"):
                fields[name] = value
        elif fields:
            found.append(fields)
            fields = {}
            if len(found) == count:
                break
    return found


def test_the_stream_carries_number_kind_and_value(url: str, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    with httpx.stream("GET", f"{url}/api/events/stream?after=0", timeout=10) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-cache"
        lines = answer.iter_lines()
        (first,) = events(lines, 1)
        assert (first["id"], first["event"]) == ("1", "job.state")
        assert json.loads(first["data"])["data"]["state"] == "waiting"
        farm.plan("a", "1-2")
        (second,) = events(lines, 1)
        assert (second["id"], second["event"]) == ("2", "job.planned")


def test_the_last_event_id_goes_before_after(url: str, farm: FakeFarm) -> None:
    for number in range(5):
        farm.event(EventKind.FRAME_STATE, None, frame=number)
    headers = {"Last-Event-ID": "3"}
    with httpx.stream("GET", f"{url}/api/events/stream?after=0", headers=headers, timeout=10) as answer:
        assert [event["id"] for event in events(answer.iter_lines(), 2)] == ["4", "5"]


def test_a_stream_of_one_job_carries_only_its_events(url: str, farm: FakeFarm) -> None:
    farm.add("one", "a")
    farm.add("two", "b")
    with httpx.stream("GET", f"{url}/api/events/stream?after=0&job=b", timeout=10) as answer:
        lines = answer.iter_lines()
        assert events(lines, 1)[0]["id"] == "2"
        farm.plan("a", "1")
        farm.plan("b", "1")
        assert events(lines, 1)[0]["id"] == "4"


def test_a_long_poll_wakes_with_the_event(url: str, farm: FakeFarm) -> None:
    timer = threading.Timer(0.3, lambda: farm.add("shot", "a"))
    timer.start()
    found = httpx.get(f"{url}/api/events?after=0&wait=30", timeout=40).json()
    timer.join()
    assert [event["sequence"] for event in found] == [1]


def test_stopping_does_not_wait_for_open_streams(farm: FakeFarm) -> None:
    with serving(farm) as url:
        stream = httpx.Client(timeout=10)
        answer = stream.send(stream.build_request("GET", f"{url}/api/events/stream"), stream=True)
        lines = answer.iter_lines()
        assert next(lines).startswith(":")
    assert list(lines) is not None  # the server ended it, so this returns
    stream.close()


def test_an_upload_reaches_the_farm_piece_by_piece(url: str, farm: FakeFarm) -> None:
    block = bytes(range(256)) * 1024
    content = block * 24  # 6 MiB
    name = hashlib.sha256(content).hexdigest()
    answer = httpx.put(f"{url}/api/blobs/{name}", content=(block for _ in range(24)), timeout=30)
    assert answer.status_code == 201
    assert farm.blobs[name] == content
    assert len(farm.chunks) >= 3
    assert max(farm.chunks) < 2 << 20


def test_head_leaves_the_connection_good_for_the_next_request(url: str, farm: FakeFarm) -> None:
    output = farm.store("a.png", bytes(3_000_000), "image/png")
    with httpx.Client(base_url=url, timeout=10) as client:
        for _ in range(3):
            answer = client.head(f"/api/outputs/{output.id}")
            assert (answer.status_code, answer.headers["content-length"]) == (200, "3000000")
            assert client.head("/api/events/stream").headers["content-type"].startswith("text/event-stream")
        part = client.get(f"/api/outputs/{output.id}", headers={"Range": "bytes=2999990-"})
        assert (part.status_code, part.content) == (206, bytes(10))


def test_pages_are_served_while_any_number_of_uploads_dawdle(url: str) -> None:
    host = url.removeprefix("http://")
    head = f"PUT /api/blobs/{'a' * 64} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\nabc"
    name, port = host.split(":")
    with ExitStack() as open_sockets:
        for _ in range(60):
            sender = open_sockets.enter_context(socket.create_connection((name, int(port))))
            sender.sendall(head.encode())
        for _ in range(10):
            assert httpx.get(f"{url}/api/jobs", timeout=5).status_code == 200
