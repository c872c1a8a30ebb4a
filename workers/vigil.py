"""Watching one answer of a child: does it still live, and does it still move? Pure; time comes in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from farm.domain.work import Cause
from workers.failures import AttemptFailed

_BUSY = 0.02  # of one core: a process below this, that counts nothing either, is stuck
_LOOKS = 10  # CPU time is read so often in an idle period; reading it walks the process table


@dataclass(frozen=True)
class Patience:
    """How long a child is waited for, in seconds."""

    start: float = 180.0  # until it says what it is
    silence: float = 30.0  # between two signs of life
    idle: float = 900.0  # beating, but neither counting nor computing


class Vigil:
    """From a request to its answer. ``computed`` gives the CPU seconds that the child has used."""

    def __init__(
        self, program: str, patience: Patience, computed: Callable[[], float], now: float, *, starting: bool
    ) -> None:
        self._program = program
        self._patience = patience
        self._computed = computed
        self._starting = starting
        self._began = self._heard = self._moved = self._looked = now
        self._worked: float | None = None  # CPU seconds at `_moved`; None: to be read at the next look

    def heard(self, now: float) -> None:
        """The child sent something."""
        self._heard = now

    def counted(self, now: float) -> None:
        """The child got on."""
        self._moved, self._worked = now, None

    def check(self, now: float) -> None:
        """Raise `AttemptFailed` (hang) for a child that is silent or stuck."""
        if self._starting and now - self._began > self._patience.start:
            raise AttemptFailed(
                Cause.HANG,
                f"{self._program} was not ready after {now - self._began:.0f} s.",
                "The worker's disk or memory may be overloaded.",
            )
        if not self._starting and now - self._heard > self._patience.silence:
            raise AttemptFailed(
                Cause.HANG,
                f"{self._program} gave no sign of life for {now - self._heard:.0f} s.",
                "If it hangs every time, render this frame in Blender and see where it stops.",
            )
        if not self._starting and now - self._looked >= self._patience.idle / _LOOKS:
            self._look(now)

    def _look(self, now: float) -> None:
        self._looked = now
        worked = self._computed()
        if self._worked is None:
            self._worked = worked
        elif worked - self._worked > 1 + _BUSY * (now - self._moved):
            self._moved, self._worked = now, worked
        elif now - self._moved > self._patience.idle:
            raise AttemptFailed(
                Cause.HANG,
                f"{self._program} lives but has done nothing for {now - self._moved:.0f} s.",
                "If it hangs every time, render this frame in Blender and see where it stops.",
            )
