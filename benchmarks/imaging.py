"""The imaging process, spoken to as a worker does."""

from __future__ import annotations

import subprocess
import sys
import time

from workers.protocol import Done, Failed, MergeFrame, decode, encode


class MergeFailed(RuntimeError):
    """The imaging process gave no picture; the message is what it said."""


def merged(request: MergeFrame) -> tuple[Done, float]:
    """Its answer, and the seconds from the request to it: the start of the process is paid but once."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "workers.imaging"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None  # noqa: S101  both are pipes
        assert process.stdout is not None  # noqa: S101
        decode(process.stdout.readline())  # it is ready
        started = time.perf_counter()
        process.stdin.write(encode(request))
        process.stdin.flush()
        answer = None
        while not isinstance(answer, Done | Failed):
            answer = decode(process.stdout.readline())
        wall = time.perf_counter() - started
        process.stdin.close()
    if isinstance(answer, Failed):
        raise MergeFailed(f"{answer.what} {answer.cure}")
    return answer, wall
