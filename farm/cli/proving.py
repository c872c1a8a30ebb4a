"""A proof as it is shown: a table of what was compared, and a sentence."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from farm.cli.speaker import clean
from farm.cli.words import duration, number
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
        cells = (row.kind, clean(row.name), _differing(row), _largest(row), clean(row.note))
        drawn.add_row(*(Text(cell, style="" if row.same else "bold") for cell in cells))
    return drawn


def sentence(proof: Proof) -> str:
    """“Frame 12: 41 passes and 2 outputs are the same, bit for bit. Rendered whole in 3.2 s by …”"""
    whole = f"Rendered whole in {duration(proof.seconds)} by {renderer(proof)}."
    return f"Frame {proof.frame}: {outcome(proof)}. {whole}"


def proved(job: JobView) -> str:
    """What was found of a job's frames: “3 frames are those rendered whole”, “1 of 3 frames differs”."""
    frames = number(job.verified, "frame")
    if not job.differing:
        return f"{frames} {'is that' if job.verified == 1 else 'are those'} rendered whole"
    return f"{job.differing} of {frames} {'differs' if job.differing == 1 else 'differ'}"


def _differing(row: Row) -> str:
    if row.differing is not None:
        return f"{row.differing:,}" + (f" of {row.pixels:,}" if row.differing and row.pixels else "")
    return "" if row.same else "differs"


def _largest(row: Row) -> str:
    return "" if row.largest is None else f"{row.largest:.3g}"
