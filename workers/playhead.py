"""How far a render process has played a scene whose frames depend on those before them."""

from __future__ import annotations

from dataclasses import dataclass

from farm.domain.scene import SceneReport

#: The finding of scenes that a render itself disturbs: each of their frames has a process of its own.
APART = "simulation-apart"


@dataclass(frozen=True)
class Playhead:
    """A scene of the file (None: its active one), played up to a frame and rendered there."""

    scene: str | None
    frame: int
    apart: bool = False

    @classmethod
    def at(cls, scene: str | None, frame: int, report: SceneReport) -> Playhead:
        """Where a process stands once it has rendered ``frame``."""
        return cls(scene, frame, any(finding.code == APART for finding in report.in_order))

    def leads_to(self, other: Playhead) -> bool:
        """Whether a process that stands here can play on and render ``other``.

        Time runs one way only. The same frame may be rendered again, from what was played.
        """
        return not self.apart and self.scene == other.scene and self.frame <= other.frame
