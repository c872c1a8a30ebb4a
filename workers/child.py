"""What every child of a worker does alike: hold its pipes, beat, answer requests, die in time.

Standard library only, Python 3.11 syntax: it also runs inside older Blenders' own Pythons.

A program's `__main__` reads::

    link = attach()                     # before anything that may print
    ...                                 # heavy imports
    sys.exit(serve(link, Ready(program="imaging"), {Shrink: shrink}))

How a child ends: end of file on its input, also in the middle of a request (exit code 0), a line that
is no request (2), its parent gone (killed by the kernel on Linux; elsewhere, and where the kernel
missed it, by its own beat, 3).
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import errno
import faulthandler
import os
import select
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast, get_args

from workers.protocol import (
    MAX_LINE,
    Answer,
    Beat,
    Done,
    Failed,
    ProtocolFault,
    Ready,
    Request,
    decode,
    encode,
)

BEAT_SECONDS = 1.0
ORPHANED = 3
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Refusal(Exception):
    """A request that cannot be carried out for a reason that can be told: becomes `Failed`."""

    def __init__(self, cause: str, what: str, cure: str = "", pieces: Sequence[int] = ()) -> None:
        super().__init__(what)
        self.cause = cause
        self.what = what
        self.cure = cure
        self.pieces = list(pieces)


class Link:
    """The child's end of its two pipes. `send` may be called from any thread."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source = source
        self._sink = sink
        self._lock = threading.Lock()

    def send(self, message: Answer) -> None:
        """Send ``message`` now. Where nobody reads any more, the child ends."""
        line = encode(message)
        try:
            with self._lock:
                self._sink.write(line)
                self._sink.flush()
        except BrokenPipeError:
            os._exit(ORPHANED)  # not sys.exit: this may be any thread, in the middle of a render

    @property
    def hung_up(self) -> bool:
        """Whether the parent has closed its end, though something it sent may still be unread."""
        if not hasattr(select, "poll"):
            return False
        ends = select.poll()
        try:
            ends.register(self._source, 0)  # a hang-up is told unasked
            return any(event & select.POLLHUP for _, event in ends.poll(0))
        except OSError:  # not a real file
            return False

    def requests(self) -> Iterator[Request]:
        """Requests until the end of the input; raises `ProtocolFault` for anything else."""
        while line := self._source.readline(MAX_LINE + 1):
            message = decode(line)
            if not isinstance(message, get_args(Request)):
                raise ProtocolFault(f"{type(message).__name__} is not a request")
            yield cast("Request", message)


Handler = Callable[[Any, Link], Done]


def attach() -> Link:
    """Take over descriptors 0 and 1 for messages and tie this process's life to its parent's.

    Afterwards descriptor 1 is stderr and descriptor 0 is empty, for this process and all it starts.
    ``FARM_PARENT_PID`` names the parent; without it (a pid namespace of its own) nothing is compared.
    """
    _die_with_parent()
    faulthandler.enable(sys.__stderr__ or 2)
    source, sink = os.dup(0), os.dup(1)  # dup makes them non-inheritable
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr  # unbuffered: what is printed before a crash should be in the log
    return Link(os.fdopen(source, "rb"), os.fdopen(sink, "wb"))


def serve(link: Link, ready: Ready, handlers: Mapping[type[Any], Handler]) -> int:
    """Answer requests one after another until the input ends; the exit code comes back.

    A handler returns its `Done` or raises `Refusal`. Anything else it raises is a fault of ours: the
    traceback goes to the log, and the parent hears of an internal failure. `peak_memory` is filled in.
    """
    link.send(ready)
    ended = threading.Event()
    beats = threading.Thread(target=_beat, args=(link, ended), name="beat", daemon=True)
    beats.start()
    try:
        for request in link.requests():
            link.send(_answer(request, link, handlers))
    except ProtocolFault as fault:
        link.send(
            Failed("internal", f"The {ready.program} process was sent something that it cannot read: {fault}")
        )
        return 2
    finally:
        ended.set()
        beats.join()
    return 0


def peak_memory() -> int:
    """Most resident memory that this process ever had, in bytes; 0 where the system is not Linux.

    ``ru_maxrss`` would start at the parent's at the fork, so the high-water mark is read instead.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def _answer(request: Request, link: Link, handlers: Mapping[type[Any], Handler]) -> Done | Failed:
    name = type(request).__name__
    handler = handlers.get(type(request))
    if handler is None:
        return Failed("internal", f"This process does not know how to answer {name}.")
    try:
        done = handler(request, link)
    except Refusal as refusal:
        return Failed(refusal.cause, refusal.what, refusal.cure, refusal.pieces)
    except MemoryError:
        traceback.print_exc()
        return Failed(
            "out-of-memory", "There was not enough memory for this.", "Use a worker with more memory."
        )
    except OSError as error:
        traceback.print_exc()
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return Failed(
                "disk-full", "The worker's disk is full.", "Free some room in the worker's scratch folder."
            )
        return Failed("internal", f"{name} failed: {error}", "The worker's log tells more.")
    except Exception:  # noqa: BLE001  a handler's fault must not take the loop and its warm scene down
        traceback.print_exc()
        return Failed("internal", f"{name} failed for a reason of its own.", "The worker's log tells more.")
    return dataclasses.replace(done, peak_memory=peak_memory())


def _parent_expected() -> int:
    text = os.environ.get("FARM_PARENT_PID", "")
    return int(text) if text.isdigit() else 0


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _end_if_orphaned()  # it may have died before the call above


def _end_if_orphaned() -> None:
    parent = _parent_expected()
    if parent and os.getppid() != parent:
        os._exit(ORPHANED)


def _beat(link: Link, ended: threading.Event) -> None:
    while True:
        link.send(Beat(peak_memory()))
        if ended.wait(BEAT_SECONDS):
            return
        if link.hung_up:  # in the middle of a request: nobody is left to take the answer
            os._exit(0)
        _end_if_orphaned()
