"""Frames that depend on frames: found by the inspection, and the same bits however they are come by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from farm.domain.scene import SceneReport, Weight
from tests.integration.blender.driver import RenderProcess, look, read_exr, same_bits
from tests.integration.blender.simulated import KINDS, SMALL, plain, simulating
from workers.inside_blender.simulation import APART as FOUND_APART
from workers.playhead import APART
from workers.protocol import Inspect, RenderFrame, RenderTile

Start = Callable[..., RenderProcess]
Build = Callable[..., Path]
BLUR = "scene.render.use_motion_blur = True"


def passes(child: RenderProcess, folder: Path, frame: int, play_from: int | None = 1) -> Path:
    """All passes of a frame rendered by ``child``."""
    out = folder / f"{child.child.pid}-{frame}-{play_from}"
    request = RenderFrame(
        look(frame, play_from=play_from), str(out), str(folder / "preview.jpg"), str(out / "passes.exr")
    )
    child.done(request)
    return out / "passes.exr"


def report(child: RenderProcess) -> SceneReport:
    return SceneReport.model_validate(child.done(Inspect()).report)


def codes(child: RenderProcess) -> list[str]:
    return [finding.code for finding in report(child).in_order]


def differ(first: Path, second: Path) -> list[str]:
    return same_bits(read_exr(first), read_exr(second))


def test_the_worker_and_the_inspection_mean_the_same_finding() -> None:
    assert APART == FOUND_APART


@pytest.mark.parametrize("kind", KINDS)
def test_frames_in_order_are_those_of_a_blender_that_has_played_the_timeline(
    start: Start, build: Build, tmp_path: Path, kind: str
) -> None:
    scene = build(extra=simulating(kind), **SMALL)
    warm = start(scene)
    found = report(warm).in_order
    assert [finding.code for finding in found] == [kind]
    assert found[0].cure.startswith("Bake it")
    frames = {frame: passes(warm, tmp_path, frame) for frame in (1, 4, 7)}
    for frame in (4, 7):
        assert differ(frames[frame], plain(scene, tmp_path / f"plain-{frame}", (1, 12), frame)) == []
    assert differ(passes(start(scene), tmp_path, 7), frames[7]) == []
    assert differ(passes(warm, tmp_path, 7), frames[7]) == []
    assert differ(passes(start(scene), tmp_path, 7, None), frames[7])  # or none of this were needed


@pytest.mark.parametrize("kind", KINDS)
def test_with_motion_blur_a_frame_is_played_as_far_as_it_looks(
    start: Start, build: Build, tmp_path: Path, kind: str
) -> None:
    scene = build(extra=simulating(kind, BLUR), **SMALL)
    child = start(scene)
    apart = kind not in ("rigid-bodies", "simulation-nodes")
    assert codes(child) == [kind, APART] if apart else [kind]
    if not apart:
        passes(child, tmp_path, 3)  # what only reads what was played can go on
    theirs = plain(scene, tmp_path / "plain", (1, 12), 6)
    assert differ(passes(child, tmp_path, 6), theirs) == []


def test_a_piece_is_played_as_a_frame_is(start: Start, build: Build, tmp_path: Path) -> None:
    scene = build(extra=simulating("rigid-bodies"), **SMALL)
    child = start(scene)
    piece = tmp_path / "piece.exr"
    request = RenderTile(
        look(7, play_from=1), [0.0, 1.0, 0.0, 1.0], 48, 27, str(piece), str(tmp_path / "preview.jpg")
    )
    child.done(request)
    theirs = plain(scene, tmp_path / "plain", (1, 7), 7)
    assert [name for name in differ(piece, theirs) if not name.startswith("Composite")] == []


def test_time_does_not_run_back(start: Start, build: Build, tmp_path: Path) -> None:
    child = start(build(extra=simulating("rigid-bodies"), **SMALL))
    passes(child, tmp_path, 4)
    out = str(tmp_path / "back")
    failed = child.failed(RenderFrame(look(3, play_from=1), out, str(tmp_path / "preview.jpg")))
    assert failed.cause == "internal"
    assert "frame 4" in failed.what


def test_a_frame_before_the_first_has_nothing_to_play(start: Start, build: Build, tmp_path: Path) -> None:
    scene = build(extra=simulating("rigid-bodies", "scene.frame_start = 5"), **SMALL)
    child = start(scene)
    before = passes(child, tmp_path, 2, 5)
    theirs = plain(scene, tmp_path / "plain", (2, 2), 2)
    assert differ(before, theirs) == []


BAKED = {
    "point caches": simulating("cloth", "bpy.ops.ptcache.bake_all(bake=True)"),
    "rigid bodies": simulating("rigid-bodies", "bpy.ops.ptcache.bake_all(bake=True)"),
    "hair at rest": simulating("particles", "dust.type = 'HAIR'"),
    "particles that stand": simulating("particles", "dust.physics_type = 'NO'"),
    "switched off": simulating("cloth", "thing.modifiers[0].show_render = False"),
    "not rendered": simulating("cloth", "thing.hide_render = True"),
    "no body moves": simulating("rigid-bodies", "thing.rigid_body.kinematic = True"),
}


@pytest.mark.parametrize("what", BAKED)
def test_what_does_not_depend_on_frames_before_is_left_alone(start: Start, build: Build, what: str) -> None:
    assert codes(start(build(extra=BAKED[what], **SMALL))) == []


@pytest.mark.parametrize("target", ["PACKED", "DISK"])
def test_a_baked_zone_is_known_inside_of_the_file_and_beside_it(
    start: Start, build: Build, tmp_path: Path, target: str
) -> None:
    bake = f"""
