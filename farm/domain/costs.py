"""What rendering costs, as finished pieces told it. Seconds are of one worker, money is of no currency."""

from __future__ import annotations

from pydantic import Field

from farm.domain.scene import Value


class Span(Value):
    """A number that is not known yet, as a range that it lies in nine times of ten."""

    low: float
    likely: float
    high: float


class Costs(Value):
    """What the frames of a job cost so far: the model is ``sync + render / K`` for a frame cut in K.

    Of a worker of speed 1. `seen` counts the whole frames' worth of what was measured; 0: nothing is known.
    """

    seen: float = Field(default=0.0, ge=0)
    load: float = 0.0  # opening the scene, once a worker
    sync: float = 0.0  # of a frame, once a worker that renders some of it
    render: float = 0.0  # of all pixels and samples of a frame
    rest: float = 0.0  # of each task besides: fetching, saving, storing
    finish: float = 0.0  # merge, denoise and composite of a frame that was cut
    spread: float = 0.0  # standard deviation of whole frames' seconds, as a share of their mean
    spent: float = 0.0  # seconds of workers, of all attempts that ended, also in vain
    paid: float = 0.0  # their price

    @property
    def whole(self) -> float:
        """Seconds of a frame that stays whole, on a worker that has the scene."""
        return self.sync + self.render + self.rest
