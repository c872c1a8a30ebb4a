"""Frames that depend on frames: what a worker has played decides which process renders what is next."""

from __future__ import annotations

from typing import Any

import pytest

from farm.domain.scene import Finding, SceneReport, Weight
from tests.integration.workers.conftest import PLAN, Bench
from tests.integration.workers.test_pieces import asked, only, report
from workers.playhead import APART, Playhead
from workers.protocol import RenderFrame

__all__ = ["asked"]

IN_ORDER = PLAN.model_copy(update={"in_order": True, "frames": "1-20"})


def simulated(*codes: str) -> SceneReport:
    found = tuple(Finding(code=code, weight=Weight.NOTE, what="It falls.") for code in codes)
    return report(in_order=found)


async def pid_of(bench: Bench, frame: int, blend: Any, **more: Any) -> int:
    """Render a frame; the process that did it."""
    order = {"plan": IN_ORDER, "report": simulated("cloth"), **more}
    await bench.worker.start(bench.order(f"job/{frame}/whole", blend, **order))
    ended = await bench.end()
    assert ended["result"] is not None, ended["failure"]
    session = bench.worker._session
    assert session is not None
    assert session._render is not None
    return session._render.pid


async def test_frames_in_order_go_on_in_the_process_that_played_those_before(
    bench: Bench, asked: list[Any]
) -> None:
    scene = bench.scene()
    assert len({await pid_of(bench, frame, scene) for frame in (2, 3, 7)}) == 1
    looks = [request.look for request in asked if isinstance(request, RenderFrame)]
    assert [(look.frame, look.play_from) for look in looks] == [(2, 1), (3, 1), (7, 1)]


async def test_a_frame_that_has_gone_by_is_played_again_from_the_start(bench: Bench) -> None:
    scene = bench.scene()
    first = await pid_of(bench, 3, scene)
    assert await pid_of(bench, 3, scene) == first  # from what was played
    again = await pid_of(bench, 2, scene)
    assert again != first
    assert await pid_of(bench, 3, scene) == again


async def test_another_scene_of_the_file_has_a_process_of_its_own(bench: Bench) -> None:
    scene = bench.scene()
    first = await pid_of(bench, 2, scene)
    assert await pid_of(bench, 3, scene, scene="Other") != first


async def test_an_inspection_leaves_the_process_to_the_first_frame(bench: Bench) -> None:
    scene = bench.scene()
    await bench.result("job/inspect", scene, plan=None)
    assert bench.worker._session is not None
    assert bench.worker._session._render is not None
    inspected = bench.worker._session._render.pid
    assert await pid_of(bench, 1, scene) == inspected


async def test_frames_that_a_render_disturbs_are_each_played_in_a_process_of_their_own(bench: Bench) -> None:
    scene = bench.scene()
    disturbed = {"report": simulated("cloth", APART)}
    assert len({await pid_of(bench, frame, scene, **disturbed) for frame in (2, 2, 3)}) == 3


async def test_frames_that_stand_alone_are_not_played(bench: Bench, asked: list[Any]) -> None:
    await bench.result("job/2/whole", bench.scene(), report=report())
    assert only(asked, RenderFrame).look.play_from is None


@pytest.mark.parametrize(
    ("scene", "frame", "leads"), [(None, 5, True), (None, 6, True), (None, 4, False), ("Scene", 6, False)]
)
def test_time_runs_one_way(scene: str | None, frame: int, leads: bool) -> None:
    assert Playhead(None, 5).leads_to(Playhead(scene, frame)) is leads
