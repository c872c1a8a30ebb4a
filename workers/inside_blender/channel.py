"""The pipe to the parent: messages out on what was standard output, requests in on standard input."""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable

from workers.protocol import MAX_LINE, Answer, Beat, Message, decode, encode

BEAT = 1.0  # seconds between signs of life


class Channel:
    """Owns file descriptor 1; whatever Blender or a library prints goes to stderr instead.

    `send` may be called from any thread. When the parent is gone or closes its end, the process ends at
    once, also while rendering: nobody is left to take the result.
    """

    def __init__(self) -> None:
        self._out = os.dup(1)
        os.set_inheritable(self._out, False)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        self._lock = threading.Lock()
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._busy = False

    def send(self, message: Answer) -> None:
        """Write one message, whole; ends the process where nobody reads any more."""
        data = encode(message)
        with self._lock:
            try:
                while data:
                    data = data[os.write(self._out, data) :]
            except OSError:
                os._exit(1)

    def start(self, peak_memory: Callable[[], int]) -> None:
        """Begin to read requests and to beat, each in a thread of its own."""
        threading.Thread(target=self._read, name="requests", daemon=True).start()
        threading.Thread(target=self._beat, args=(peak_memory,), name="heart", daemon=True).start()

    def receive(self) -> Message | None:
        """The next request, None at the end; raises `workers.protocol.ProtocolFault` for anything else."""
        self._busy = False
        line = self._lines.get()
        self._busy = True
        return decode(line) if line else None

    def _read(self) -> None:
        while line := sys.stdin.buffer.readline(MAX_LINE + 1):
            self._lines.put(line)
        if self._busy:
            os._exit(0)
        self._lines.put(b"")

    def _beat(self, peak_memory: Callable[[], int]) -> None:
        while True:
            time.sleep(BEAT)
            self.send(Beat(peak_memory()))
