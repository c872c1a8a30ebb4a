"""What a benchmark says about its numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from rich.console import Console

from benchmarks import ways
from benchmarks.render import main
from benchmarks.report import Report, same_pictures
from benchmarks.ways import BenchmarkFailed, Timing


def timing(way: str, wall: float, frames: tuple[float, ...] = (3.0, 1.0, 2.0)) -> Timing:
    return Timing(way, wall, frames, Path("nowhere"))


def report(scene: str, plain: float, tuned: float, warm: float, *, same: bool = True) -> Report:
    return Report(
        scene,
        3,
        timing("plain loop", plain),
        timing("process per frame", plain * 1.2),
        timing("hand-tuned loop", tuned),
        timing("farm, first render", warm * 1.5),
        timing("farm, warm", warm),
        4.5,
        same,
    )


def shown(of: Report) -> str:
    plain = Console(width=120)
    with plain.capture() as words:
        plain.print(of.shown())
    return words.get()


def test_later_frames_are_the_median_without_the_first() -> None:
    assert timing("x", 1.0, (9.0, 1.0, 2.0, 4.0)).later == 2.0
    assert timing("x", 1.0, (9.0, 1.0, 2.0)).later == 1.5
    assert timing("x", 1.0, (9.0,)).later == 9.0


def test_the_sync_heavy_scene_is_held_to_both_of_its_goals() -> None:
    goals = report("forest", plain=80.0, tuned=10.0, warm=10.0).goals()
    assert [(goal.measured, goal.met) for goal in goals] == [(8.0, True), (1.0, True)]
    missed = report("forest", plain=79.0, tuned=9.0, warm=10.0).goals()
    assert [goal.met for goal in missed] == [False, False]


def test_the_light_scene_is_held_to_the_plain_loop() -> None:
    assert [goal.met for goal in report("turntable", plain=100.0, tuned=90.0, warm=102.0).goals()] == [True]
    assert [goal.met for goal in report("turntable", plain=100.0, tuned=90.0, warm=102.1).goals()] == [False]


def test_a_missed_goal_says_where_the_time_goes() -> None:
    words = shown(report("turntable", plain=7.0, tuned=7.0, warm=10.0))
    assert "1.43 times the plain loop's time; goal at most 1.02: MISSED" in words
    assert "Its frames took 6.0 s of its 10.0 s" in words


def test_different_pictures_are_told() -> None:
    assert "PICTURES DIFFER" in shown(report("forest", 80.0, 10.0, 5.0, same=False))
    assert "PICTURES DIFFER" not in shown(report("forest", 80.0, 10.0, 5.0))


def test_pictures_are_compared_by_pixel_and_by_count(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
    assert not same_pictures(one, other), "two empty folders prove nothing"
    Image.new("RGB", (4, 3), (10, 20, 30)).save(one / "frame_0001.png")
    assert not same_pictures(one, other)
    Image.new("RGB", (4, 3), (10, 20, 30)).save(other / "shot_0001.png", compress_level=0)
    assert same_pictures(one, other)
    Image.new("RGB", (4, 3), (10, 20, 31)).save(other / "shot_0001.png")
    assert not same_pictures(one, other)


def test_the_farm_is_ended_when_its_render_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = []

    def run(command: list[str], environment: dict[str, str]) -> dict[str, object]:
        calls.append((command[4], environment["FARM_HOME"]))
        return {"state": "failed", "frames": []} if command[4] == "render" else {}

    monkeypatch.setattr(ways, "_run", run)
    monkeypatch.setenv("FARM_URL", "http://127.0.0.1:1")
    with pytest.raises(BenchmarkFailed, match="ended as failed"), ways.farm(tmp_path):
        ways.farm_render("farm", tmp_path, tmp_path / "a.blend", tmp_path / "out", 2)
    assert calls == [(verb, str(tmp_path)) for verb in ("up", "render", "down")]


def test_a_command_that_fails_is_told_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkFailed, match="exit code 1") as failure:
        ways.loop(tmp_path / "missing.blend", tmp_path, 1, keep=False)
    assert "missing.blend" in str(failure.value)


@pytest.mark.parametrize("frames", ["0", "25"])
def test_frames_that_the_scenes_lack_are_refused(frames: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--frames", frames])
    assert left.value.code == 2
    assert f"--frames {frames}: the scenes have frames 1 to 24" in capsys.readouterr().err
