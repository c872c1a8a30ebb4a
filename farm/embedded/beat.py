"""A file that a part touches while it is well: who watches it sees a part that was stopped, or hangs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Beat:
    """A file, and since when it has not been touched, as far as was seen.

    Seen by the watcher's own clock, which stands still while the machine sleeps: the time in the file's
    entry is only compared with itself.
    """

    file: Path
    patience: float = 10.0  # seconds without a touch until the part counts as stopped
    clock: Callable[[], float] = time.monotonic
    _seen: int = 0
    _since: float = field(default=0.0)

    def begun(self) -> bool:
        """Whether the part has touched it at all."""
        return self.file.exists()

    def goes_on(self) -> bool:
        """Whether it was touched lately; to be asked every few seconds."""
        try:
            touched = self.file.stat().st_mtime_ns
        except OSError:
            touched = 0
        if touched != self._seen:
            self._seen, self._since = touched, self.clock()
        return self.clock() - self._since < self.patience
