from __future__ import annotations

import pytest
from pydantic import ValidationError

from farm.domain.errors import UsageError
from farm.domain.frames import FrameRange
from farm.domain.job import JobSpec, RenderSettings
from farm.domain.plan import Cut, Plan
from farm.domain.scene import Blob, SceneManifest
from farm.domain.task import TaskKind
from farm.domain.tiles import Box, Size, Tile
from farm.domain.work import Cause, Failure, Order, PieceRef, Progress, RenderClass, Report, Result

BLOB = Blob(sha256="a" * 64, bytes=10)
CLASS = RenderClass(blender="5.2.3 e13b728c6880", device="CPU", kernel="avx2")


def plan(**fields: object) -> Plan:
    base: dict[str, object] = {"frames": "1-10x2", "width": 161, "height": 91, "reason": "because"}
    return Plan.model_validate(base | fields)


def test_a_plan_names_its_tiles_without_listing_them() -> None:
    made = plan(grid="2x2", overlap=8)

    assert made.size == Size(161, 91)
    assert made.pieces_per_frame == 4
    assert made.piece(3) == Cut(Tile(3, Box(80, 45, 81, 46), Box(72, 37, 89, 54)))
    assert made.frame_range == FrameRange.parse("1-9x2")


def test_a_plan_of_whole_frames_has_no_tiles() -> None:
    assert plan().pieces_per_frame == 0
    with pytest.raises(ValueError, match="cuts no frames"):
        plan().piece(0)


def test_a_tile_outside_of_a_plan_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        plan(grid="2x2").piece(4)


def test_a_plan_of_a_million_tasks_is_as_small_as_one_of_ten() -> None:
    made = plan(frames="1-1000000", grid="4x4")

    assert len(made.frame_range) * made.pieces_per_frame == 16_000_000
    assert len(made.model_dump_json()) < 300


def test_a_plan_and_an_order_survive_the_wire() -> None:
    order = Order(
        attempt_id="a7f",
        task="k3m9/2/finish",
        kind=TaskKind.FINISH,
        scene_id="b" * 64,
        manifest=SceneManifest(main="a.blend", files={"a.blend": BLOB}),
        settings=RenderSettings(samples=8),
        prefix="jobs/k3m9/frames/0002/finish/a7f/",
        plan=plan(grid="2x2", overlap=8),
        pieces=(PieceRef(tile=0, key="jobs/x", blob=BLOB, render_class=CLASS),),
        render_class=CLASS,
    )

    assert Order.model_validate_json(order.model_dump_json()) == order
    assert Order.model_validate(order.model_dump(mode="json")) == order


@pytest.mark.parametrize("field", [{"frames": "5-1"}, {"tiles": "0x0"}])
def test_settings_refuse_a_wrong_range_or_grid_in_the_words_of_the_range_or_grid(
    field: dict[str, str],
) -> None:
    with pytest.raises(UsageError):
        RenderSettings.model_validate(field)


def test_only_the_scene_or_a_missing_device_stops_a_job() -> None:
    assert {cause for cause in Cause if cause.stops_job} == {Cause.BAD_SCENE, Cause.NO_DEVICE}


def test_only_what_is_not_the_tasks_fault_is_retried_for_free() -> None:
    assert {cause for cause in Cause if cause.free_retry} == {Cause.LOST, Cause.PREEMPTED, Cause.STORAGE}


def test_a_report_is_numbered_from_one() -> None:
    with pytest.raises(ValidationError):
        Report(sequence=0, attempt_id="a7f", progress=Progress())


@pytest.mark.parametrize(
    "content",
    [
        {"progress": Progress(phase="merging", sample=1, samples=4)},
        {"result": Result(render_class=CLASS, notes=("note",))},
        {"failure": Failure(cause=Cause.BAD_RESULT, what="It is cut short.")},
    ],
)
def test_a_report_survives_the_wire(content: dict[str, object]) -> None:
    report = Report.model_validate({"sequence": 1, "attempt_id": "a7f", **content})

    assert Report.model_validate(report.model_dump(mode="json")) == report


def test_render_classes_that_differ_in_anything_are_different() -> None:
    for field in ("blender", "device", "kernel"):
        assert CLASS.model_copy(update={field: "other"}) != CLASS
    assert str(CLASS) == "Blender 5.2.3 e13b728c6880, CPU avx2"


def test_a_jobs_name_is_one_line_whatever_the_file_was_called() -> None:
    spec = JobSpec(name="a\nb\0c\x1b[31m ", scene_id="0" * 64)
    assert spec.name == "a b c [31m"
    with pytest.raises(ValidationError):
        JobSpec(name="\n", scene_id="0" * 64)
