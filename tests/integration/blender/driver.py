"""Speaks the protocol with a real render process, and reads what it made."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import OpenEXR

from workers.protocol import Answer, Beat, Count, Done, Failed, Look, Message, Ready, decode, encode


class RenderProcess:
    """One child. `ask` sends a request and waits for its answer; what came meanwhile is kept."""

    def __init__(self, log: Path, env: dict[str, str] | None = None) -> None:
        self.log = log
        with log.open("ab") as stderr:
            self.child = subprocess.Popen(
                [sys.executable, "-P", "-m", "workers.inside_blender"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=log.parent,
                env={**os.environ, "PYTHONSAFEPATH": "1", "FARM_PARENT_PID": str(os.getpid()), **(env or {})},
                start_new_session=True,
            )
        self.counts: list[Count] = []
        self.beats: list[Beat] = []
        self.ready = self.receive()
        assert isinstance(self.ready, Ready)

    def __enter__(self) -> RenderProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, message: Message) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(encode(message))
        self.child.stdin.flush()

    def receive(self, timeout: float = 120) -> Answer:
        assert self.child.stdout is not None
        ready, _, _ = select.select([self.child.stdout], [], [], timeout)
        assert ready, f"nothing came in {timeout} s; log: {self.log.read_text()[-2000:]}"
        line = self.child.stdout.readline()
        assert line, f"the child ended; log: {self.log.read_text()[-4000:]}"
        message = decode(line)
        assert isinstance(message, Answer)
        return message

    def ask(self, request: Message) -> Done | Failed:
        self.send(request)
        while True:
            message = self.receive()
            if isinstance(message, Count):
                self.counts.append(message)
            elif isinstance(message, Beat):
                self.beats.append(message)
            else:
                assert isinstance(message, (Done, Failed))
                return message

    def done(self, request: Message) -> Done:
        answer = self.ask(request)
        assert isinstance(answer, Done), f"{answer}; log: {self.log.read_text()[-4000:]}"
        return answer

    def failed(self, request: Message) -> Failed:
        answer = self.ask(request)
        assert isinstance(answer, Failed), answer
        return answer

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            assert pipe is not None
            pipe.close()


def look(frame: int = 3, **rest: Any) -> Look:
    return Look(frame=frame, device="CPU", **rest)


def read_exr(path: Path) -> dict[str, np.ndarray]:
    """Channels of every part by full name: (height, width), as stored; views as ``Layer.Depth.left.Z``."""
    found = {}
    with OpenEXR.File(str(path), separate_channels=True) as file:
        for part in file.parts:
            view = part.header.get("view")
            for name, channel in part.channels.items():
                layer, dot, last = name.rpartition(".")
                found[f"{layer}{dot}{view}.{last}" if view else name] = np.array(channel.pixels)
    return found


def same_bits(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> list[str]:
    """Names of channels that are not bit for bit the same, or only on one side."""
    odd = sorted(set(first) ^ set(second))
    return odd + [
        name
        for name in sorted(set(first) & set(second))
        if first[name].shape != second[name].shape or first[name].tobytes() != second[name].tobytes()
    ]


def gone(pid: int, within: float = 10) -> bool:
    """Whether the process ends in time; a zombie counts as ended."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False
