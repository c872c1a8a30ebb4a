"""Compares what plain Blender made with what the farm made: the rows of a proof.

What may differ, and still counts as the same:

===========================  =============================  ====================================
the frame                    its passes                     its outputs
===========================  =============================  ====================================
CPU, whole or cut by area    0: every bit                   0: every value
CPU, cut by samples          1e-6: sums in another order    a step of 8 bits; in an EXR 1e-3
GPU                          1e-4: sums without an order    a step of 8 bits; in an EXR 1e-3
===========================  =============================  ====================================

Denoised passes of the latter two are compared as their outputs are, and their noisy ones as passes: a
denoiser magnifies what it is given (measured: 1.4e-6 to 1e-5).

Numbers are relative to max(1, |reference|). That of the GPU is a guess until it is measured.
1e-3 is two steps of a 16-bit float. Compositing can magnify a difference without bound, so the outputs of
such frames are held to what an eye could see, not to a proof.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from farm.domain.work import Cause, Claim, Row
from workers.attempt import Attempt
from workers.children import Child
from workers.devices import CPU
from workers.failures import AttemptFailed, plain
from workers.protocol import Compare, CompareImages, Done

OUT = "reference"
PASSES = "reference.exr"

AVERAGED = 1e-6
UNORDERED = 1e-4
EIGHT_BITS = 1 / 255 + 1e-6
HALF_FLOATS = 1e-3

_EXR_MAGIC = b"\x76\x2f\x31\x01"
_COMPOSITE = "Composite."
_CURE = "This is a fault of the farm; please report it with the scene."


@dataclass(frozen=True)
class Reference:
    """What plain Blender made. ``stamped`` are outputs that hold what no second render can repeat."""

    outputs: tuple[str, ...]
    added: tuple[str, ...]
    passes: bool
    stamped: frozenset[str]
    burnt: str


def tolerance(claim: Claim) -> float:
    """How much a pass of the frame may differ, relative to max(1, |reference|)."""
    if claim.render_class.device != CPU:
        return UNORDERED
    return AVERAGED if len(claim.plan.ranges) > 1 else 0.0


def reference_of(done: Done) -> Reference:
    report = done.report or {}

    def words(name: str) -> list[str]:
        found = report.get(name)
        return [word for word in found if isinstance(word, str)] if isinstance(found, list) else []

    return Reference(
        outputs=tuple(done.outputs),
        added=tuple(words("added")),
        passes=report.get("passes") is True,
        stamped=frozenset(words("stamped")),
        burnt=", ".join(plain(word, 40) for word in words("burnt")),
    )


async def pass_rows(
    attempt: Attempt, claim: Claim, there: dict[str, Path | str], reference: Reference
) -> list[Row]:
    """Rows of the passes: of those that were kept, and of those of which only a digest is left."""
    if not reference.passes:
        note = "Blender saves no passes of this frame"
        return [_unlike("pass", "passes", note)] if claim.exr or claim.digests else []
    imaging = await attempt.session.imaging(attempt.log)
    limit = tolerance(claim)
    rows: list[Row] = []
    if claim.exr:
        kept = there[claim.exr.key]
        if isinstance(kept, str):
            rows.append(_unlike("pass", claim.exr.name, kept))
        else:
            request = Compare(
                reference=str(attempt.work / PASSES),
                candidate=str(kept),
                tolerance=limit,
                denoised=HALF_FLOATS if limit else None,
                added=list(reference.added),
            )
            found = _rows(await imaging.ask(request, attempt.count))
            rows += [_unstamped(row, reference, row.name.startswith(_COMPOSITE)) for row in found]
    if claim.digests:
        area = claim.plan.area
        request = Compare(
            reference=str(attempt.work / PASSES),
            digests=claim.digests,
            noisy=True,
            added=list(reference.added),
            area=[area.x, area.y, area.width, area.height] if claim.plan.region else None,
        )
        shown = {row.name for row in rows if row.same}
        for row in _rows(await imaging.ask(request, attempt.count)):
            if limit and row.name in shown:
                continue
            if not row.same and limit:
                row = _not_compared(
                    row, "its values were not kept, and a digest does not tell how much differs"
                )
            if not (row.same and row.name in shown and "before" not in row.note):
                rows.append(row)
    return rows


async def output_rows(
    attempt: Attempt, child: Child, claim: Claim, there: dict[str, Path | str], reference: Reference
) -> list[Row]:
    """Rows of the files, those that only one side has included."""
    claimed = {file.name: file for file in claim.outputs}
    rows: list[Row] = []
    for name in sorted({*claimed, *reference.outputs}):
        if name not in claimed:
            rows.append(_unlike("output", plain(name, 300), "the farm wrote no such file"))
            continue
        ours = there[claimed[name].key]
        if name not in reference.outputs:
            rows.append(_unlike("output", name, "Blender writes no such file"))
        elif isinstance(ours, str):
            rows.append(_unlike("output", name, ours))
        else:
            found = await _output(attempt, child, claim, name, ours, reference)
            rows += _in_short([_unstamped(row, reference, name in reference.stamped) for row in found])
    return rows


async def _output(
    attempt: Attempt, child: Child, claim: Claim, name: str, ours: Path, reference: Reference
) -> list[Row]:
    """Rows of one file: of an EXR one for each pass, by the imaging process; all else Blender reads."""
    theirs, loose = str(attempt.work / OUT / name), tolerance(claim) > 0
    if not await asyncio.to_thread(_is_exr, ours):
        limit = EIGHT_BITS if loose else 0.0
        return _rows(await child.ask(CompareImages(theirs, str(ours), name, limit), attempt.count))
    imaging = await attempt.session.imaging(attempt.log)
    limit = HALF_FLOATS if loose else 0.0
    request = Compare(reference=theirs, candidate=str(ours), tolerance=limit, added=list(reference.added))
    found = _rows(await imaging.ask(request, attempt.count))
    return [_of_file(row, name) for row in found if row.kind != "metadata" or not row.same]


def _is_exr(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_EXR_MAGIC)) == _EXR_MAGIC


def _of_file(row: Row, name: str) -> Row:
    """A row of a pass as one of the file that holds it."""
    if row.kind == "metadata":
        return row.model_copy(update={"name": name})
    return row.model_copy(update={"kind": "output", "name": name, "part": row.name})


def _in_short(rows: list[Row]) -> list[Row]:
    """The rows of one file, with those of the passes that are the same as one."""
    same = [row for row in rows if row.kind == "output" and row.same and row.differing is not None]
    if len(same) < 2:
        return rows
    others = [row for row in rows if row not in same]
    more = "other " if any(row.part for row in others) else ""
    together = {
        "part": "",
        "pixels": max(row.pixels for row in same),
        "differing": max(row.differing or 0 for row in same),
        "largest": max(row.largest or 0.0 for row in same),
        "note": f"{len(same)} {more}passes",
    }
    return [*others, same[0].model_copy(update=together)]


def _rows(done: Done) -> list[Row]:
    """The rows that a child answered, with nothing in them that others could stumble over."""
    try:
        found = [Row.model_validate(row) for row in (done.report or {})["rows"]]
        if not all(row.largest is None or math.isfinite(row.largest) for row in found):
            raise ValueError("a difference is no number")
    except (KeyError, TypeError, ValidationError, ValueError) as error:
        raise AttemptFailed(Cause.BAD_RESULT, "A comparison gave no rows that can be read.", _CURE) from error
    clean = (
        {"name": plain(row.name, 300), "part": plain(row.part, 300), "note": plain(row.note, 1000)}
        for row in found
    )
    return [row.model_copy(update=words) for row, words in zip(found, clean, strict=True)]


def _unlike(kind: str, name: str, note: str) -> Row:
    return Row(kind=kind, name=name, same=False, note=note)


def _not_compared(row: Row, why: str) -> Row:
    update = {"same": True, "differing": None, "largest": None, "note": f"{why}: not compared"}
    return row.model_copy(update=update)


def _unstamped(row: Row, reference: Reference, stamped: bool) -> Row:
    """A picture that holds the date cannot equal a second one: that is no difference of the frame's."""
    if not stamped or not reference.burnt or row.same or row.kind == "metadata" or row.differing is None:
        return row
    return _not_compared(row, f"burnt into the picture: {reference.burnt}")
