"""A proof in words: what differs, what is the same, and what nobody knows."""

from __future__ import annotations

import pytest

from farm.domain.proved import outcome, proves, renderer, uncompared
from farm.domain.work import Proof, RenderClass, Row

CPU = RenderClass(blender="5.2.3 e13b728c6880", device="CPU", kernel="avx2")
SAME = Row(kind="pass", name="L.Depth", same=True, pixels=4, differing=0, largest=0.0)
OTHER = SAME.model_copy(update={"name": "L.Mist", "same": False, "differing": 2, "largest": 0.5})
DIGEST = Row(kind="pass", name="L.Normal", same=False, pixels=4)
UNKNOWN = Row(kind="pass", name="L.Combined", same=True, pixels=4)
NOBODY = UNKNOWN.model_copy(update={"name": "L.UV"})
UV = SAME.model_copy(update={"name": "L.UV"})
FILE = SAME.model_copy(update={"kind": "output", "name": "a.png"})
LAYERS = FILE.model_copy(update={"name": "b.exr", "note": "12 passes"})
CLOCK = UNKNOWN.model_copy(update={"kind": "output", "name": "b.exr", "part": "L.Render Time"})
INSIDE = OTHER.model_copy(update={"kind": "output", "name": "b.exr", "part": "L.Mist"})
INSIDE_TOO = INSIDE.model_copy(update={"part": "L.Depth"})
DATA = SAME.model_copy(update={"kind": "metadata", "name": "metadata"})


@pytest.mark.parametrize(
    ("rows", "tolerance", "said"),
    [
        ([SAME], 0.0, "1 pass is the same, bit for bit"),
        ([SAME, UV, FILE, DATA], 0.0, "2 passes, 1 output and the metadata are the same, bit for bit"),
        ([OTHER, FILE, DATA.model_copy(update={"same": False})], 0.0, "1 of 1 pass and the metadata differ"),
        ([SAME, OTHER, FILE], 0.0, "1 of 2 passes differs"),
        ([OTHER, DIGEST, FILE], 1e-5, "2 of 2 passes differ by more than 1e-05"),
        ([SAME, UNKNOWN], 1e-6, "1 pass is the same, within 1e-06; 1 pass was not compared"),
        ([OTHER, UNKNOWN, NOBODY], 0.0, "1 of 1 pass differs; 2 passes were not compared"),
        ([UV, UV], 0.0, "1 pass is the same, bit for bit"),
        ([SAME, FILE], 1e-6, "1 pass is the same, within 1e-06, and 1 output looks the same"),
        (
            [SAME, SAME.model_copy(update={"kind": "denoised", "name": "L.Combined"}), FILE],
            1e-6,
            "1 pass is the same, within 1e-06, and 1 denoised pass and 1 output look the same",
        ),
        ([FILE, LAYERS, UNKNOWN], 1e-6, "2 outputs look the same; 1 pass was not compared"),
        ([LAYERS, CLOCK], 0.0, "1 output is the same, bit for bit; 1 pass of an output was not compared"),
        ([FILE, LAYERS, INSIDE, INSIDE_TOO], 0.0, "1 of 2 outputs differs"),
        ([UNKNOWN], 0.0, "nothing was compared"),
        ([], 0.0, "nothing was compared"),
    ],
)
def test_the_outcome_counts_what_was_compared(rows: list[Row], tolerance: float, said: str) -> None:
    assert outcome(Proof(frame=1, render_class=CPU, rows=tuple(rows), tolerance=tolerance)) == said


def test_a_pass_that_another_row_compared_is_known() -> None:
    again = UNKNOWN.model_copy(update={"differing": 0, "largest": 0.0})
    assert uncompared(Proof(frame=1, render_class=CPU, rows=(UNKNOWN, again))) == []
    assert uncompared(Proof(frame=1, render_class=CPU, rows=(UNKNOWN, SAME))) == [UNKNOWN]


def test_a_row_of_a_pass_in_a_file_names_both() -> None:
    assert (INSIDE.called, LAYERS.called) == ("b.exr: L.Mist", "b.exr")


@pytest.mark.parametrize(
    ("rows", "tolerance", "proved"),
    [([SAME, FILE], 1e-6, True), ([UNKNOWN, FILE], 1e-6, False), ([UNKNOWN, FILE], 0.0, True)],
)
def test_looking_the_same_proves_nothing(rows: list[Row], tolerance: float, proved: bool) -> None:
    assert proves(Proof(frame=1, render_class=CPU, rows=tuple(rows), tolerance=tolerance)) is proved


def test_the_renderer_is_named_without_its_build() -> None:
    assert renderer(Proof(frame=1, render_class=CPU, rows=())) == "Blender 5.2.3, CPU avx2"