zone.bake_target = "{target}"
zone.bake_directory = {str(tmp_path / "bake")!r}
scene.view_layers[0].update()
bpy.ops.wm.save_as_mainfile(filepath={str(tmp_path / "first.blend")!r})
bpy.ops.object.geometry_node_bake_single(
    session_uid=thing.session_uid, modifier_name="Fall", bake_id=zone.bakes[0].bake_id)
"""
    child = start(build(extra=simulating("simulation-nodes", bake), **SMALL))
    assert codes(child) == []
    assert (tmp_path / "bake").exists() is (target == "DISK")


def test_a_hidden_cloth_that_carries_what_renders_counts(start: Start, build: Build) -> None:
    carried = "thing.hide_render = True; floor.modifiers.new('Deform', 'SURFACE_DEFORM').target = thing"
    assert codes(start(build(extra=simulating("cloth", carried), **SMALL))) == ["cloth"]


def test_what_the_viewport_hides_is_not_played_and_told(start: Start, build: Build) -> None:
    hidden = simulating("cloth", "thing.modifiers[0].show_viewport = False")
    found = {finding.code: finding for finding in report(start(build(extra=hidden, **SMALL))).in_order}
    assert set(found) == {"cloth", APART, "simulation-unseen"}
    assert "“Suzanne”" in found["simulation-unseen"].what


def test_rigid_bodies_beside_other_simulations_are_told(start: Start, build: Build) -> None:
    both = simulating("rigid-bodies", KINDS["cloth"])
    found = report(start(build(extra=both, **SMALL))).in_order
    assert [(one.code, one.weight) for one in found] == [
        ("cloth", Weight.NOTE),
        ("rigid-bodies", Weight.NOTE),
        ("simulation-race", Weight.WARNING),
    ]


def test_rigid_bodies_with_motion_blur_are_told(start: Start, build: Build) -> None:
    blurred = simulating("rigid-bodies", "scene.render.use_motion_blur = True")
    assert "simulation-race" in codes(start(build(extra=blurred, **SMALL)))
    sharp = simulating("rigid-bodies", "scene.render.use_motion_blur = False")
    assert "simulation-race" not in codes(start(build(extra=sharp, **SMALL)))


def test_what_is_kept_on_disk_alone_is_told(start: Start, build: Build) -> None:
    painted = """
bpy.ops.mesh.primitive_grid_add()
canvas = bpy.context.object
canvas.modifiers.new("Paint", "DYNAMIC_PAINT").ui_type = "CANVAS"
bpy.ops.dpaint.type_toggle(type="CANVAS")
bpy.ops.wm.save_as_mainfile(filepath=bpy.app.tempdir + "saved.blend")  # or there is no disk cache
thing.modifiers[0].point_cache.use_disk_cache = True
"""
    child = start(build(extra=simulating("cloth", painted), **SMALL))
    found = {one.code: one for one in report(child).findings}
    assert "“Grid”" in found["unbaked-simulation"].what
    assert "“Suzanne”" in found["unbaked-simulation"].what


def test_a_bake_that_stayed_behind_is_told(start: Start, build: Build) -> None:
    baked = """
bpy.ops.wm.save_as_mainfile(filepath=bpy.app.tempdir + "elsewhere.blend")
thing.modifiers[0].point_cache.use_disk_cache = True
bpy.ops.ptcache.bake_all(bake=True)
"""
    told = report(start(build(extra=simulating("cloth", baked), **SMALL)))
    assert [finding.code for finding in told.findings] == ["bake-missing"]
    assert told.in_order == ()
