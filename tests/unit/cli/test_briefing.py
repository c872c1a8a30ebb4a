"""What a watched job tells once it is planned: once, and nothing that was said before."""

from pathlib import Path

import pytest

from farm.assets import pack as pack_room
from farm.assets.trace import Needs
from farm.domain.plan import SampleRange
from farm.domain.scene import Finding, SceneReport, Weight

UNBAKED = Finding(
    code="unbaked-simulation", weight=Weight.WARNING, what="The cloth is not baked.", cure="Bake it."
)
NOTE = Finding(code="png-instead", weight=Weight.NOTE, what="Frames are written as PNG.")
ADAPTIVE = Finding(
    code="adaptive-sampling",
    weight=Weight.NOTE,
    what="Adaptive sampling looks around.",
    cure="Switch it off.",
)


def missing(*names: str, more: int = 0) -> Finding:
    listed = ", ".join(f"“{name}”" for name in names) + (f" and {more} more" if more else "")
    return Finding(
        code="missing-image",
        weight=Weight.WARNING,
        what=f"Images whose files are not there: {listed}.",
        cure="Send them.",
    )


def report(*findings: Finding, **more) -> SceneReport:
    return SceneReport(
        scene="Scene",
        scenes=("Scene",),
        camera="Camera",
        cameras=("Camera",),
        frame_start=1,
        frame_end=1,
        full_width=64,
        full_height=36,
        percentage=100,
        engine="CYCLES",
        samples=8,
        file_format="PNG",
        findings=findings,
        **more,
    )


@pytest.fixture
def rendered(cli, farm, blend):
    """Renders one frame of a scene with this report."""

    def render(found: SceneReport, *options: str, exact: bool = True, **plan):
        def work(job_id: str) -> None:
            farm.plan(job_id, "1", found, exact, **plan)
            farm.finish(job_id, 1, {})
            farm.end(job_id)

        farm.on_submit = work
        return cli("render", blend, *options)

    return render


@pytest.fixture
def lacks(monkeypatch):
    """Lets the look at the file on this machine find that so many of its files are not there."""

    def trace(count: int) -> None:
        gone = {Path(f"/p/{number}.png"): None for number in range(count)}
        monkeypatch.setattr(pack_room, "needs_of", lambda _: Needs(missing=gone))

    return trace


def test_plan_and_warnings_are_told_once_and_notes_are_not(rendered):
    said = rendered(report(UNBAKED, NOTE))
    assert said.out.splitlines()[1] == "Plan: one worker: whole frames."
    assert said.out.count("Plan:") == 1
    assert said.err == "Note: The cloth is not baked. Bake it.\n"


def test_with_json_neither_is_told(rendered):
    said = rendered(report(UNBAKED), "--json", exact=False)
    assert said.err == ""
    assert said.json["state"] == "done"


@pytest.mark.parametrize(
    ("gone", "found", "told_again"),
    [
        (2, missing("a", "b"), False),
        (7, missing("a", "b", "c", "d", "e", more=2), False),
        (1, missing("a", "b"), True),
        (0, missing("a"), True),
    ],
)
def test_files_that_the_trace_named_are_not_named_again(rendered, lacks, gone, found, told_again):
    lacks(gone)
    said = rendered(report(found, UNBAKED))
    assert ("Images whose files are not there" in said.err) is told_again
    assert "The cloth is not baked." in said.err


def test_a_forced_split_says_why_it_may_differ(rendered):
    said = rendered(report(breaks_exactness=(ADAPTIVE,)), exact=False)
    assert said.err == (
        "Note: Frames in tiles may differ a little from whole ones. "
        "Adaptive sampling looks around. Switch it off.\n"
    )
    assert rendered(report(breaks_exactness=(ADAPTIVE,))).err == "", "whole frames are exact"
    assert "--tiles none" in rendered(report(), exact=False).err


def test_frames_cut_by_samples_say_why_they_may_differ(rendered):
    halves = [SampleRange(first=first, count=4, total=8) for first in (0, 4)]
    both = report(breaks_exactness=(UNBAKED,), breaks_ranges=(ADAPTIVE,))
    assert rendered(both, exact=False, ranges=halves).err == (
        "Note: Frames by samples may differ a little from whole ones. "
        "Adaptive sampling looks around. Switch it off.\n"
    )
    independent = [halves[0], SampleRange(first=0, count=4, total=4, seed=1)]
    said = rendered(report(), exact=False, ranges=independent, reason="not identical to 8 samples")
    assert (said.err, said.out.splitlines()[1]) == ("", "Plan: not identical to 8 samples.")


def test_frames_that_depend_on_each_other_say_what_makes_them(rendered):
    said = rendered(report(in_order=(UNBAKED,)), in_order=True)
    assert said.err == "Note: The cloth is not baked. Bake it.\n"
    assert rendered(report(UNBAKED, in_order=(UNBAKED,))).err == said.err, "told once"


def test_watch_tells_them_too(cli, farm, blend, rendered):
    rendered(report(missing("a"), UNBAKED))
    said = cli("watch", "job1")
    assert said.out.splitlines()[0] == "Plan: one worker: whole frames."
    assert len(said.err.splitlines()) == 2
