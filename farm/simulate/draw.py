"""Numbers that a trace leaves to the seed: constant, between two, or log-normal around a median."""

from __future__ import annotations

import math
from random import Random
from typing import Annotated

from pydantic import Field

from farm.domain.scene import Value


class Lognormal(Value):
    """Half of what is drawn lies below ``median``; ``sigma`` is the deviation of its logarithm.

    As render times are spread: many short ones, a few very long ones. Nothing over ``most`` is drawn.
    """

    median: float = Field(gt=0)
    sigma: float = Field(ge=0)
    most: float = math.inf


#: ``12``, ``[5, 20]`` (any between, equally likely) or ``{ median = 60, sigma = 0.5 }``.
Drawn = Annotated[float, Field(ge=0)] | tuple[float, float] | Lognormal


def draw(drawn: Drawn, dice: Random) -> float:
    """A number from ``drawn``."""
    match drawn:
        case Lognormal():
            return min(drawn.median * math.exp(dice.gauss(0, drawn.sigma)), drawn.most)
        case (low, high):
            return dice.uniform(low, high)
        case number:
            return float(number)


def draw_whole(drawn: Drawn, dice: Random) -> int:
    """A whole number from ``drawn``, 1 at least; both ends of a range are in it."""
    match drawn:
        case (low, high):
            return max(1, dice.randint(round(low), round(high)))
        case _:
            return max(1, round(draw(drawn, dice)))
