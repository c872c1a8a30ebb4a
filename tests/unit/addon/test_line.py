from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator

import pytest

from addon.line import Line, address, is_local
from addon.trouble import Stopped, Trouble
from tests.unit.addon.server import Answer, Call, serving


def problem(status: int, detail: str, cure: str = "") -> Answer:
    return Answer(status, json.dumps({"detail": detail, "cure": cure}).encode())


def test_a_token_is_sent_where_there_is_one() -> None:
    with serving(lambda call: Answer()) as (url, calls):
        Line(url, "s3cret").ask("GET", "/api/farm")
        Line(url).ask("GET", "/api/farm")
    assert [call.headers.get("authorization") for call in calls] == ["Bearer s3cret", None]


def test_the_farm_s_own_words_are_told() -> None:
    wrong = problem(422, "It is wrong.", "Do it right.")
    with serving(lambda call: wrong) as (url, _), pytest.raises(Trouble) as told:
        Line(url).ask("GET", "/api/farm")
    assert (told.value.what, told.value.cure, told.value.away) == ("It is wrong.", "Do it right.", False)


def test_a_farm_that_never_answered_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(Trouble, match=f"No farm answers at {url}") as told:
        Line(url).ask("GET", "/api/farm")
    assert told.value.away
    assert told.value.cure


def test_a_line_that_breaks_is_tried_again_and_said() -> None:
    told: list[str] = []
    broken = iter([False, True, True, False])
    with serving(lambda call: Answer(cut=next(broken))) as (url, calls):
        line = Line(url, told=told.append)
        line.ask("GET", "/api/farm")
        assert line.ask("POST", "/api/scenes", {"a": 1}) == {}
    assert [call.body for call in calls[1:]] == [b'{"a": 1}'] * 3
    assert told == ["", *[f"The line to the farm at {url} broke. Trying again."] * 2, ""]


def test_what_may_have_arrived_is_not_sent_twice() -> None:
    broken = iter([False, True])
    with serving(lambda call: Answer(cut=next(broken))) as (url, calls):
        line = Line(url)
        line.ask("GET", "/api/farm")
        with pytest.raises(Trouble, match="broke"):
            line.ask("POST", "/api/jobs", {}, again=False)
    assert len(calls) == 2


def test_a_farm_that_stays_away_is_told_when_patience_ends() -> None:
    answers = iter([Answer(), *[problem(503, "Storage is away.")] * 9])
    with serving(lambda call: next(answers)) as (url, calls):
        line = Line(url, patience=1)
        line.ask("GET", "/api/farm")
        with pytest.raises(Trouble, match="Storage is away"):
            line.ask("GET", "/api/farm")
    assert len(calls) == 3  # the first pause is half a second, the next one too long


def test_waiting_for_a_farm_ends_when_the_artist_stops() -> None:
    stopped = threading.Event()
    answers = iter([Answer(), *[Answer(cut=True)] * 9])
    with serving(lambda call: next(answers)) as (url, _):
        line = Line(url, stopped=stopped, told=lambda words: stopped.set() if words else None)
        line.ask("GET", "/api/farm")
        with pytest.raises(Stopped):
            line.ask("GET", "/api/farm")


def test_a_blob_is_sent_anew_from_its_start() -> None:
    broken = iter([False, True, False])
    with serving(lambda call: Answer(cut=next(broken))) as (url, calls):
        line = Line(url)
        line.ask("GET", "/api/farm")
        line.put("/api/blobs/x", lambda: iter([b"ab", b"cd"]), 4)
    assert [(call.method, call.body) for call in calls[1:]] == [("PUT", b"abcd")] * 2


def test_a_refusal_in_the_middle_of_an_upload_is_heard() -> None:
    def answer(call: Call) -> Answer:
        full = problem(507, "No room left.", "Free some space.")
        full.early = True
        return full

    def pieces() -> Iterator[bytes]:
        for _ in range(200):
            yield bytes(1 << 20)

    with serving(answer) as (url, _), pytest.raises(Trouble, match="No room left"):
        Line(url).put("/api/blobs/x", pieces, 200 << 20)


def test_a_token_is_not_carried_to_where_an_answer_points() -> None:
    with (
        serving(lambda call: Answer()) as (other, never),
        serving(lambda call: Answer(302, headers={"Location": other})) as (url, _),
        pytest.raises(Trouble, match=f"sends on to {other}"),
    ):
        Line(url, "s3cret").ask("GET", "/api/farm")
    assert never == []


@pytest.mark.parametrize(
    ("status", "said"), [(200, "does not speak"), (404, "does not speak"), (401, "let you in")]
)
def test_what_is_no_farm_is_told(status: int, said: str) -> None:
    with serving(lambda call: Answer(status, b"<html>")) as (url, _), pytest.raises(Trouble, match=said):
        Line(url).ask("GET", "/api/farm")


def test_a_download_that_breaks_is_away() -> None:
    cut = Answer(body=b"abc", headers={"Content-Length": "9"})
    with serving(lambda call: cut) as (url, _), pytest.raises(Trouble, match="broke") as told:
        list(Line(url).stream("/api/outputs/1"))
    assert told.value.away


def test_addresses_are_read_as_people_write_them() -> None:
    assert address(" 127.0.0.1:8080/ ") == "http://127.0.0.1:8080"
    assert address("https://farm.example/tessera/") == "https://farm.example/tessera"
    for bad in ("", "ftp://farm", "http://", "http://farm:99999", "http://[", "http://farm/?a=1"):
        with pytest.raises(Trouble, match="is not the address of a farm"):
            address(bad)


def test_this_machine_is_local() -> None:
    assert all(map(is_local, ("http://localhost:1", "http://127.0.0.2", "http://[::1]:80")))
    assert not any(map(is_local, ("http://farm", "http://10.0.0.1", "http://127.example")))
