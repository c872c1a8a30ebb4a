"""A plot of a run: what the workers were at over time, as SVG.

Drawn with the template beside this: stacked areas are a few paths, for which a plotting library would bring
a hundred times its weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from farm.domain.errors import BadInput
from farm.simulate.measured import Measured
from farm.simulate.report import PHASES, Outcome, over_time

_WIDTH, _HEIGHT = 880.0, 200.0
_COLOURS = ("#2f7f86", "#e0a13c", "#b9745b", "#8d99a6", "#c43c3c")


@dataclass(frozen=True)
class _Panel:
    outcome: Outcome
    areas: list[tuple[str, str]]  # colour and path
    there: str
    most: int
    end: float
    bound: float  # x of the lower bound


def check(path: Path) -> None:
    """Raise `BadInput` where no plot can be drawn there."""
    if path.suffix.lower() != ".svg":
        raise BadInput(
            f"A plot is an SVG picture, and “{path.name}” is named otherwise.", "Write --plot NAME.svg."
        )
    if find_spec("jinja2") is None:
        raise BadInput(
            "A plot needs Jinja2, which is not installed here.",
            'Install the head: pip install "tessera[head]".',
        )


def save(path: Path, title: str, runs: Sequence[tuple[Outcome, Measured]]) -> None:
    """Write the plot of ``runs``, one below the other; raises `BadInput` where it cannot be drawn."""
    check(path)
    from jinja2 import Environment

    text = files(__package__).joinpath("plot.svg.j2").read_text(encoding="utf-8")
    longest = max(outcome.makespan for outcome, _ in runs)
    drawn = (
        Environment(autoescape=True)
        .from_string(text)
        .render(
            title=title,
            panels=[_panel(outcome, over_time(measured), longest) for outcome, measured in runs],
            legend=list(zip(PHASES, _COLOURS, strict=True)),
            width=_WIDTH,
            height=_HEIGHT,
        )
    )
    try:
        path.write_text(drawn, encoding="utf-8")
    except OSError as error:
        raise BadInput(
            f"The plot cannot be written: {error}.", "Name a file in a folder that is there."
        ) from None


def _panel(outcome: Outcome, rows: Mapping[str, Sequence[float]], longest: float) -> _Panel:
    most = max(rows["there"])
    width = _WIDTH * outcome.makespan / longest
    below = [0.0] * len(rows["there"])
    areas = []
    for name, colour in zip(PHASES, _COLOURS, strict=True):
        above = [low + more for low, more in zip(below, rows[name], strict=True)]
        areas.append((colour, f"M{_line(below, most, width)} L{_line(above, most, width, back=True)} Z"))
        below = above
    there = f"M{_line(rows['there'], most, width)}"
    return _Panel(outcome, areas, there, round(most), width, _WIDTH * outcome.bound / longest)


def _line(row: Sequence[float], most: float, width: float, *, back: bool = False) -> str:
    step = width / len(row)
    points = [
        (x, _HEIGHT * (1 - value / most))
        for part, value in enumerate(row)
        for x in (part * step, (part + 1) * step)
    ]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in (reversed(points) if back else points))
