"""Pieces through the worker: what is asked of Blender, what counts, and what a finish makes of them."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from farm.domain.plan import SampleRange
from farm.domain.scene import Blob, LayerReport, SceneReport
from farm.domain.work import PieceRef
from tests.integration.workers.conftest import PLAN, TILED, Bench
from tests.integration.workers.test_orders import stored
from workers import fake_pictures
from workers.children import Child
from workers.protocol import CheckPiece, FinishFrame, MergeFrame, RenderTile

HALVES = tuple(SampleRange(first=first, count=8, total=16, seed=3) for first in (0, 8))
RANGED = PLAN.model_copy(update={"ranges": HALVES})
REGION = TILED.model_copy(update={"region": (10, 4, 40, 20), "grid": "2x1"})
LIT = fake_pictures.exr(64, 36)


def report(**more: Any) -> SceneReport:
    return SceneReport(
        scene="Scene",
        scenes=("Scene",),
        camera="Camera",
        cameras=("Camera",),
        frame_start=1,
        frame_end=3,
        full_width=64,
        full_height=36,
        percentage=100,
        engine="CYCLES",
        samples=16,
        file_format="PNG",
        **more,
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every request to a child, in order."""
    requests: list[Any] = []
    ask = Child.ask

    async def noted(self: Child, request: Any, *more: Any) -> Any:
        requests.append(request)
        return await ask(self, request, *more)

    monkeypatch.setattr(Child, "ask", noted)
    return requests


def only(asked: list[Any], kind: type[Any]) -> Any:
    [found] = [request for request in asked if isinstance(request, kind)]
    return found


async def test_a_range_asks_for_its_samples_of_the_whole_picture(bench: Bench, asked: list[Any]) -> None:
    result = await bench.result("job/1/tile-1", bench.scene(), plan=RANGED)
    request = only(asked, RenderTile)
    assert request.samples == [8, 8, 16, 3]
    assert request.border == [0.0, 1.0, 0.0, 1.0]
    assert stored(bench.storage, result)["_farm/piece.exr"][2] == len(LIT)


async def test_a_tile_of_a_region_lies_in_the_frame_and_its_overlap_stays_in_the_region(
    bench: Bench, asked: list[Any]
) -> None:
    await bench.result("job/1/tile-1", bench.scene(), plan=REGION)
    request = only(asked, RenderTile)
    # Columns 26 to 49 of 64, rows 4 to 23 of 36 from the top.
    assert (request.width, request.height) == (24, 20)
    assert request.border == pytest.approx([26.5 / 64, 50.5 / 64, 12.5 / 36, 32.5 / 36])
    assert request.samples is None


async def test_what_is_stored_is_what_was_checked_for_every_pass_of_the_scene(
    bench: Bench, asked: list[Any]
) -> None:
    not_of_pieces = ("Noisy Image", "Noisy Shadow Catcher", "Render Time")  # not denoised, perhaps on a GPU
    layers = (LayerReport(name="A", passes=("Combined", *not_of_pieces, "Depth")), LayerReport(name="B"))
    failure = await bench.failure("job/1/tile-0", bench.scene(), plan=TILED, report=report(layers=layers))
    assert only(asked, CheckPiece).passes == ["A.Combined", "A.Depth"]
    assert (failure["cause"], failure["what"]) == ("bad-result", "The piece has no “A.Combined”.")


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("not-finite", "without a finite value in “ViewLayer.Combined”"),
        ("no-combined", "has no “ViewLayer.Combined”"),
    ],
)
async def test_a_piece_that_is_no_picture_fails_and_leaves_nothing(
    bench: Bench, behaviour: str, words: str
) -> None:
    layers = (LayerReport(name="ViewLayer", passes=("Combined",)),)
    scene = bench.scene(f"rendertile = {behaviour}")
    failure = await bench.failure("job/1/tile-0", scene, plan=TILED, report=report(layers=layers))
    assert failure["cause"] == "bad-result"
    assert words in failure["what"]
    assert failure["pieces"] == []
    assert not [key for key in bench.storage.keys("jobs/") if key.endswith("piece.exr")]


async def test_ranges_and_their_digests(bench: Bench, asked: list[Any]) -> None:
    scene = bench.scene()
    pieces = await bench.pieces(scene, plan=RANGED)
    asked.clear()
    result = await bench.result("job/1/finish", scene, plan=RANGED, pieces=pieces)
    merge = only(asked, MergeFrame)
    assert [piece.samples for piece in merge.pieces] == [[0, 8, 16, 3], [8, 8, 16, 3]]
    assert [piece.core for piece in merge.pieces] == [[0, 0, 64, 36]] * 2
    assert merge.area is None
    assert result["digests"] == {"ViewLayer.Combined": hashlib.sha256(LIT).hexdigest()}


