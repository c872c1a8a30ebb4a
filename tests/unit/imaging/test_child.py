"""What all children share, without a process: requests in, answers out."""

from __future__ import annotations

import errno
import io
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from workers.child import Link, Refusal, peak_memory, serve
from workers.protocol import MAX_LINE, Beat, Count, Done, Failed, Message, Open, Ready, Shrink, decode, encode

READY = Ready(program="imaging", version="1")
ASKED = Shrink("/a.png", "/b.jpg", 10)


def served(source: bytes, handler: Any) -> tuple[int, list[Message]]:
    """The exit code, and what was sent without the beats."""
    sink = io.BytesIO()
    code = serve(Link(io.BytesIO(source), sink), READY, {Shrink: handler})
    messages = [decode(line) for line in sink.getvalue().splitlines()]
    assert messages[0] == READY
    return code, [message for message in messages[1:] if not isinstance(message, Beat)]


def failing(error: BaseException) -> Any:
    def handler(request: Shrink, link: Link) -> Done:
        raise error

    return handler


def done(request: Shrink, link: Link) -> Done:
    return Done(outputs=[request.out])


def test_each_request_has_one_answer_in_order() -> None:
    other = Shrink("/a.png", "/c.jpg", 10)

    code, answers = served(encode(ASKED) + encode(other), done)

    assert code == 0
    assert [answer.outputs for answer in answers if isinstance(answer, Done)] == [["/b.jpg"], ["/c.jpg"]]
    assert len(answers) == 2


def test_a_done_carries_the_most_memory_that_was_used() -> None:
    _, (answer,) = served(encode(ASKED), done)

    assert isinstance(answer, Done)
    assert answer.peak_memory > 1_000_000


def test_a_handler_may_count_before_it_answers() -> None:
    def counting(request: Shrink, link: Link) -> Done:
        link.send(Count("merging", 1, 2))
        return Done()

    _, answers = served(encode(ASKED), counting)

    assert [type(answer) for answer in answers] == [Count, Done]


def test_a_refusal_is_told_in_its_own_words() -> None:
    _, answers = served(encode(ASKED), failing(Refusal("bad-result", "It is cut short.", "Render it again.")))

    assert answers == [Failed("bad-result", "It is cut short.", "Render it again.")]


def test_an_unexpected_fault_shows_its_traceback_in_the_log_only_and_the_loop_goes_on(
    capfd: pytest.CaptureFixture[str],
) -> None:
    code, answers = served(encode(ASKED) * 2, failing(ZeroDivisionError("secret detail")))

    assert code == 0
    expected = Failed("internal", "Shrink failed for a reason of its own.", "The worker's log tells more.")
    assert answers == [expected, expected]
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("ZeroDivisionError: secret detail") == 2


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_as_such(number: int) -> None:
    _, (answer,) = served(encode(ASKED), failing(OSError(number, "No space left on device")))

    assert isinstance(answer, Failed)
    assert (answer.cause, answer.what) == ("disk-full", "The worker's disk is full.")
    assert answer.cure


def test_too_little_memory_is_told_as_such() -> None:
    _, (answer,) = served(encode(ASKED), failing(MemoryError()))

    assert isinstance(answer, Failed)
    assert answer.cause == "out-of-memory"


def test_another_fault_of_the_system_is_internal() -> None:
    _, (answer,) = served(encode(ASKED), failing(PermissionError(errno.EACCES, "Permission denied")))

    assert answer == Failed(
        "internal", "Shrink failed: [Errno 13] Permission denied", "The worker's log tells more."
    )


def test_a_request_without_a_handler_is_answered_too() -> None:
    code, answers = served(encode(Open("/a.blend")) + encode(ASKED), done)

    assert code == 0
    assert answers[0] == Failed("internal", "This process does not know how to answer Open.")
    assert isinstance(answers[1], Done)


@pytest.mark.parametrize(
    "line",
    [b"hello\n", b"\n", b'{"kind":"Shrink"}\n', encode(Beat()), b'{"kind":"Open","path":"' + b"a" * MAX_LINE],
    ids=["no JSON", "empty", "fields missing", "an answer", "too long"],
)
def test_what_is_no_request_ends_the_loop_with_a_reason(line: bytes) -> None:
    code, answers = served(line + encode(ASKED), done)

    assert code == 2
    assert [type(answer) for answer in answers] == [Failed]
    assert answers[0].cause == "internal"  # type: ignore[union-attr]
    assert "something that it cannot read" in answers[0].what  # type: ignore[union-attr]


def test_no_beat_follows_the_end() -> None:
    before = threading.active_count()

    served(b"", done)

    assert threading.active_count() == before


def test_a_parent_that_closed_its_end_is_noticed_behind_what_is_unread() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as source:
        link = Link(source, io.BytesIO())
        os.write(write, b"unread")
        assert link.hung_up is False
        os.close(write)
        assert link.hung_up is True
    assert Link(io.BytesIO(), io.BytesIO()).hung_up is False


def test_the_memory_of_this_process_is_read_from_the_kernel() -> None:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)

    assert abs(peak_memory() - int(line.split()[1]) * 1024) < 64 * 1024 * 1024
