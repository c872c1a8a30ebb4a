"""Pieces are the whole frame bit for bit, whatever the camera, the film, the passes and the layers are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import OpenEXR
import pytest

from farm.domain.tiles import Box, InnerTiles, Size, TileGrid
from tests.integration.blender.cut import assembled, direct, finish, same_files, tile, whole
from tests.integration.blender.driver import RenderProcess, read_exr, same_bits
from workers.protocol import Inspect, Open

Build = Callable[..., Path]

#: Every pass that the view layer panel offers, Cryptomatte of assets, two light groups and two AOVs.
PASSES = """
layer = scene.view_layers[0]
for owner in (layer, layer.cycles):
    for name in dir(owner):
        if name.startswith("use_pass_") and name != "use_pass_grease_pencil":
            setattr(owner, name, True)
layer.cycles.denoising_store_passes = layer.cycles.pass_debug_sample_count = True
for name, kind in (("mask", "VALUE"), ("tint", "COLOR")):
    aov = layer.aovs.add()
    aov.name, aov.type = name, kind
    for material in bpy.data.materials:
        node = material.node_tree.nodes.new("ShaderNodeOutputAOV")
        node.aov_name = name
        noise = material.node_tree.nodes.new("ShaderNodeTexNoise")
        material.node_tree.links.new(noise.outputs[0], node.inputs["Value"])
        material.node_tree.links.new(noise.outputs["Color"], node.inputs["Color"])
for name in ("key", "sky"):
    layer.lightgroups.add().name = name