async def test_the_pieces_of_a_region_are_merged_in_the_frames_coordinates(
    bench: Bench, asked: list[Any]
) -> None:
    scene = bench.scene()
    pieces = await bench.pieces(scene, plan=REGION)
    asked.clear()
    result = await bench.result("job/1/finish", scene, plan=REGION, pieces=pieces)
    merge = only(asked, MergeFrame)
    assert (merge.width, merge.height, merge.area) == (64, 36, [10, 4, 40, 20])
    assert [piece.core for piece in merge.pieces] == [[10, 4, 20, 20], [30, 4, 20, 20]]
    assert result["digests"] == {"ViewLayer.Combined": hashlib.sha256(fake_pictures.exr(40, 20)).hexdigest()}


async def test_the_passes_that_are_kept_are_those_of_the_finished_frame(
    bench: Bench, asked: list[Any]
) -> None:
    scene = bench.scene()
    pieces = await bench.pieces(scene)
    result = await bench.result("job/1/finish", scene, plan=TILED, pieces=pieces, keep_exr=True)
    assert only(asked, FinishFrame).exr.endswith("/passes.exr")
    assert stored(bench.storage, result)["exr/0001.exr"] == ("exr", "image/x-exr", len(LIT))


async def test_kept_passes_of_a_cropped_region_have_its_size(bench: Bench) -> None:
    scene = bench.scene()
    pieces = await bench.pieces(scene, plan=REGION)
    more: dict[str, Any] = {"plan": REGION, "pieces": pieces, "keep_exr": True}
    assert await bench.result("job/1/finish", scene, report=report(crops=True), **more)
    failure = await bench.failure("job/1/finish", scene, report=report(), **more)
    assert failure["what"] == "The passes of frame 1 has 40×20 pixels, not 64×36."


async def dark_pieces(bench: Bench, renders: int = 1) -> tuple[PieceRef, ...]:
    """The pieces of a frame, the third of them dark, all rendered ``renders`` times."""
    pieces = list(await bench.pieces(bench.scene()))
    third = await bench.result("job/1/tile-2", bench.scene("rendertile = dark"), plan=TILED)
    [file] = [file for file in third["files"] if file["role"] == "piece"]
    found = {"key": file["key"], "blob": Blob(**file["blob"])}
    pieces[2] = pieces[2].model_copy(update=found)
    return tuple(piece.model_copy(update={"renders": renders}) for piece in pieces)


async def test_a_dark_piece_among_others_is_named_to_be_rendered_once_more(bench: Bench) -> None:
    failure = await bench.failure("job/1/finish", bench.scene(), plan=TILED, pieces=await dark_pieces(bench))
    assert failure["cause"] == "bad-result"
    assert failure["what"] == (
        "Piece 3 of 4 is black and transparent throughout, though its neighbours are not at their common "
        "edge. It is rendered again to be sure."
    )
    assert failure["pieces"] == [2]


async def test_a_piece_that_is_dark_for_the_second_time_is_taken(bench: Bench) -> None:
    pieces = await dark_pieces(bench, renders=2)
    assert await bench.result("job/1/finish", bench.scene(), plan=TILED, pieces=pieces)


async def test_pieces_that_storage_lost_or_damaged_are_all_named(bench: Bench) -> None:
    scene = bench.scene()
    pieces = await bench.pieces(scene)
    bench.storage.put_stream(pieces[2].key, [b"something else"])
    bench.storage.delete_prefix(pieces[0].key)
    failure = await bench.failure("job/1/finish", scene, plan=TILED, pieces=pieces)
    assert failure["cause"] == "bad-result"
    assert failure["what"].startswith("Pieces 1, 3 of 4 are gone from storage, or damaged there.")
    assert failure["pieces"] == [0, 2]


async def test_a_piece_that_the_merge_refuses_is_named(bench: Bench) -> None:
    scene = bench.scene()
    pieces = list(await bench.pieces(scene))
    foreign = bench.storage.put_stream(pieces[1].key, [fake_pictures.exr(3, 3)])
    pieces[1] = pieces[1].model_copy(update={"blob": foreign})
    failure = await bench.failure("job/1/finish", scene, plan=TILED, pieces=tuple(pieces))
    assert (failure["cause"], failure["pieces"]) == ("bad-result", [1])


async def test_merged_frame_and_pieces_are_gone_once_they_are_not_needed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies on the worker's disk when Blender is asked to finish, and when the outputs are stored."""
    seen: list[list[str]] = []
    ask, store = Child.ask, "workers.attempt.Attempt.store"

    def lying() -> list[str]:
        assert bench.worker._session is not None
        root = bench.worker._session.root
        return sorted(path.name for path in root.rglob("*.exr"))

    async def noted(self: Child, request: Any, *more: Any) -> Any:
        if isinstance(request, FinishFrame):
            seen.append(lying())
        return await ask(self, request, *more)

    async def stop(*_: Any) -> None:
        seen.append(lying())
        raise OSError("enough")

    pieces = await bench.pieces(bench.scene())
    monkeypatch.setattr(Child, "ask", noted)
    monkeypatch.setattr(store, stop)
    await bench.failure("job/1/finish", bench.scene(), plan=TILED, pieces=pieces)
    assert seen == [["merged.exr"], []]
