"""What was proved of which scene: a file of JSON lines that a broken run goes on from, and its table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchmarks import lines


class Verdict(StrEnum):
    """What came out for a scene."""

    EXACT = "exact"  # cut, and every pass and output is the whole render's, bit for bit
    DIFFERS = "differs"
    WHOLE = "whole"  # the farm did not cut it, for a reason that it told
    NOTHING = "not rendered"  # no camera, damaged, nothing that renders


@dataclass(frozen=True)
class Entry:
    """One scene, cut in one way."""

    scene: str
    cut: str  # "2x2", "samples:2"
    verdict: Verdict
    why: str = ""  # it is whole, or was not rendered
    passes: int = 0  # compared
    outputs: int = 0  # compared
    differing: tuple[str, ...] = ()  # names of passes and outputs
    largest: float = 0.0
    seconds: float = 0.0


class Ledger:
    """Entries in the order in which they were made. A line that was cut short is forgotten."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Entry]:
        for body in lines.read(self._path):
            yield Entry(**body | {"verdict": Verdict(body["verdict"]), "differing": tuple(body["differing"])})

    def done(self) -> set[tuple[str, str]]:
        """Scenes and cuts that need not be tried again."""
        return {(entry.scene, entry.cut) for entry in self}

    def add(self, entry: Entry) -> None:
        """Write ``entry`` down at once."""
        lines.add(self._path, entry)


def summary(entries: Iterable[Entry]) -> str:
    """One sentence of figures."""
    entries = list(entries)
    by_verdict = Counter(entry.verdict for entry in entries)
    cut = by_verdict[Verdict.EXACT] + by_verdict[Verdict.DIFFERS]
    same = [entry for entry in entries if entry.verdict is Verdict.EXACT]
    passes, outputs = sum(entry.passes for entry in same), sum(entry.outputs for entry in same)
    return (
        f"{len(entries)} scenes: {cut} cut, {by_verdict[Verdict.EXACT]} of them the same bit for bit in "
        f"{passes:,} passes and {outputs:,} outputs, {by_verdict[Verdict.DIFFERS]} not; "
        f"{by_verdict[Verdict.WHOLE]} kept whole; {by_verdict[Verdict.NOTHING]} not rendered."
    )


def table(entries: Iterable[Entry]) -> str:
    """Markdown, one line for each scene that renders, in the order of their names."""
    lines = ["| scene | cut | result | passes | outputs | what |", "|---|---|---|---:|---:|---|"]
    rendered = (entry for entry in entries if entry.verdict is not Verdict.NOTHING)
    for entry in sorted(rendered, key=lambda entry: (entry.scene, entry.cut)):
        what = entry.why
        if entry.differing:
            what = f"{', '.join(entry.differing[:3])}: by {entry.largest:.3g} at most"
        cells = (entry.scene, entry.cut, entry.verdict.value, entry.passes, entry.outputs, what)
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    return "\n".join(lines)


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|") if value else ""
