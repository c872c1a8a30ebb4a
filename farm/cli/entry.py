"""Where the `farm` command begins: light, so that Ctrl-C is polite also while the rest is imported."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Never


def _leave(number: int, frame: FrameType | None) -> Never:
    del number, frame
    os._exit(130)  # nothing was begun that had to be ended


def main() -> None:
    """Entry point of the `farm` command."""
    signal.signal(signal.SIGINT, _leave)
    from farm.cli.main import main as command

    signal.signal(signal.SIGINT, signal.default_int_handler)
    command()
