"""Watching one answer of a child: does it still live, and does it still move? Pure; time comes in.

The rule. A child beats once a second; one that is silent for `Patience.silence` hangs. One that beats moves
as long as it counts (samples, phases, frames played) or computes (CPU time of its own). It hangs

- after `Patience.idle` in which it did neither: it waits for something that never comes;
- after `Patience.spinning` in which it computed, but counted nothing. That is long, because building a large
  scene, compiling kernels and compositing count nothing either; but a driver whose GPU has stopped spins
  on the CPU for ever.

How long the frames of a job took to move on, which the head learns, shortens both, never below a floor,
and lengthens neither: a worker's own limits are its owner's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from farm.domain.work import Cause
from workers.failures import AttemptFailed

_BUSY = 0.02  # of one core: a process below this, that counts nothing either, is stuck
_LOOKS = 10  # CPU time is read so often in an idle period; reading it walks the process table
_LEAST_IDLE = 60.0  # seconds: what was learned of a few frames is no law
_LEAST_SPINNING = 3600.0
_SPINNING = 10  # times as long as a child that does nothing, one that computes may count nothing


@dataclass(frozen=True)
class Patience:
    """How long a child is waited for, in seconds."""

    start: float = 180.0  # until it says what it is
    silence: float = 30.0  # between two signs of life
    idle: float = 900.0  # beating, but neither counting nor computing
    spinning: float = 6 * 3600.0  # computing, but counting nothing

    def learned(self, seconds: float | None) -> Patience:
        """This patience for a job whose frames have always moved on within ``seconds``."""
        if seconds is None:
            return self
        return replace(
            self,
            idle=min(self.idle, max(_LEAST_IDLE, seconds)),
            spinning=min(self.spinning, max(_LEAST_SPINNING, _SPINNING * seconds)),
        )


class Vigil:
    """From a request to its answer. ``computed`` gives the CPU seconds that the child has used."""

    def __init__(
        self, program: str, patience: Patience, computed: Callable[[], float], now: float, *, starting: bool
    ) -> None:
        self._program = program
        self._patience = patience
        self._computed = computed
        self._starting = starting
        self._began = self._heard = self._moved = self._looked = self._counted = now
        self._worked: float | None = None  # CPU seconds at `_moved`; None: to be read at the next look

    def heard(self, now: float) -> None:
        """The child sent something."""
        self._heard = now

    def counted(self, now: float) -> None:
        """The child got on."""
        self._moved, self._worked, self._counted = now, None, now

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
        if now - self._counted > self._patience.spinning:
            raise AttemptFailed(
                Cause.HANG,
                f"{self._program} computes but has counted nothing for {(now - self._counted) / 3600:.1f} h.",
                "Its GPU or driver may have stopped: see whether others render this frame.",
            )
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
