"""Whether storage answers, known without asking it for every page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from farm.domain.errors import TesseraError
from farm.storage import Storage

#: Seconds that an answer holds. Storage that is away takes seconds to say so, and pages come by the second.
HOLDS_SECONDS = 3.0


class Health:
    """Asks storage at most once in `HOLDS_SECONDS`, and never twice at a time; safe between threads.

    Whoever comes while it is asked gets the last answer; only at the very first everyone waits.
    """

    def __init__(self, storage: Storage, clock: Callable[[], float] = time.monotonic) -> None:
        self._storage = storage
        self._clock = clock
        self._asking = threading.Lock()
        self._answers: bool | None = None
        self._holds_until = 0.0

    def storage_answers(self) -> bool:
        """True where storage can be used."""
        if self._answers is not None and self._clock() < self._holds_until:
            return self._answers
        if not self._asking.acquire(blocking=self._answers is None):
            return bool(self._answers)
        try:
            if self._answers is None or self._clock() >= self._holds_until:
                self._answers = self._ask()
                self._holds_until = self._clock() + HOLDS_SECONDS
            return self._answers
        finally:
            self._asking.release()

    def _ask(self) -> bool:
        try:
            self._storage.ping()
        except TesseraError:
            return False
        return True