bpy.data.objects["Area"].lightgroup, scene.world.lightgroup = "key", "sky"
bpy.ops.mesh.primitive_plane_add(size=30, location=(0, 0, -1))
bpy.context.object.is_shadow_catcher = True
second = scene.view_layers.new("Few")
second.samples, second.use_pass_mist, scene.cycles.use_layer_samples = 2, True, "USE"
"""
ADAPTIVE = "scene.cycles.use_adaptive_sampling = True; scene.cycles.adaptive_threshold = 0.2;"
PANORAMA = "c = scene.camera.data; c.type, c.panorama_type = 'PANO', '{kind}';"
ORTHO = "scene.camera.data.type, scene.camera.data.ortho_scale = 'ORTHO', 8;"
MARKER = "m = scene.timeline_markers.new('cut', frame=2); m.camera = add_camera(scene, 'Other', 1.5);"
SHIFT = "scene.camera.data.shift_x, scene.camera.data.sensor_fit = 0.2, 'VERTICAL';"
CLEAR = "scene.render.film_transparent = True;"
SHARP = "scene.render.use_motion_blur = False; scene.camera.data.dof.use_dof = False;"
ROLLING = "scene.cycles.rolling_shutter_type = 'TOP';"
PIXELS = "r = scene.render; r.pixel_aspect_x, r.pixel_aspect_y = {x}, {y}; r.resolution_percentage = {p};"

#: Scene, its size before the percentage, percentage, grid, overlap. With adaptive sampling and 20 samples
#: one pixel of overlap is the proof.
CASES: dict[str, tuple[str, tuple[int, int], int, str, int]] = {
    "vector and UV, sharp, odd": (SHARP + CLEAR, (97, 53), 100, "3x2", 0),
    "blur, portrait, aspect": (PIXELS.format(x=1.0, y=1.5, p=100) + CLEAR, (53, 97), 100, "2x3", 0),
    "panorama, percentage": (
        PANORAMA.format(kind="EQUIRECTANGULAR") + PIXELS.format(x=2.0, y=1.0, p=33),
        (200, 111),
        33,
        "5x1",
        0,
    ),
    "fisheye, adaptive": (PANORAMA.format(kind="FISHEYE_EQUISOLID") + ADAPTIVE, (61, 61), 100, "2x2", 1),
    "marker, shift, adaptive, clear": (MARKER + SHIFT + ADAPTIVE + CLEAR, (90, 40), 100, "3x3", 1),
    "orthographic, rolling shutter": (ORTHO + ROLLING, (64, 48), 100, "1x7", 0),
}


@pytest.mark.parametrize("name", CASES)
def test_pieces_are_the_whole_in_every_pass(build: Build, tmp_path: Path, name: str) -> None:
    extra, (width, height), percentage, grid, overlap = CASES[name]
    path = build(extra=PASSES + extra, width=width, height=height, objects=3, samples=20)
    size = Size(width * percentage // 100, height * percentage // 100)
    with RenderProcess(tmp_path / "log.txt") as child:
        child.done(Open(str(path)))
        expected = whole(child, tmp_path / "whole.exr", size=size)
        pieces = assembled(child, grid, tmp_path, size=size, overlap=overlap)
    assert same_bits(pieces, expected) == []
    passes = {channel.removeprefix("ViewLayer.").rpartition(".")[0] for channel in expected}
    assert {"Depth", "Mist", "UV", "Position", "Object Index", "Shadow Catcher", "CryptoAsset02"} <= passes
    assert {"mask", "tint", "Combined_key", "Combined_sky", "Denoising Albedo", "Few.Mist"} <= passes
    assert bool(np.ptp(expected["ViewLayer.Vector.X"])) == ("use_motion_blur = False" in extra)
    assert np.ptp(expected["ViewLayer.Combined.R"]) > 0.1


def test_a_piece_carries_the_cryptomatte_names_of_the_whole_scene(build: Build, tmp_path: Path) -> None:
    with RenderProcess(tmp_path / "log.txt") as child:
        child.done(Open(str(build(extra=PASSES, objects=3, samples=1))))
        tile(child, Box(0, 0, 4, 4), tmp_path / "corner.exr")
    with OpenEXR.File(str(tmp_path / "corner.exr"), header_only=True) as file:
        texts = {name: text for name, text in file.parts[0].header.items() if isinstance(text, str)}
    names = {text for name, text in texts.items() if name.startswith("cryptomatte/") and "name" in name}
    assert {"ViewLayer.CryptoObject", "ViewLayer.CryptoMaterial", "ViewLayer.CryptoAsset"} <= names
    manifests = " ".join(text for name, text in texts.items() if name.endswith("/manifest"))
    assert "Suzanne.002" in manifests
    assert "Material 2" in manifests


VOLUME = """
bpy.ops.mesh.primitive_cube_add(size=7)
smoke = bpy.data.materials.new("Smoke")
smoke.node_tree.nodes.remove(smoke.node_tree.nodes["Principled BSDF"])
node = smoke.node_tree.nodes.new("ShaderNodeVolumePrincipled")
node.inputs["Density"].default_value = 0.5
smoke.node_tree.links.new(node.outputs[0], smoke.node_tree.nodes["Material Output"].inputs["Volume"])
bpy.context.object.data.materials.append(smoke)
"""


def test_a_volume_in_pieces_is_the_volume_whole_and_needs_all_of_its_overlap(
    build: Build, tmp_path: Path
) -> None:
    size = Size(64, 48)
    with RenderProcess(tmp_path / "log.txt") as child:
        child.done(Open(str(build(extra=VOLUME, width=64, height=48, objects=2, samples=3))))
        report = child.done(Inspect()).report
        assert report is not None
        assert report["overlap"] == 10
        expected = whole(child, tmp_path / "whole.exr", size=size)
        assert same_bits(assembled(child, "2x2", tmp_path, size=size, overlap=10), expected) == []
        assert same_bits(assembled(child, "2x2", tmp_path, size=size, overlap=5), expected) != []


@pytest.mark.parametrize("adaptive", ["", ADAPTIVE])
def test_pieces_show_the_seams_of_cycles_own_tiles(build: Build, tmp_path: Path, adaptive: str) -> None:
    extra = VOLUME + adaptive + "scene.cycles.tile_size = 32"
    size = Size(80, 50)
    with RenderProcess(tmp_path / "log.txt") as child:
        child.done(Open(str(build(extra=extra, width=80, height=50, objects=2, samples=20))))
        report = child.done(Inspect()).report
        assert report is not None
        inner = InnerTiles(report["inner_side"], report["inner_margin"])
        assert inner == InnerTiles(32, 4 if adaptive else 0)
        for area in (size.box, Box(7, 3, 70, 41)):
            tile(child, area, tmp_path / "whole.exr", size=size)
            expected = read_exr(tmp_path / "whole.exr")
            grid = str(TileGrid(inner.finest(area).columns + 1, inner.finest(area).rows))
            overlap = report["overlap"] + 2
            pieces = assembled(child, grid, tmp_path, area=area, overlap=overlap, size=size, inner=inner)
            assert same_bits(pieces, expected) == []
            apart = assembled(child, grid, tmp_path, area=area, overlap=overlap, size=size)
            assert same_bits(apart, expected) != []


@pytest.mark.parametrize("extra", [VOLUME, "scene.cycles.tile_size = 32"])
def test_what_cycles_counts_the_samples_of_is_denoised_alike_for_any_count(
    build: Build, tmp_path: Path, extra: str
) -> None:
    path = build(
        extra=extra,
        width=64,
        height=48,
        objects=2,
        samples=7,
        denoise=True,
        file_format="OPEN_EXR_MULTILAYER",
    )
    with RenderProcess(tmp_path / "log.txt") as child:
        child.done(Open(str(path)))
        report = child.done(Inspect()).report
        assert report is not None
        assert (report["blocks_cutting"], report["breaks_exactness"]) == ([], [])
        direct(child, tmp_path / "direct")
        whole(child, tmp_path / "merged.exr", size=Size(64, 48))
        finish(child, tmp_path / "merged.exr", tmp_path / "finish")
    assert same_files(tmp_path / "direct", tmp_path / "finish") == []
