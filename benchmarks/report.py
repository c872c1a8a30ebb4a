"""What a benchmark of one scene found: the ratios, the goals and how they are shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from benchmarks.ways import Timing


@dataclass(frozen=True)
class Goal:
    """``measured`` is a ratio of wall times that must reach ``wanted``, or stay within it."""

    says: str
    measured: float
    wanted: float
    at_least: bool

    @property
    def met(self) -> bool:
        """Whether the ratio keeps the goal."""
        return self.measured >= self.wanted if self.at_least else self.measured <= self.wanted


@dataclass(frozen=True)
class Report:
    """One scene, all ways. ``warm`` is the farm's second render: the one that the goals speak of."""

    scene: str
    frames: int
    plain: Timing
    apart: Timing
    tuned: Timing
    cold: Timing
    warm: Timing
    start: float
    same_pictures: bool

    def goals(self) -> tuple[Goal, ...]:
        """The project's goals for this kind of scene."""
        if self.scene == "forest":
            faster, over = self.plain.wall / self.warm.wall, self.warm.wall / self.tuned.wall
            return (
                Goal("times faster than the plain loop", faster, 8.0, True),
                Goal("times the hand-tuned loop's time", over, 1.05, False),
            )
        over = self.warm.wall / self.plain.wall
        return (Goal("times the plain loop's time", over, 1.02, False),)

    def shown(self) -> RenderableType:
        """The report as a table with its goals, for a terminal."""
        table = Table(title=f"{self.scene}, {self.frames} frames", title_justify="left")
        table.add_column("way")
        for column in ("wall s", "first frame s", "later frames s", "of plain loop"):
            table.add_column(column, justify="right")
        for timing in (self.plain, self.apart, self.tuned, self.cold, self.warm):
            share = timing.wall / self.plain.wall
            numbers = (f"{each:.2f}" for each in (timing.wall, timing.first, timing.later, share))
            table.add_row(timing.way, *numbers)
        lines = [f"The farm's own start took {self.start:.1f} s, which no row above contains."]
        for goal in self.goals():
            bound = "at least" if goal.at_least else "at most"
            verdict = "met" if goal.met else f"MISSED. {self._where()}"
            lines.append(f"Warm farm: {goal.measured:.2f} {goal.says}; goal {bound} {goal.wanted}: {verdict}")
        lines.append(
            "The farm's pictures are the plain loop's, pixel for pixel."
            if self.same_pictures
            else "THE FARM'S PICTURES DIFFER FROM THE PLAIN LOOP'S: these times compare different work."
        )
        return Group(table, Text("\n".join(lines)), Text(""))

    def _where(self) -> str:
        inside = sum(self.warm.frames)
        return (
            f"Its frames took {inside:.1f} s of its {self.warm.wall:.1f} s; the rest is the command's start, "
            "sending, planning and bringing the pictures here."
        )

    def plain_data(self) -> dict[str, Any]:
        """The report as JSON values."""
        ways = (self.plain, self.apart, self.tuned, self.cold, self.warm)
        return {
            "scene": self.scene,
            "frames": self.frames,
            "farm_start_seconds": round(self.start, 3),
            "ways": [
                {
                    "way": way.way,
                    "wall_seconds": round(way.wall, 3),
                    "frame_seconds": [round(each, 3) for each in way.frames],
                }
                for way in ways
            ],
            "goals": [asdict(goal) | {"met": goal.met} for goal in self.goals()],
            "same_pictures": self.same_pictures,
        }


def same_pictures(one: Path, other: Path) -> bool:
    """Whether two folders hold the same pictures, by order of name and pixel for pixel."""
    left, right = (sorted(folder.glob("*.png")) for folder in (one, other))
    return len(left) == len(right) > 0 and all(
        _pixels(first) == _pixels(second) for first, second in zip(left, right, strict=True)
    )


def _pixels(path: Path) -> tuple[str, tuple[int, int], bytes]:
    with Image.open(path) as picture:
        return picture.mode, picture.size, picture.tobytes()
