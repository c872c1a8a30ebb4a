"""``python -m tests.chaos --seed N --runs N``: seeded faults on real farms, with a ledger.

A run whose seed is in the ledger is not done again, so a series that was broken off goes on where it
was. Ends with 1 where anything was wrong in any of its runs.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import psutil

from tests.chaos import figures, ground
from tests.chaos.kinds import KINDS, kinds_for
from tests.chaos.ledger import Entry, Ledger
from tests.chaos.pictures import References
from tests.chaos.run import drawn, run
from tests.chaos.site import Site, Sort

_BUILD = ground.PROJECT / "build" / "chaos"


def main(arguments: Sequence[str]) -> int:
    """Exit code: 1 where anything was wrong, 3 where this machine lacks what is needed."""
    asked = _asked(arguments)
    if not ground.inside():
        if lacking := ground.lacking():
            sys.stderr.write(f"Chaos cannot be done here: {lacking}.\n")
            return 3
        return _in_its_ground(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    ledger = Ledger(asked.ledger)
    seeds = range(asked.seed, asked.seed + asked.runs)
    left = [seed for seed in seeds if seed not in ledger.seeds()]
    series = _Series(asked, ledger)
    try:
        for seed in left:
            series.do(seed)
    finally:
        series.end()
    entries = [entry for entry in ledger if entry.seed is None or entry.seed in seeds]
    sys.stdout.write(f"\n{figures.summary(entries)}\n\n{figures.table(entries)}\n")
    return 1 if any(entry.wrong for entry in entries) else 0


class _Series:
    """Runs on one farm, until something is wrong with it; then on a new one."""

    def __init__(self, asked: argparse.Namespace, ledger: Ledger) -> None:
        self._asked = asked
        self._ledger = ledger
        self._references = References(asked.references)
        self._site: Site | None = None

    def do(self, seed: int) -> None:
        """One run, into the ledger."""
        asked = self._asked
        plan = drawn(seed, asked.faults, asked.kinds or kinds_for(asked.farm), asked.jobs)
        _say(f"seed {seed}: {', '.join(f'{fault.kind} at {fault.at} s' for fault in plan.faults)}")
        if self._site is None:
            self._site = _built(Path(tempfile.mkdtemp(prefix="tessera-chaos-")), asked.farm)
        try:
            entry = run(self._site, self._references, seed, plan)
        except Exception as error:  # noqa: BLE001  whatever it is, it was the faults that did it
            traceback.print_exc()
            entry = Entry(seed, wrong=(f"the run ended with {type(error).__name__}: {error}",))
        self._ledger.add(entry)
        for sentence in entry.wrong:
            _say(f"  WRONG: {sentence}")
        _say(f"  {entry.seconds:.0f} s, {'all well' if not entry.wrong else 'not well'}")
        if entry.wrong:
            self._keep(seed)
            self.end()

    def end(self) -> None:
        """End the farm, and look whether anything is left of it."""
        site, self._site = self._site, None
        if site is None:
            return
        if left := site.down():
            self._ledger.add(Entry(None, wrong=tuple(left)))
            _say("\n".join(left))
        shutil.rmtree(site.folder, ignore_errors=True)

    def _keep(self, seed: int) -> None:
        """What tells why: the database and the logs."""
        assert self._site is not None
        kept = self._asked.evidence / str(seed)
        shutil.rmtree(kept, ignore_errors=True)
        for path in self._site.folder.rglob("*"):
            if path.is_file() and (path.suffix == ".log" or path.name.startswith("farm.sqlite3")):
                kept.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, kept / path.name)
        _say(f"  its database and logs are in {kept}")


def _built(folder: Path, sort: Sort) -> Site:
    try:
        return Site(folder, sort)
    except BaseException:
        for (
            disk
        ) in folder.iterdir():  # its processes end with this one, and its mounts, but not what is under them
            subprocess.run(["umount", "--lazy", str(disk)], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _in_its_ground(arguments: Sequence[str]) -> int:
    line = ground.command("tests.chaos", arguments)
    program = subprocess.Popen(line, env=ground.environment(), cwd=ground.PROJECT)

    def end(*_: object) -> None:
        for first in psutil.Process(program.pid).children():  # it ends everything in order, as unshare won't
            first.terminate()

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells it to all
    signal.signal(signal.SIGTERM, end)
    return program.wait()


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    asked = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    asked.add_argument("--seed", type=int, default=1, help="of the first run; the next ones count on")
    asked.add_argument("--runs", type=int, default=3)
    asked.add_argument("--faults", type=int, default=3, help="in each run")
    asked.add_argument("--jobs", type=int, default=3, help="in each run")
    asked.add_argument("--kinds", nargs="+", choices=sorted(KINDS), help="draw from these alone")
    asked.add_argument("--farm", type=Sort, choices=list(Sort), default=Sort.SQLITE)
    asked.add_argument("--ledger", type=Path, default=_BUILD / "ledger.jsonl")
    asked.add_argument("--references", type=Path, default=_BUILD / "references")
    asked.add_argument("--evidence", type=Path, default=_BUILD / "evidence")
    return asked.parse_args(arguments)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
