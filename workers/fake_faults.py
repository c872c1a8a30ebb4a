"""How a fake child fails: crashes, hangs and lies, each a function of the link and the words of the scene.

Standard library only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from workers.child import Link, Refusal
from workers.protocol import MAX_LINE, Count, Done


def _say(line: str) -> None:
    """Write to the log, as Blender does."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _crash(link: Link, behaviour: str) -> None:
    del behaviour
    _say("Error: something in this scene is too much")
    link.send(Count("rendering", 1, 4))
    os.abort()


def _kill_itself(link: Link, behaviour: str) -> None:
    del link, behaviour
    os.kill(os.getpid(), signal.SIGKILL)


def _exit(link: Link, behaviour: str) -> None:
    del link, behaviour
    os._exit(7)


def _out_of_memory(link: Link, behaviour: str) -> None:
    del link, behaviour
    _say("Malloc returns null: len=68719476736 in image, total 12")
    os.abort()


def _memory_error(link: Link, behaviour: str) -> None:
    del link, behaviour
    raise MemoryError


def _out_of_gpu_memory(link: Link, behaviour: str) -> None:
    del link, behaviour
    raise Refusal("out-of-memory", "Blender ran out of GPU memory for frame 1: System is out of GPU memory.")


def _hang(link: Link, behaviour: str) -> None:
    """Stop every thread, beats included, but leave a grandchild to clean up."""
    del link, behaviour
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    os.kill(os.getpid(), signal.SIGSTOP)


def _stuck(link: Link, behaviour: str) -> None:
    """Beat for ever, and do nothing."""
    link.send(Count("rendering", 1, 4))
    del behaviour
    time.sleep(1000)


def _slow(link: Link, behaviour: str) -> None:
    """``slow N``: N samples, a tenth of a second each."""
    total = int(behaviour.split(" ")[1])
    for sample in range(1, total + 1):
        link.send(Count("rendering", sample, total, "ViewLayer"))
        time.sleep(0.1)


def _garbage(link: Link, behaviour: str) -> None:
    del behaviour
    link._sink.write(b"Fra:1 Mem:12.0M (Peak 14.0M)\n")
    link._sink.flush()
    time.sleep(1000)


def _long_line(link: Link, behaviour: str) -> None:
    del behaviour
    link._sink.write(b"x" * (3 * MAX_LINE))
    link._sink.flush()
    time.sleep(1000)


def _deep(link: Link, behaviour: str) -> None:
    del behaviour
    link._sink.write(b'{"kind":' + b"[" * 1_000_000 + b"\n")
    link._sink.flush()
    time.sleep(1000)


def _flood(link: Link, behaviour: str) -> None:
    del behaviour
    for sample in range(20_000):
        link.send(Count("rendering", sample, 20_000, "L" * 200))


def _chatter(link: Link, behaviour: str) -> None:
    """Print far more than a log holds."""
    del link, behaviour
    for number in range(100_000):
        _say(f"{number:08d} " + "-" * 90)


def _two_answers(link: Link, behaviour: str) -> None:
    del behaviour
    link.send(Done())
    link.send(Done())


def _fail(link: Link, behaviour: str) -> None:
    """``fail CAUSE``."""
    del link
    raise Refusal(behaviour.split(" ")[1], "The scene has no\x1b[31m camera.\ud800", "Add one.")


#: By the first word of a behaviour.
FAULTS: dict[str, Callable[[Link, str], None]] = {
    "crash": _crash,
    "kill": _kill_itself,
    "exit": _exit,
    "out-of-memory": _out_of_memory,
    "memory-error": _memory_error,
    "out-of-gpu-memory": _out_of_gpu_memory,
    "hang": _hang,
    "stuck": _stuck,
    "slow": _slow,
    "garbage": _garbage,
    "long-line": _long_line,
    "deep": _deep,
    "flood": _flood,
    "chatter": _chatter,
    "two-answers": _two_answers,
    "fail": _fail,
}
