"""The log of an attempt: what its children wrote to stderr, capped, with the telling end at hand."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import BinaryIO

from workers.failures import plain

TAIL_BYTES = 64 * 1024
FILE_BYTES = 4 * 1024 * 1024
#: Lines that tell a person nothing: Blender's progress, and Python's stack of where it was.
_NOISE = re.compile(
    r"Fra:-?\d+ |\d\d:\d\d\.\d+\s+(render|cycles)\s.*\|\s*(Rendering|Fra:|Sample )|"
    r"(Current )?[Tt]hread 0x[0-9a-f]+ |  File \"| {4}|Extension modules: |Traceback \("
)


class AttemptLog:
    """Gathers what an attempt's children print, whoever they are, into one file.

    The file holds the first 4 MiB and, where there was more, the last 64 KiB behind a line that says
    so. It lies outside of what children can write to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("wb")
        self._written = 0
        self._left_out = 0
        self._tail = bytearray()

    def write(self, data: bytes) -> None:
        """Take what a child printed; never raises for a full disk, for a log is no reason to fail."""
        self._tail += data
        del self._tail[:-TAIL_BYTES]
        room = max(0, FILE_BYTES - self._written)
        self._put(data[:room])
        self._left_out += len(data) - min(room, len(data))

    def finish(self) -> int:
        """End the file; its size in bytes. `write` afterwards only feeds the tail."""
        if self._file is not None:
            if self._left_out > len(self._tail):
                self._put(f"\n… {self._left_out - len(self._tail)} bytes left out …\n".encode())
            if self._left_out:
                self._put(bytes(self._tail[-self._left_out :]))
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None
        return self._written

    @property
    def tail(self) -> str:
        """The last 64 KiB as text."""
        return self._tail.decode(errors="replace")

    def telling(self, lines: int = 20, characters: int = 4000) -> str:
        """The last lines that say something; progress and stacks are left out where there is more."""
        said = [line.rstrip() for line in self.tail.splitlines() if line.strip()]
        telling = [line for line in said if not _NOISE.match(line)] or said
        return plain("\n".join(telling[-lines:])[-characters:], characters)

    def _put(self, data: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.write(data)
        except OSError:
            return
        self._written += len(data)
