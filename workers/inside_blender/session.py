"""What the process knows between requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workers.protocol import Answer


@dataclass
class Session:
    """The open file. ``send`` gives a message to the parent, from any thread."""

    send: Callable[[Answer], None]
    path: str = ""
    scene: str = ""  # the file's active one
    load_seconds: float = 0.0
