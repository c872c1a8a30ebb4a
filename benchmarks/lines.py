"""A file of JSON lines that a broken run goes on from; what the lines are is the business of their ledger."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The lines in their order; none where there is no file. One that was cut short is forgotten."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def add(path: Path, entry: DataclassInstance) -> None:
    """Write ``entry`` down at once, as the last line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(dataclasses.asdict(entry)) + "\n")
