"""``python -m tests.chaos.figures LEDGER … [--into docs/reliability.md]``: what ledgers say, in figures.

A page has a place for them between two comments, ``<!-- figures -->`` and ``<!-- end of figures -->``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.chaos.ledger import Done, Entry, Ledger

_START, _END = "<!-- figures -->", "<!-- end of figures -->"

#: Seconds from the death of a dispatcher until the next one can give work.
GOAL = 15.0


def summary(entries: Iterable[Entry]) -> str:
    """One paragraph of figures."""
    entries = list(entries)
    runs = [entry for entry in entries if entry.seed is not None]
    faults = [fault for entry in runs for fault in entry.faults]
    hit = [fault for fault in faults if fault.hit is not None]
    wrong = [entry for entry in entries if entry.wrong]
    text = (
        f"{len(runs)} runs, {sum(entry.seconds for entry in runs) / 60:.0f} minutes: {len(hit)} faults in "
        f"{sum(len(entry.jobs) for entry in runs)} jobs; {sum(entry.frames for entry in runs)} files of "
        f"frames fetched and compared; {len(wrong)} runs with anything wrong."
    )
    if missed := len(faults) - len(hit):
        text += f" {missed} more faults found nothing to hit."
    killed = [fault for fault in hit if fault.kind == "kill dispatcher"]
    if met := _sorted(fault.met for fault in killed):
        within = sum(1 for seconds in met if seconds < GOAL)
        text += (
            f" After a dispatcher was killed, the next one had met a worker after {_span(met)} s (median … "
            f"longest), {within} of {len(met)} within {GOAL:.0f} s, and the next task was given after "
            f"{_span(_sorted(fault.dispatched for fault in killed))} s, whatever else was done meanwhile."
        )
    return text


def table(entries: Iterable[Entry]) -> str:
    """Markdown, one line a kind of fault. Seconds are median and longest."""
    by_kind: dict[str, list[tuple[Done, Entry]]] = defaultdict(list)
    for entry in entries:
        for fault in entry.faults:
            if fault.hit is not None:
                by_kind[fault.kind].append((fault, entry))
    lines = [
        "| fault | times | lasting, s | next task given after, s | next result committed after, s | in runs "
        "with anything wrong |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for kind, found in sorted(by_kind.items()):
        faults = [fault for fault, _ in found]
        cells = (
            kind,
            str(len(found)),
            _span(_sorted(fault.seconds for fault in faults)),
            _span(_sorted(fault.dispatched for fault in faults)),
            _span(_sorted(fault.committed for fault in faults)),
            str(sum(1 for _, entry in found if entry.wrong)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def faults(entries: Iterable[Entry]) -> str:
    """All that was wrong, a line each; empty where nothing was."""
    return "\n".join(
        f"seed {entry.seed}: {sentence}" if entry.seed is not None else f"in the end: {sentence}"
        for entry in entries
        for sentence in entry.wrong
    )


def _sorted(values: Iterable[float | None]) -> list[float]:
    return sorted(value for value in values if value is not None)


def _span(seconds: Sequence[float]) -> str:
    if not seconds:
        return "–"
    return f"{statistics.median(seconds):.1f} … {seconds[-1]:.1f}"


def placed(page: str, figures: str) -> str:
    """The page with these figures at their place; raises ValueError where it has none."""
    start, end = page.index(_START) + len(_START), page.index(_END)
    return f"{page[:start]}\n\n{figures}\n\n{page[end:]}"


def main(arguments: Sequence[str]) -> None:
    """Print them, or put them into a page."""
    asked = argparse.ArgumentParser(prog="python -m tests.chaos.figures", description=__doc__)
    asked.add_argument("ledgers", type=Path, nargs="+")
    asked.add_argument("--into", type=Path, help="a page with a place for them")
    told = asked.parse_args(arguments)
    entries = [entry for ledger in told.ledgers for entry in Ledger(ledger)]
    found = f"{summary(entries)}\n\n{table(entries)}"
    if told.into:
        told.into.write_text(placed(told.into.read_text(encoding="utf-8"), found), encoding="utf-8")
    else:
        sys.stdout.write(f"{found}\n\n{faults(entries)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
