from __future__ import annotations

from typing import Any

import pytest

from farm.domain.scene import Blob
from farm.domain.work import PieceRef, RenderClass
from workers.failures import AttemptFailed
from workers.steps.finish import digests_of
from workers.steps.pieces import numbered, suspected

CLASS = RenderClass(blender="5.2.3 e13b", device="CPU", kernel="avx2")
REFS = [
    PieceRef(tile=tile, key=f"{tile}", blob=Blob(sha256="0" * 64, bytes=1), render_class=CLASS)
    for tile in (4, 5, 9)
]


@pytest.mark.parametrize("said", [None, "02", 1, {"0": 1}, [True, "1", 2.0, None, -1, 3, 10**30]])
def test_what_a_child_blames_must_be_a_piece_that_it_was_given(said: object) -> None:
    assert numbered(REFS, said) == []


def test_a_child_counts_from_nought_in_what_it_was_given() -> None:
    assert numbered(REFS, [2, 0, 2]) == [4, 9]


def test_many_suspects_are_one_sentence() -> None:
    failed = suspected(list(range(12)), 40)
    assert failed.what.startswith("Pieces 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more of 40 are black")
    assert failed.pieces == tuple(range(12))


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"digests": []},
        {"digests": {"A": "0" * 63}},
        {"digests": {"A": "G" * 64}},
        {"digests": {"A": 1}},
        {"digests": {"": "0" * 64}},
        {"digests": {"A" * 1001: "0" * 64}},
        {"digests": {f"{number}": "0" * 64 for number in range(10_001)}},
    ],
)
def test_digests_are_digests_and_few(said: dict[str, Any]) -> None:
    with pytest.raises(AttemptFailed, match="digests"):
        digests_of(said)


def test_names_of_passes_are_text() -> None:
    assert digests_of({"digests": {"K\ud800.Depth": "a" * 64}}) == {"K?.Depth": "a" * 64}
