"""A task: the unit of work given to a worker, named by what it makes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class TaskKind(StrEnum):
    """What a task makes."""

    INSPECT = "inspect"
    FRAME = "frame"  # a whole frame, composited and saved in place
    TILE = "tile"  # a piece of a frame
    FINISH = "finish"  # merge the pieces of a frame, denoise, composite, save


_NAME = re.compile(
    r"(?P<job>[0-9a-z]+)/(?:inspect|(?P<frame>-?[0-9]{1,9})/(?P<what>whole|finish|tile-(?P<tile>[0-9]{1,9})))"
)


@dataclass(frozen=True, slots=True)
class TaskKey:
    """``k3m9x2ab/inspect``, ``k3m9x2ab/12/whole``, ``k3m9x2ab/12/tile-3``, ``k3m9x2ab/12/finish``."""

    job_id: str
    kind: TaskKind
    frame: int | None = None
    tile: int | None = None

    def __str__(self) -> str:
        if self.kind is TaskKind.INSPECT:
            return f"{self.job_id}/inspect"
        last = {TaskKind.FRAME: "whole", TaskKind.FINISH: "finish"}.get(self.kind, f"tile-{self.tile}")
        return f"{self.job_id}/{self.frame}/{last}"

    @classmethod
    def parse(cls, text: str) -> TaskKey:
        """The key that prints as ``text``; raises ValueError otherwise."""
        found = _NAME.fullmatch(text)
        if not found:
            raise ValueError(f"“{text}” is not a task key")
        if found["frame"] is None:
            return cls(found["job"], TaskKind.INSPECT)
        kinds = {"whole": TaskKind.FRAME, "finish": TaskKind.FINISH}
        tile = None if found["tile"] is None else int(found["tile"])
        key = cls(found["job"], kinds.get(found["what"], TaskKind.TILE), int(found["frame"]), tile)
        if str(key) != text:  # 007, -0: one task has one name
            raise ValueError(f"“{text}” is not a task key")
        return key

    @property
    def words(self) -> str:
        """For people: “frame 12, tile 3”. Tiles count from 1 there, as people do."""
        if self.kind is TaskKind.INSPECT:
            return "inspecting the scene"
        if self.kind is TaskKind.TILE:
            return f"frame {self.frame}, tile {(self.tile or 0) + 1}"
        return f"frame {self.frame}" + (", finishing" if self.kind is TaskKind.FINISH else "")
