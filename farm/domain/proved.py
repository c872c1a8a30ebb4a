"""What a proof found, in words: the same on the page and in the command."""

from __future__ import annotations

from collections.abc import Sequence

from farm.domain.work import Proof, Row

_NOUNS = {
    "pass": ("pass", "passes"),
    "denoised": ("denoised pass", "denoised passes"),
    "output": ("output", "outputs"),
    "part": ("pass of an output", "passes of outputs"),
}
_METADATA = "the metadata"  # many values, and one row


def outcome(proof: Proof) -> str:
    """“41 passes and 2 outputs are the same, bit for bit”, “1 of 4 passes differs”.

    What could not be compared is told as that, and never counted as the same. Where a tolerance counts
    what is held to what an eye can see, outputs and denoised passes, is told apart from the passes.
    """
    compared = [row for row in proof.rows if _was_compared(row)]
    left = [_alone(row) for row in uncompared(proof)]
    more = f"; {_listed(_counts(left))} {'was' if _is(left) == 'is' else 'were'} not compared" if left else ""
    wrong = [row for row in compared if not row.same]
    if not compared:
        return "nothing was compared"
    if wrong:
        of = [_share(wrong, compared, kind) for kind in _kinds(wrong)]
        by = f" by more than {proof.tolerance:g}" if proof.tolerance else ""
        return f"{_listed(of)} {'differs' if _is(wrong) == 'is' else 'differ'}{by}{more}"
    seen = [row for row in compared if row.kind in ("denoised", "output")] if proof.tolerance else []
    exact = [row for row in compared if row not in seen]
    told = []
    if exact:
        told.append(f"{_listed(_counts(exact))} {_is(exact)} the same, {closely(proof.tolerance)}")
    if seen:
        told.append(f"{_listed(_counts(seen))} {'looks' if _is(seen) == 'is' else 'look'} the same")
    return f"{', and '.join(told)}{more}"


def uncompared(proof: Proof) -> list[Row]:
    """What nothing is known of, such as passes of which only a digest is left where a tolerance counts."""
    known = {(row.kind, row.called) for row in proof.rows if _was_compared(row)}
    return [row for row in proof.rows if not _was_compared(row) and (row.kind, row.called) not in known]


def unnumbered(proof: Proof) -> bool:
    """Whether a pass differs, and nobody knows by how much: only its digest was left."""
    return any(row.kind == "pass" and not row.same and row.differing is None for row in proof.rows)


def proves(proof: Proof) -> bool:
    """Whether every pass was compared, or where none is known, every value of what was written."""
    return not proof.tolerance or not any(row.kind == "pass" for row in uncompared(proof))


def closely(tolerance: float) -> str:
    """“bit for bit”, “within 1e-05”."""
    return f"within {tolerance:g}" if tolerance else "bit for bit"


def renderer(proof: Proof) -> str:
    """Who rendered the frame whole: “Blender 5.2.3, CPU avx2”."""
    by = proof.render_class
    return f"Blender {by.blender.partition(' ')[0]}, {by.device} {by.kernel}"


def _was_compared(row: Row) -> bool:
    """Whether the row knows: one that is the same has counted its pixels."""
    return not row.same or row.differing is not None


def _alone(row: Row) -> Row:
    """A pass of a file as a thing of its own, as the file may have been compared without it."""
    return row.model_copy(update={"kind": "part", "name": row.called}) if row.part else row


def _kinds(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row.kind for row in rows))


def _count(rows: Sequence[Row], kind: str) -> int:
    """How many there are of a kind: a file of many rows is one."""
    return len({row.name for row in rows if row.kind == kind})


def _is(rows: Sequence[Row]) -> str:
    return "is" if sum(_count(rows, kind) for kind in _kinds(rows)) == 1 else "are"


def _counts(rows: Sequence[Row]) -> list[str]:
    return [_counted(rows, kind) for kind in _kinds(rows)]


def _share(wrong: Sequence[Row], rows: Sequence[Row], kind: str) -> str:
    return _METADATA if kind == "metadata" else f"{_count(wrong, kind)} of {_counted(rows, kind)}"


def _counted(rows: Sequence[Row], kind: str) -> str:
    if kind == "metadata":
        return _METADATA
    count = _count(rows, kind)
    one, many = _NOUNS.get(kind, (kind, kind))
    return f"{count} {one if count == 1 else many}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
