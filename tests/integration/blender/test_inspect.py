"""The report of a scene, and the plain words about files that are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from farm.domain.scene import SceneReport, Weight
from tests.integration.blender.driver import RenderProcess
from workers.protocol import Inspect, Open

Start = Callable[..., RenderProcess]
Opened = Callable[[Path], RenderProcess]
Build = Callable[..., Path]
SMALL = {"width": 32, "height": 18, "samples": 2, "objects": 2}


def report(child: RenderProcess, **request: object) -> SceneReport:
    return SceneReport.model_validate(child.done(Inspect(**request)).report)  # type: ignore[arg-type]


def codes(findings: object) -> set[str]:
    return {found.code for found in findings}  # type: ignore[attr-defined]


def test_the_report_tells_the_facts_of_the_scene(start: Start, build: Build) -> None:
    extra = (
        "add_camera(scene, 'Side', 2.0); m = scene.timeline_markers.new('cut', frame=4);"
        "m.camera = bpy.data.objects['Side']; scene.frame_step = 2; scene.render.fps = 30;"
        "scene.render.fps_base = 1.001; scene.render.resolution_percentage = 50;"
        "bpy.data.scenes.new('Second'); scene.view_layers.new('Off').use = False;"
        "output_node(scene, '//masks', ('A',))"
    )
    found = report(start(build(denoise=True, compositor="glare", layers=2, extra=extra, **SMALL)))
    assert (found.scene, found.scenes) == ("Scene", ("Scene", "Second"))
    assert (found.camera, set(found.cameras)) == ("Side", {"Camera", "Side"})  # the marker rules
    assert found.marker_cameras == {4: "Side"}
    assert (found.frame_start, found.frame_end, found.frame_step) == (1, 10, 2)
    assert found.fps == pytest.approx(29.97, abs=0.001)
    assert (found.full_width, found.full_height, found.percentage) == (32, 18, 50)
    assert (found.engine, found.samples, found.adaptive, found.denoise) == ("CYCLES", 2, False, True)
    assert [layer.name for layer in found.layers] == ["ViewLayer", "Layer 1"]
    assert {"Combined", "Depth", "Diffuse Direct", "CryptoObject00", "Noisy Image"} <= set(
        found.layers[0].passes
    )
    assert found.layers[1].passes == ("Combined", "Mist", "Noisy Image")
    assert (found.file_format, found.movie, found.output_name) == ("PNG", False, "shot_####")
    assert (found.compositor, found.file_output_nodes, found.sequencer) == (True, 1, False)
    assert found.blocks_cutting == ()
    assert found.breaks_exactness == ()
    assert found.findings == ()
    assert (found.file_version[:3], found.blender) == ("5.2", "5.2.3")
    assert found.load_seconds > 0


def test_a_scene_without_a_camera_is_an_error_with_a_cure(start: Start, build: Build) -> None:
    (found,) = report(start(build(camera=False, **SMALL))).errors
    assert found.code == "no-camera"
    assert found.what == "The scene “Scene” has no camera."
    assert "Add a camera" in found.cure


def test_names_that_the_file_does_not_have_are_errors_that_name_those_it_has(
    start: Start, build: Build
) -> None:
    child = start(build(**SMALL))
    (found,) = report(child, scene="Shot 7").errors
    assert (found.code, "“Scene”" in found.cure) == ("scene-unknown", True)
    (found,) = report(child, camera="Drone").errors
    assert (found.code, "“Camera”" in found.cure) == ("camera-unknown", True)
    assert report(child, camera="Camera").errors == ()


def test_another_engine_is_an_error_unless_cycles_is_forced(start: Start, build: Build) -> None:
    engine = "scene.render.engine = 'BLENDER_WORKBENCH'"
    child = start(build(extra=engine, **SMALL))
    plain = report(child)
    assert codes(plain.errors) == {"engine-not-cycles"}
    assert "--engine cycles" in plain.errors[0].cure
    assert codes(plain.blocks_cutting) == {"engine"}
    forced = report(child, engine="cycles")
    assert forced.errors == ()
    assert (forced.engine, codes(forced.blocks_cutting)) == ("CYCLES", set())
    assert [(found.code, found.weight) for found in forced.findings] == [("engine-forced", Weight.NOTE)]
    assert report(child).engine == "BLENDER_WORKBENCH"


GREASE = "bpy.ops.object.grease_pencil_add(type='MONKEY');"
LINES = "scene.render.use_freestyle = True; l = scene.view_layers[0]; l.use_freestyle = True;"
BLOCKED = {
    "freestyle": LINES + "l.freestyle_settings.linesets.new('Lines')",
    "path-guiding": "scene.cycles.use_guiding = True",
    "time-limit": "scene.cycles.time_limit = 5",
    "grease-pencil": GREASE,
    "random-texture": "bpy.ops.mesh.primitive_plane_add();"
    "m = bpy.context.object.modifiers.new('Displace', 'DISPLACE');"
    "m.texture = bpy.data.textures.new('static', 'NOISE')",
    "sequencer": "scene.sequence_editor_create().strips.new_effect('Red', 'COLOR', 1, 1, length=20)",
    "shadow-catcher-denoise": "scene.cycles.use_denoising = True;"
    "bpy.ops.mesh.primitive_plane_add(); bpy.context.object.is_shadow_catcher = True",
}


@pytest.mark.parametrize("code", BLOCKED)
def test_what_cannot_be_cut_exactly_is_named(opened: Opened, build: Build, code: str) -> None:
    child = opened(build(variants=BLOCKED, **SMALL))
    assert codes(report(child, scene=code).blocks_cutting) == {code}
    assert report(child).blocks_cutting == ()


DRAWN = {
    "no lines to draw": (LINES + "s = l.freestyle_settings.linesets; [s.remove(a) for a in list(s)]", ()),
    "lines hidden": (
        LINES + "[setattr(a, 'show_render', False) for a in l.freestyle_settings.linesets]",
        (),
    ),
    "lines off in the layer": (LINES + "l.freestyle_settings.linesets.new('a'); l.use_freestyle = False", ()),
    "lines in a layer that is off": (
        LINES + "l.use_freestyle = False; n = scene.view_layers.new('Off'); n.use = False;"
        "n.use_freestyle = True; n.freestyle_settings.linesets.new('a')",
        (),
    ),
    "hidden pencil": (GREASE + "bpy.context.object.hide_render = True", ()),
    "pencil that may be shown": (
        GREASE + "o = bpy.context.object; o.hide_render = True; o.keyframe_insert('hide_render', frame=1)",
        ("grease-pencil",),
    ),
    "pencil in a hidden collection": (
        GREASE + "o = bpy.context.object; c = bpy.data.collections.new('Hidden'); c.objects.link(o);"
        "[u.objects.unlink(o) for u in o.users_collection if u != c];"
        "scene.collection.children.link(c); c.hide_render = True",
        (),
    ),
    "pencil in an excluded collection": (
        GREASE + "o = bpy.context.object; c = bpy.data.collections.new('Out'); c.objects.link(o);"
        "[u.objects.unlink(o) for u in o.users_collection if u != c];"
        "scene.collection.children.link(c);"
        "scene.view_layers[0].layer_collection.children['Out'].exclude = True",
        (),
    ),
    "pencil of an instance": (
        GREASE + "o = bpy.context.object; c = bpy.data.collections.new('Far'); c.objects.link(o);"
        "[u.objects.unlink(o) for u in o.users_collection if u != c];"
        "e = bpy.data.objects.new('Instance', None); scene.collection.objects.link(e);"
        "e.instance_type, e.instance_collection = 'COLLECTION', c",
        ("grease-pencil",),
    ),
    "light that catches shadows": (
        "scene.cycles.use_denoising = True; bpy.data.objects['Area'].is_shadow_catcher = True",
        (),
    ),
    "caught in a pass": (
        BLOCKED["shadow-catcher-denoise"] + "; scene.view_layers[0].cycles.use_pass_shadow_catcher = True",
        (),
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_only_what_is_drawn_keeps_a_frame_whole(start: Start, build: Build, name: str) -> None:
    extra, expected = DRAWN[name]
    assert codes(report(start(build(extra=extra, **SMALL))).blocks_cutting) == set(expected)


VOLUME = (
    "t = scene.world.node_tree; v = t.nodes.new('ShaderNodeVolumePrincipled');"
    "t.links.new(v.outputs[0], t.nodes['World Output'].inputs['Volume']);"
)
ADAPTIVE = "scene.cycles.use_adaptive_sampling = True;"


@pytest.mark.parametrize(
    ("samples", "overlap"), [(1, 0), (2, 5), (3, 10), (4, 10), (5, 15), (64, 30), (65, 35), (4096, 60)]
)
def test_volumes_need_as_much_overlap_as_their_blur_can_spread(
    opened: Opened, build: Build, samples: int, overlap: int
) -> None:
    child = opened(build(extra=VOLUME, variants={"mist off": "scene.world = None"}, **SMALL))
    found = report(child, samples=samples)
    assert (found.overlap, found.blocks_cutting, found.breaks_exactness) == (overlap, (), ())
    assert report(child, samples=samples, scene="mist off").overlap == 0


INNER = {
    "volumes": (VOLUME, 4, (2048, 0)),
    "volumes, adaptive": (VOLUME + ADAPTIVE, 4, (2048, 4)),
    "few adaptive samples": (ADAPTIVE, 80, (0, 0)),
    "many adaptive samples": (ADAPTIVE, 81, (2048, 4)),
    "odd tiles": (ADAPTIVE + "scene.cycles.tile_size = 200", 100, (256, 4)),
    "small tiles": (ADAPTIVE + "scene.cycles.tile_size = 100", 100, (100, 4)),
    "plain": ("", 4096, (0, 0)),
}


@pytest.mark.parametrize("name", INNER)
def test_tiles_of_cycles_itself_are_told_where_they_can_show(opened: Opened, build: Build, name: str) -> None:
    _, samples, expected = INNER[name]
    variants = {each: extra for each, (extra, _, _) in INNER.items()}
    found = report(opened(build(variants=variants, **SMALL)), scene=name, samples=samples)
    assert (found.inner_side, found.inner_margin) == expected


RANGES = {
    "path-guiding": "scene.cycles.use_guiding = True",
    "time-limit": "scene.cycles.time_limit = 5",
    "adaptive-sampling": ADAPTIVE + "scene.cycles.samples = 17",
    "layer-samples": "scene.view_layers[0].samples = 7; scene.cycles.use_layer_samples = 'USE'",
    "volumes": VOLUME,
    "shadow-catcher": "bpy.data.objects['Suzanne'].is_shadow_catcher = True",
    "motion-vectors": "scene.view_layers[0].use_pass_vector = True",
    "": ADAPTIVE + "scene.cycles.samples = 16; scene.view_layers[0].samples = 99;"
    "scene.cycles.use_layer_samples = 'BOUNDED'",
}


@pytest.mark.parametrize("code", RANGES)
def test_what_makes_samples_apart_differ_from_samples_at_once_is_named(
    start: Start, build: Build, code: str
) -> None:
    found = report(start(build(extra=RANGES[code], **SMALL))).breaks_ranges
    assert codes(found) == ({code} if code else set())
    assert all("tiles instead" in each.cure for each in found)


@pytest.mark.parametrize("crop", [False, True])
def test_the_render_region_is_told_as_blender_holds_it(start: Start, build: Build, crop: bool) -> None:
    extra = (
        "r = scene.render; r.use_border = True; r.border_min_x, r.border_max_x = 0.1, 0.7;"
        f"r.border_min_y, r.border_max_y = 0.25, 1.0; r.use_crop_to_border = {crop}"
    )
    found = report(start(build(extra=extra, **SMALL)))
    assert found.border == (np.float32(0.1), np.float32(0.7), 0.25, 1.0)
    assert (found.crops, found.blocks_cutting) == (crop, ())


def test_a_region_that_is_all_of_the_frame_is_none(start: Start, build: Build) -> None:
    assert report(start(build(extra="scene.render.use_border = True", **SMALL))).border is None


INEXACT = {
    "adaptive": ADAPTIVE,
    "odd samples": "scene.cycles.use_denoising = True; scene.cycles.samples = 100",
    "odd exposure": "scene.cycles.use_denoising = True; scene.cycles.film_exposure = 1.5",
    "even samples": "scene.cycles.use_denoising = True; scene.cycles.samples = 128",
    "not denoised": "scene.cycles.samples = 100",
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("adaptive", set()),
        ("odd samples", {"denoise-rounding"}),
        ("odd exposure", {"denoise-rounding"}),
        ("even samples", set()),
        ("not denoised", set()),
    ],
)
def test_what_can_make_a_cut_frame_differ_is_named(
    opened: Opened, build: Build, name: str, expected: set[str]
) -> None:
    child = opened(build(variants=INEXACT, **SMALL))
    assert codes(report(child, scene=name).breaks_exactness) == expected


def test_what_is_told_about_cutting_holds_for_the_samples_of_the_job(start: Start, build: Build) -> None:
    extra = (
        "scene.cycles.use_denoising = True; scene.cycles.samples = 64;"
        "scene.view_layers[0].samples = 32; scene.cycles.use_layer_samples = 'USE'"
    )
    child = start(build(extra=extra, **SMALL))
    for samples, expected in ((None, set()), (100, {"denoise-rounding"}), (16, set()), (None, set())):
        found = report(child, samples=samples)
        assert (found.samples, codes(found.breaks_exactness)) == (64, expected)


def test_what_is_missing_or_blocked_is_named(start: Start, build: Build) -> None:
    extra = (
        "i = bpy.data.images.new('Bricks', 4, 4); i.source = 'FILE'; i.filepath = '//gone/bricks.png';"
        "i.use_fake_user = True;"
        "v = bpy.data.volumes.new('Smoke'); v.filepath = '//gone/smoke.vdb'; v.use_fake_user = True;"
        "d = bpy.data.objects['Suzanne'].driver_add('location', 2).driver;"
        "d.expression = '__import__(\"os\").getpid()';"
        "f = bpy.data.objects['Suzanne.001'].modifiers.new('Fluid', 'FLUID');"
        "f.show_viewport = f.show_render = False; f.fluid_type = 'DOMAIN'"  # switched on, it aborts Blender
    )
    found = {finding.code: finding for finding in report(start(build(extra=extra, **SMALL))).findings}
    assert {finding.weight for finding in found.values()} == {Weight.WARNING}
    assert set(found) == {
        "missing-image",
        "missing-volume",
        "scripts-blocked",
        "fluid-domain",
    }
    assert "“Bricks”" in found["missing-image"].what
    assert all(finding.cure for finding in found.values())


def test_a_movie_is_noted_and_its_frames_are_pictures(start: Start, build: Build) -> None:
    deep = "r = scene.render; r.ffmpeg.format, r.ffmpeg.codec = 'MKV', 'H264';"
    deep += "r.image_settings.color_depth = '10'"
    child = start(build(file_format="FFMPEG", variants={"deep": deep}, **SMALL))
    for scene, kind in ((None, "PNG"), ("deep", "OpenEXR")):
        found = report(child, scene=scene)
        assert (found.file_format, found.movie) == ("FFMPEG", True)
        assert [(note.code, note.weight) for note in found.findings] == [("png-instead", Weight.NOTE)]
        assert found.findings[0].what == f"The output is a movie (FFMPEG): frames are written as {kind}."


def test_strips_alone_need_no_camera_and_no_cycles(start: Start, build: Build) -> None:
    extra = (
        "scene.sequence_editor_create().strips.new_effect('Red', 'COLOR', 1, 1, length=20);"
        "scene.render.engine = 'BLENDER_WORKBENCH'"
    )
    found = report(start(build(camera=False, extra=extra, **SMALL)))
    assert found.sequencer
    assert found.errors == ()


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RenderProcess]:
    """A render process that has opened nothing, and goes on after files that do not open."""
    with RenderProcess(tmp_path_factory.mktemp("child") / "log.txt") as child:
        yield child


def bad_file(kind: str, good: bytes) -> bytes | None:
    newer = good[:13] + b"0799" + good[17:]
    return {
        "empty": b"",
        "lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n",
        "text": b"hello" * 500,
        "half": good[: len(good) // 2],
        "header": good[:200],
        "newer": newer[: len(newer) // 2],
        "absent": None,
    }[kind]


@pytest.mark.parametrize(
    ("kind", "words", "cure"),
    [
        ("empty", "is empty", "Save the scene again"),
        ("lfs", "Git LFS pointer", "git lfs pull"),
        ("text", "is not a Blender file", "Send a .blend"),
        ("half", "damaged or cut short", "Save the scene again"),
        ("header", "damaged or cut short", "Save the scene again"),
        ("newer", "saved by Blender 7.99; this worker has 5.2.3", "Save it for Blender 5.2"),
        ("absent", "cannot be read: No such file", "Check the file"),
    ],
)
def test_a_file_that_is_no_scene_is_told_in_plain_words(
    empty: RenderProcess, build: Build, tmp_path: Path, kind: str, words: str, cure: str
) -> None:
    path = tmp_path / "bad.blend"
    content = bad_file(kind, build(**SMALL).read_bytes())
    if content is not None:
        path.write_bytes(content)
    failed = empty.failed(Open(str(path)))
    assert failed.cause == "bad-scene"
    assert words in failed.what
    assert "“bad.blend”" in failed.what
    assert str(tmp_path) not in failed.what
    assert cure in failed.cure


def test_a_newer_file_that_opens_is_warned_about(start: Start, build: Build, tmp_path: Path) -> None:
    good = build(**SMALL).read_bytes()
    path = tmp_path / "newer.blend"
    path.write_bytes(good[:13] + b"0799" + good[17:])
    (found,) = report(start(path)).findings
    assert (found.code, found.weight) == ("newer-file", Weight.WARNING)
    assert "Blender 7.99" in found.what
