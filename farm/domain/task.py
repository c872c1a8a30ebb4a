"""A task: the unit of work given to a worker, named by what it makes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class TaskKind(StrEnum):
    """What a task makes."""

    INSPECT = "inspect"
    FRAME = "frame"  # a whole frame, composited and saved in place
    TILE = "tile"  # a piece of a frame: a tile, or a range of its samples
    FINISH = "finish"  # merge the pieces of a frame, denoise, composite, save
    VERIFY = "verify"  # render a finished frame whole in plain Blender, and compare
    ENCODE = "encode"  # make the movies of a job whose frames are done


_NAME = re.compile(
    r"(?P<job>[0-9a-z]+)/(?:(?P<of_job>inspect|encode)"
    r"|(?P<frame>-?[0-9]{1,9})/(?P<what>whole|finish|verify|whole-(?P<race>[0-9]{1,9})|tile-(?P<tile>[0-9]{1,9})))"
)
#: Last part of a name, of kinds that are there once.
_LAST = {
    TaskKind.INSPECT: "inspect",
    TaskKind.ENCODE: "encode",
    TaskKind.FRAME: "whole",
    TaskKind.FINISH: "finish",
    TaskKind.VERIFY: "verify",
}
_KIND = {last: kind for kind, last in _LAST.items()}


@dataclass(frozen=True, slots=True)
class TaskKey:
    """``k3m9x2ab/inspect``, ``k3m9x2ab/12/whole``, ``k3m9x2ab/12/tile-3``, ``k3m9x2ab/12/finish``,
    ``k3m9x2ab/12/verify``, ``k3m9x2ab/encode``.

    Where a whole frame is raced, because its worker is slow, the others beside it are
    ``k3m9x2ab/12/whole-1`` and so on: the first that is done counts.
    """

    job_id: str
    kind: TaskKind
    frame: int | None = None
    tile: int | None = None
    race: int = 0  # of whole frames

    def __str__(self) -> str:
        frame = "" if self.frame is None else f"{self.frame}/"
        return f"{self.job_id}/{frame}{self.last}"

    @property
    def last(self) -> str:
        """What is made, as the last part of the name: ``whole``, ``tile-3``."""
        if self.race:
            return f"{_LAST[TaskKind.FRAME]}-{self.race}"
        return _LAST.get(self.kind, f"tile-{self.tile}")

    @classmethod
    def parse(cls, text: str) -> TaskKey:
        """The key that prints as ``text``; raises ValueError otherwise."""
        found = _NAME.fullmatch(text)
        if not found:
            raise ValueError(f"“{text}” is not a task key")
        if found["of_job"] is not None:
            return cls(found["job"], _KIND[found["of_job"]])
        tile = None if found["tile"] is None else int(found["tile"])
        race = int(found["race"] or 0)
        kind = TaskKind.FRAME if race else _KIND.get(found["what"], TaskKind.TILE)
        key = cls(found["job"], kind, int(found["frame"]), tile, race)
        if str(key) != text:  # 007, -0: one task has one name
            raise ValueError(f"“{text}” is not a task key")
        return key

    @property
    def words(self) -> str:
        """For people: “frame 12, piece 3”. Pieces count from 1 there, as people do."""
        match self.kind:
            case TaskKind.INSPECT:
                return "inspecting the scene"
            case TaskKind.ENCODE:
                return "encoding the movie"
            case TaskKind.TILE:
                return f"frame {self.frame}, piece {(self.tile or 0) + 1}"
            case TaskKind.FINISH:
                return f"frame {self.frame}, finishing"
            case TaskKind.VERIFY:
                return f"frame {self.frame}, verifying"
            case _:
                return f"frame {self.frame}"
