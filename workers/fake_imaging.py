"""The imaging process's answers without a picture library: pictures are known by their bytes.

Standard library only.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from workers.child import Link, Refusal
from workers.exr_header import NotExr, read_parts
from workers.fake_pictures import DARK, LIT, NAN, exr
from workers.protocol import CheckPiece, Compare, Done, MergeFrame, PieceFile, Shrink

COMBINED = "ViewLayer.Combined"


def check_piece(request: CheckPiece, link: Link) -> Done:
    del link
    data = Path(request.path).read_bytes()
    try:
        [part] = read_parts(Path(request.path), names=True)
    except NotExr as reason:
        raise Refusal("bad-result", f"The piece cannot be read: {reason}.") from reason
    there = {channel.rpartition(".")[0] for channel in part.channels}
    missing = [name for name in request.passes if name not in there]
    if missing:
        raise Refusal("bad-result", f"The piece has no “{missing[0]}”.")
    if data == exr(request.width, request.height, NAN):
        raise Refusal("bad-result", f"The piece has pixels without a finite value in “{COMBINED}”.")
    return Done()


def merge_frame(request: MergeFrame, link: Link) -> Done:
    """The answer's times are absurd: a worker counts its own."""
    del link
    area = request.area or [0, 0, request.width, request.height]
    kinds = [_kind(piece) for piece in request.pieces]
    foreign = [number for number, kind in enumerate(kinds) if not kind]
    if foreign:
        raise Refusal("bad-result", f"Piece {foreign[0] + 1} is not what was rendered.", pieces=foreign)
    wanted, covered = area[2] * area[3], sum(piece.core[2] * piece.core[3] for piece in request.pieces)
    if all(piece.samples for piece in request.pieces):
        wanted *= len(request.pieces)
    if covered != wanted:
        raise Refusal("bad-result", f"The pieces cover {covered} pixels.")
    lit = "lit" in kinds
    suspects = [
        number
        for number, (piece, kind) in enumerate(zip(request.pieces, kinds, strict=True))
        if kind == "dark" and lit and not piece.sure
    ]
    merged = exr(area[2], area[3], LIT if lit else DARK)
    if not suspects:
        Path(request.out).write_bytes(merged)
    return Done(
        seconds={"load": 1000.0, "save": 1000.0},
        report={"digests": {COMBINED: hashlib.sha256(merged).hexdigest()}, "suspects": suspects},
    )


def compare(request: Compare, link: Link) -> Done:
    del link
    theirs = hashlib.sha256(Path(request.reference).read_bytes()).hexdigest()
    if request.candidate:
        ours = {COMBINED: hashlib.sha256(Path(request.candidate).read_bytes()).hexdigest()}
    else:
        ours = request.digests
    rows: list[dict[str, Any]] = []
    for name, digest in ours.items():
        same = digest == theirs
        counted = 0 if same else None
        rows.append({"kind": "pass", "name": name, "same": same, "differing": counted, "largest": counted})
    return Done(report={"rows": rows})


def shrink(request: Shrink, link: Link) -> Done:
    del link
    Path(request.out).write_bytes(Path(request.source).read_bytes())
    return Done()


def _kind(piece: PieceFile) -> str:
    """What a piece holds: ``lit`` or ``dark``; empty for anything but what was rendered."""
    data = Path(piece.path).read_bytes()
    for kind, pixel in (("lit", LIT), ("dark", DARK)):
        if data == exr(piece.rendered[2], piece.rendered[3], pixel):
            return kind
    return ""
