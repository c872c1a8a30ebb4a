"""What the process knows between requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from workers.protocol import Answer


@dataclass
class Session:
    """The open file. ``send`` gives a message to the parent, from any thread."""

    send: Callable[[Answer], None]
    path: str = ""
    scene: str = ""  # the file's active one
    load_seconds: float = 0.0
    played: dict[str, int] = field(default_factory=dict)  # scenes, and the last frame of each that was played
