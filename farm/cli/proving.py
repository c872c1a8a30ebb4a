"""Proofs as they are shown: a table of what was compared, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.table import Table
from rich.text import Text

from farm.cli.speaker import clean
from farm.cli.words import duration, number
from farm.domain.frames import FrameRange
from farm.domain.proved import outcome, renderer
from farm.domain.views import JobView
from farm.domain.work import Proof, Row


def table(proof: Proof) -> Table:
    """What was compared, a line each."""
    drawn = Table(box=None, padding=(0, 2, 0, 0), title=f"Frame {proof.frame}", title_justify="left")
    drawn.add_column("kind", no_wrap=True)
    drawn.add_column("name", overflow="fold")
    drawn.add_column("differing pixels", justify="right", no_wrap=True)
    drawn.add_column("largest", justify="right", no_wrap=True)
    drawn.add_column("note", overflow="fold")
    for row in proof.rows:
        cells = (row.kind, clean(row.called), _differing(row), _largest(row), clean(row.note))
        drawn.add_row(*(Text(cell, style="" if row.same else "bold") for cell in cells))
    return drawn


def alike(proofs: Iterable[Proof]) -> Iterator[list[Proof]]:
    """Proofs with the same sentence together; those of frames that differ one by one, and last."""
    groups: dict[str, list[Proof]] = {}
    for proof in proofs:
        told = f"{outcome(proof)} {renderer(proof)}" if proof.exact else f"{proof.frame}"
        groups.setdefault(told, []).append(proof)
    yield from sorted(groups.values(), key=lambda group: not group[0].exact)


def sentence(proofs: list[Proof]) -> str:
    """“Frame 12: 41 passes and 2 outputs are the same, bit for bit. Rendered whole in 3.2 s by …”

    Of several frames that are alike: “Frames 1-3, each: 41 passes …”.
    """
    one, many = proofs[0], len(proofs) > 1
    which = (
        f"Frames {FrameRange.only(proof.frame for proof in proofs)}, each" if many else f"Frame {one.frame}"
    )
    largest = max(
        (row.largest or 0.0 for proof in proofs for row in proof.rows if row.kind == "pass"), default=0
    )
    least = f" The largest difference of a pass is {largest:.2g}." if one.exact and largest else ""
    took = duration(sum(proof.seconds for proof in proofs))
    return f"{which}: {outcome(one)}.{least} Rendered whole in {took} by {renderer(one)}."


def proved(job: JobView) -> str:
    """What was found of a job's frames: “3 frames are those rendered whole”, “1 of 3 frames differs”."""
    frames = number(job.verified, "frame")
    if not job.differing and job.plan is not None and job.plan.ranges:  # averages, see `docs/exactness.md`
        return f"{frames} {'is' if job.verified == 1 else 'are'} within 1e-06 of what is rendered whole"
    if not job.differing:
        return f"{frames} {'is that' if job.verified == 1 else 'are those'} rendered whole"
    return f"{job.differing} of {frames} {'differs' if job.differing == 1 else 'differ'}"


def _differing(row: Row) -> str:
    if row.differing is not None:
        return f"{row.differing:,}" + (f" of {row.pixels:,}" if row.differing and row.pixels else "")
    return "" if row.same else "differs"


def _largest(row: Row) -> str:
    return "" if row.largest is None else f"{row.largest:.3g}"
