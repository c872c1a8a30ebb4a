"""Every scene at hand through the whole path, cut into pieces, and proved against plain Blender.

``python -m benchmarks.proofs LEDGER.jsonl`` builds the sample scenes, starts a farm of its own, renders
a frame of each scene in pieces and verifies it; ``--folder DIR`` adds every .blend below a folder. What
is done is written to the ledger, so that a run that was broken off goes on where it was.
``--table`` prints the ledger for the docs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import scenes
from benchmarks import ways
from benchmarks.ledger import Entry, Ledger, Verdict, summary, table
from farm.assets.pack import pack
from farm.client.client import FarmClient
from farm.domain.errors import TesseraError
from farm.domain.job import Engine, JobSpec, RenderSettings
from farm.domain.states import JOB_ENDED, JobState
from farm.domain.views import JobView, ProofView

_AT_ONCE = 2  # scenes; one is sent and inspected while the other renders
_LONGEST = 600.0  # seconds for one job


@dataclass(frozen=True)
class Case:
    """A scene and how it is rendered."""

    name: str
    blend: Path
    settings: RenderSettings
    cut: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 where a scene differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proofs", description=__doc__)
    parser.add_argument("ledger", type=Path, metavar="LEDGER.jsonl", help="what is done, and goes on")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="also every .blend below this folder")
    parser.add_argument("--split", default="2x2", metavar="HOW", help="2x2, 3x1, samples:2 (2x2)")
    parser.add_argument("--table", action="store_true", help="print the ledger as Markdown, and do nothing")
    chosen = parser.parse_args(arguments)
    ledger = Ledger(chosen.ledger)
    if not chosen.table:
        with tempfile.TemporaryDirectory(prefix="proofs-") as room:
            _prove_all(ledger, list(_cases(Path(room), chosen.folder, chosen.split)), Path(room, "home"))
    _say(table(ledger))
    _say(f"\n{summary(ledger)}")
    return int(any(entry.verdict is Verdict.DIFFERS for entry in ledger))


def _cases(room: Path, folder: Path | None, cut: str) -> Iterator[Case]:
    how = {"split": cut} if cut.startswith("samples") else {"tiles": cut}
    for name in scenes.names():
        blend = scenes.build_file(name, room / "scenes" / f"{name}.blend")
        settings = RenderSettings.model_validate({"frames": "1", "scale": 25, "samples": 8, **how})
        yield Case(f"sample: {name}", blend, settings, cut)
    for blend in sorted(folder.rglob("*.blend")) if folder else ():
        small = {"frames": "1", "scale": 10, "samples": 8, "engine": Engine.CYCLES}
        settings = RenderSettings.model_validate({**small, **how})
        yield Case(blend.relative_to(folder or blend.parent).as_posix(), blend, settings, cut)


def _prove_all(ledger: Ledger, cases: Sequence[Case], home: Path) -> None:
    done = ledger.done()
    todo = [case for case in cases if (case.name, case.cut) not in done]
    if not todo:
        return
    with (
        ways.farm(home, workers=2),
        FarmClient(ways.url(home)) as client,
        ThreadPoolExecutor(_AT_ONCE) as pool,
    ):
        for number, entry in enumerate(pool.map(lambda case: prove(client, case), todo), start=1):
            ledger.add(entry)
            _say(f"{number:>4} of {len(todo)}  {entry.verdict.value:<12}  {entry.scene}  {entry.why}")


def prove(client: FarmClient, case: Case) -> Entry:
    """Render the case in pieces, have it verified, and say what came out."""
    began = time.monotonic()
    try:
        packed = pack(case.blend)
        scene = client.upload_scene(packed.manifest, packed.root, elsewhere=packed.elsewhere)
        spec = JobSpec(name=case.name[:200], scene_id=scene.scene_id, settings=case.settings)
        job = _ended(client, client.submit(spec))
        if job.state is not JobState.DONE:
            return Entry(case.name, case.cut, Verdict.NOTHING, job.error)
        verification = client.verify(job.id)
        if verification.job is None:
            why = job.plan.reason.partition(": ")[2] if job.plan else verification.reason
            return Entry(case.name, case.cut, Verdict.WHOLE, why)
        ended = _ended(client, verification.job)
        proofs = list(client.proofs(job.id))
    except TesseraError as error:
        return Entry(case.name, case.cut, Verdict.NOTHING, error.what)
    if not proofs:
        return Entry(case.name, case.cut, Verdict.DIFFERS, f"It could not be verified: {ended.error}")
    return _entry(case, proofs[0], time.monotonic() - began)


def _ended(client: FarmClient, job: JobView) -> JobView:
    deadline = time.monotonic() + _LONGEST
    while job.state not in JOB_ENDED:
        if time.monotonic() > deadline:
            client.cancel(job.id)
        time.sleep(0.2)
        job = client.job(job.id)
    return job


def _entry(case: Case, found: ProofView, seconds: float) -> Entry:
    rows = found.proof.rows
    wrong = [row for row in rows if not row.same]
    return Entry(
        case.name,
        case.cut,
        Verdict.EXACT if found.proof.exact else Verdict.DIFFERS,
        passes=sum(row.kind == "pass" for row in rows),
        outputs=len({row.name for row in rows if row.kind == "output"}),
        differing=tuple(f"{row.called} ({row.note or row.differing})" for row in wrong),
        largest=max((row.largest or 0.0 for row in wrong), default=0.0),
        seconds=round(seconds, 1),
    )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
