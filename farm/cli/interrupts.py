"""Ctrl-C, and the moments when it has to wait."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import Any, Never

import typer

from farm.cli.speaker import Speaker, problem
from farm.domain.errors import Conflict


def end_as_interrupt() -> None:
    """Let a polite `kill` end the command as Ctrl-C does, so that it cleans up behind itself."""

    def interrupt(number: int, frame: FrameType | None) -> Never:
        del number, frame
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def answers_interrupts(command: Callable[..., None]) -> Callable[..., None]:
    """Let ``command`` say that it was interrupted, where it has not said more itself; exit code 130."""

    @wraps(command)
    def answering(*arguments: Any, **named: Any) -> None:
        try:
            command(*arguments, **named)
        except KeyboardInterrupt:
            speaker, error = Speaker(bool(named.get("as_json"))), Conflict("Interrupted.")
            if speaker.as_json:
                speaker.give(problem(error))
            speaker.fail(error)
            raise typer.Exit(130) from None

    return answering


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back inside, and raise it on leaving: for a step that must not be half done.

    A second Ctrl-C is not held: whoever presses twice wants out.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal came
        del number, frame
        if came:
            raise KeyboardInterrupt
        came = True

    before = {number: signal.signal(number, remember) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt
