"""Builds a scene that names every kind of file that can be made here, below the folder given.

All of them by full paths. Called with that folder and ``compressed`` or ``plain``.
"""

from __future__ import annotations

import math
import struct
import sys
import wave
from pathlib import Path

import bpy
import numpy as np

IES = """IESNA:LM-63-1995
TILT=NONE
1 1000 1 5 1 1 2 0 0 0
1 1 50
0 22.5 45 67.5 90
0
1000 900 700 300 0
"""
OSL = """shader half(output color Color = color(0)) { Color = color(0.5, 0.25, 0.125); }
"""


def empty() -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)


def picture(path: Path, color: tuple[float, float, float], size: int = 8) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = bpy.data.images.new(path.name, size, size)
    image.pixels = [*color, 1.0] * (size * size)
    image.filepath_raw, image.file_format = str(path), "PNG"
    image.save()
    bpy.data.images.remove(image)
    return str(path)


def emitting(name: str) -> tuple[bpy.types.Material, bpy.types.Node]:
    """A material and its emission: pictures show it without light."""
    material = bpy.data.materials.new(name)
    if material.node_tree is None:
        material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    emission, output = tree.nodes.new("ShaderNodeEmission"), tree.nodes.new("ShaderNodeOutputMaterial")
    tree.links.new(emission.outputs[0], output.inputs["Surface"])
    return material, emission


def plane(column: int, row: int, material: bpy.types.Material) -> bpy.types.Object:
    bpy.ops.mesh.primitive_plane_add(size=1.9, location=(column * 2, row * 2, 0))
    thing = bpy.context.object
    thing.data.materials.append(material)
    return thing


def textured(image: bpy.types.Image, column: int, row: int, start: int = 0) -> None:
    material, emission = emitting(image.name)
    node = material.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = image
    if image.source == "SEQUENCE":
        node.image_user.frame_duration, node.image_user.frame_start = 3, 1
        node.image_user.use_auto_refresh = True
    material.node_tree.links.new(node.outputs["Color"], emission.inputs["Color"])
    plane(column, row, material)


def libraries(root: Path) -> Path:
    """kit.blend links a material of mats.blend, which has a texture; each in a folder of its own."""
    empty()
    texture = picture(root / "lib tex" / "ziegel ß.png", (0.1, 0.6, 0.2))
    material, emission = emitting("Ziegel")
    node = material.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = bpy.data.images.load(texture)
    material.node_tree.links.new(node.outputs["Color"], emission.inputs["Color"])
    material.use_fake_user = True
    unused = bpy.data.images.load(picture(root / "lib tex" / "unused.png", (1, 1, 1)))
    unused.use_fake_user = True
    mats = root / "lib mats" / "mats.blend"
    save(mats, compress=True)
    empty()
    with bpy.data.libraries.load(str(mats), link=True, relative=False) as (_, wanted):
        wanted.materials = ["Ziegel"]
    thing = plane(0, 0, wanted.materials[0])
    collection = bpy.data.collections.new("Kit")
    collection.objects.link(thing)
    collection.use_fake_user = True
    kit = root / "kit" / "kit.blend"
    save(kit)
    return kit


def save(path: Path, compress: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), relative_remap=False, compress=compress)


def alembic_and_usd(root: Path) -> tuple[str, str]:
    empty()
    bpy.ops.mesh.primitive_cube_add(size=1)
    (root / "caches").mkdir()
    abc, usd = str(root / "caches" / "cube.abc"), str(root / "caches" / "cube.usdc")
    bpy.ops.wm.alembic_export(filepath=abc, start=1, end=2, as_background_job=False)
    bpy.ops.wm.usd_export(filepath=usd, root_prim_path="/Stage")
    return abc, usd


def build(root: Path, compress: bool) -> None:
    kit = libraries(root)
    abc, usd = alembic_and_usd(root)
    empty()
    scene = bpy.context.scene
    blend = root / "project" / "shots" / "shot é.blend"
    save(blend)  # caches and bakes need its place

    load = bpy.data.images.load
    textured(load(picture(root / "tex" / "wood.png", (0.8, 0.4, 0.1))), 0, 0)
    for number in (1, 2, 3):
        picture(root / "seq [a]" / f"s_{number:03}.png", (0.2 * number, 0, 0.3))
    sequence = load(str(root / "seq [a]" / "s_001.png"))
    sequence.source = "SEQUENCE"
    textured(sequence, 1, 0)
    for tile in (1001, 1002):
        picture(root / "udim" / f"t.{tile}.png", (0.1, 0.1, (tile - 1000) * 0.4))
    tiled = load(str(root / "udim" / "t.1001.png"))
    tiled.source, tiled.filepath = "TILED", str(root / "udim" / "t.<UDIM>.png")
    tiled.tiles.new(1002)
    textured(tiled, 2, 0)
    tx = root / "tex" / "stone.tx"
    tx.write_bytes(Path(picture(root / "tex" / "stone.png", (0.3, 0.3, 0.9))).read_bytes())
    textured(load(str(tx)), 3, 0)

    collection_of(kit, scene)
    font(root)
    sound(root, scene)
    volume(root, scene)
    for path, row in ((abc, 3), (usd, 4)):
        cached(path, row)
    osl(root)
    ies(root)
    simulated(scene)
    baked(root)
    mesh_cache(root)
    clip(root)
    strip(root, scene)
    camera(scene)
    scene.render.engine, scene.cycles.device, scene.cycles.samples = "CYCLES", "CPU", 2
    scene.cycles.use_adaptive_sampling = False
    scene.render.resolution_x, scene.render.resolution_y = 96, 64
    scene.render.use_sequencer = False
    scene.frame_end = 3
    scene.frame_set(2)
    save(blend, compress)


def collection_of(kit: Path, scene: bpy.types.Scene) -> None:
    with bpy.data.libraries.load(str(kit), link=True, relative=False) as (_, wanted):
        wanted.collections = ["Kit"]
    instance = bpy.data.objects.new("kit", None)
    instance.instance_type, instance.instance_collection = "COLLECTION", wanted.collections[0]
    instance.location = (4 * 2, 0, 0)
    scene.collection.objects.link(instance)


def font(root: Path) -> None:
    shipped = next(Path(bpy.utils.system_resource("DATAFILES"), "fonts").glob("*.woff2"))
    copy = root / "fonts" / f"face{shipped.suffix}"
    copy.parent.mkdir()
    copy.write_bytes(shipped.read_bytes())
    bpy.ops.object.text_add(location=(0, 2, 0))
    bpy.context.object.data.font = bpy.data.fonts.load(str(copy))
    bpy.context.object.data.materials.append(emitting("Text")[0])


def sound(root: Path, scene: bpy.types.Scene) -> None:
    path = root / "sound" / "beep.wav"
    path.parent.mkdir()
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(i / 5))) for i in range(800)))
    speaker = bpy.data.speakers.new("Speaker")
    speaker.sound = bpy.data.sounds.load(str(path))
    scene.collection.objects.link(bpy.data.objects.new("Speaker", speaker))


def volume(root: Path, scene: bpy.types.Scene) -> None:
    bpy.utils.expose_bundled_modules()
    import openvdb  # type: ignore[import-not-found]  # comes with bpy

    folder = root / "vdb"
    folder.mkdir()
    for number in (1, 2, 3):
        grid = openvdb.FloatGrid()
        grid.copyFromArray(np.full((8, 8, 8), float(number), np.float32))
        grid.name = "density"
        openvdb.write(str(folder / f"fog_{number}.vdb"), grids=[grid])
    data = bpy.data.volumes.new("Fog")
    data.filepath, data.is_sequence = str(folder / "fog_1.vdb"), True
    data.frame_duration, data.frame_start = 3, 1
    thing = bpy.data.objects.new("Fog", data)
    thing.location, thing.scale = (2, 2, 0.2), (0.2, 0.2, 0.2)
    scene.collection.objects.link(thing)


def cached(path: str, row: int) -> None:
    """A mesh that is read from an Alembic or USD file at each frame."""
    bpy.ops.mesh.primitive_plane_add(location=(0, row * 2, 0))
    thing = bpy.context.object
    bpy.ops.cachefile.open(filepath=path, relative_path=False)
    cache = next(one for one in bpy.data.cache_files if one.filepath == path)
    modifier = thing.modifiers.new("Cache", "MESH_SEQUENCE_CACHE")
    modifier.cache_file = cache
    modifier.object_path = "/Cube/Cube" if path.endswith(".abc") else "/Stage/Cube/Cube"
    thing.data.materials.append(emitting("Cached")[0])


def osl(root: Path) -> None:
    path = root / "osl" / "half.osl"
    path.parent.mkdir()
    path.write_text(OSL)
    from cycles import osl as scripts  # type: ignore[import-not-found]  # there once bpy has its add-ons

    material, emission = emitting("Script")
    node = material.node_tree.nodes.new("ShaderNodeScript")
    node.mode, node.filepath = "EXTERNAL", str(path)
    scripts.update_script_node(node, lambda _, told: sys.stderr.write(told))
    material.node_tree.links.new(node.outputs["Color"], emission.inputs["Color"])
    plane(3, 1, material)


def ies(root: Path) -> None:
    path = root / "ies" / "lamp.ies"
    path.parent.mkdir()
    path.write_text(IES)
    light = bpy.data.lights.new("Lamp", "POINT")
    if light.node_tree is None:
        light.use_nodes = True
    node = light.node_tree.nodes.new("ShaderNodeTexIES")
    node.mode, node.filepath = "EXTERNAL", str(path)
    emission = next(one for one in light.node_tree.nodes if one.type == "EMISSION")
    light.node_tree.links.new(node.outputs[0], emission.inputs["Strength"])
    light.energy = 100
    thing = bpy.data.objects.new("Lamp", light)
    thing.location = (3, 3, 1)
    bpy.context.scene.collection.objects.link(thing)


def simulated(scene: bpy.types.Scene) -> None:
    """A cloth, baked to files beside the .blend."""
    thing = plane(5, 1, emitting("Cloth")[0])
    thing.name = "Cloth"
    cache = thing.modifiers.new("Cloth", "CLOTH").point_cache
    cache.use_disk_cache, cache.frame_start, cache.frame_end = True, 1, 3
    scene.frame_end = 3
    with bpy.context.temp_override(point_cache=cache, scene=scene, active_object=thing, object=thing):
        bpy.ops.ptcache.bake(bake=True)


def baked(root: Path) -> None:
    """Geometry nodes with a bake in a folder of its own."""
    tree = bpy.data.node_groups.new("Baked", "GeometryNodeTree")
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    start, end = tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")
    bake = tree.nodes.new("GeometryNodeBake")
    bake.bake_items.new("GEOMETRY", "Geometry")
    tree.links.new(start.outputs[0], bake.inputs[0])
    ply = root / "meshes" / "tri.ply"
    ply.parent.mkdir()
    ply.write_text(
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
        "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 1\n1 0 1\n0 1 1\n3 0 1 2\n"
    )
    imported = tree.nodes.new("GeometryNodeImportPLY")
    imported.inputs["Path"].default_value = str(ply)
    join = tree.nodes.new("GeometryNodeJoinGeometry")
    tree.links.new(bake.outputs[0], join.inputs[0])
    tree.links.new(imported.outputs[0], join.inputs[0])
    tree.links.new(join.outputs[0], end.inputs[0])
    thing = plane(4, 2, emitting("Baked")[0])
    thing.name = "Baked"
    modifier = thing.modifiers.new("Nodes", "NODES")
    modifier.node_group = tree
    modifier.bake_target = "DISK"
    modifier.bake_directory = str(root / "bakes" / "nodes")
    bpy.context.view_layer.update()
    one = modifier.bakes[0]
    one.bake_mode = "STILL"
    bpy.ops.object.geometry_node_bake_single(
        session_uid=thing.session_uid, modifier_name=modifier.name, bake_id=one.bake_id
    )


def mesh_cache(root: Path) -> None:
    path = root / "caches" / "move.mdd"
    points = [(-1, -1, 0), (1, -1, 0), (-1, 1, 0), (1, 1, 0)]
    frames = [[(x, y, z + frame * 0.2) for x, y, z in points] for frame in range(3)]
    path.write_bytes(
        struct.pack(">2i3f", 3, 4, 0.0, 1.0, 2.0)
        + b"".join(struct.pack(">3f", *point) for frame in frames for point in frame)
    )
    thing = plane(5, 2, emitting("Moved")[0])
    modifier = thing.modifiers.new("Cache", "MESH_CACHE")
    modifier.cache_format, modifier.filepath = "MDD", str(path)


def clip(root: Path) -> None:
    for number in (1, 2):
        picture(root / "clip" / f"c{number:02}.png", (0.5, 0.5, 0.5), 16)
    bpy.data.movieclips.load(str(root / "clip" / "c01.png")).use_fake_user = True
    movie = root / "clip" / "film.mkv"
    film = bpy.data.scenes.new("Film")
    film.render.resolution_x, film.render.resolution_y, film.frame_end = 32, 32, 2
    film.render.engine = "CYCLES"
    film.cycles.samples = 1
    if hasattr(film.render.image_settings, "media_type"):
        film.render.image_settings.media_type = "VIDEO"
    film.render.image_settings.file_format = "FFMPEG"
    film.render.ffmpeg.format, film.render.ffmpeg.codec = "MKV", "MPEG4"
    film.render.use_file_extension = False
    film.render.filepath = str(movie)
    film.world = bpy.data.worlds.new("Film")
    film.world.color = (0.4, 0.7, 0.1)
    film.collection.objects.link(bpy.data.objects.new("c", bpy.data.cameras.new("c")))
    film.camera = film.collection.objects[0]
    bpy.ops.render.render(animation=True, scene="Film")
    bpy.data.scenes.remove(film)
    textured(bpy.data.images.load(str(movie)), 5, 0)


def strip(root: Path, scene: bpy.types.Scene) -> None:
    editor = scene.sequence_editor_create()
    strips = editor.strips if hasattr(editor, "strips") else editor.sequences
    paths = [picture(root / "strip" / f"v{number}.png", (1, 0, 0)) for number in (1, 2)]
    image = strips.new_image("pictures", paths[0], 1, 1)
    image.elements.append(Path(paths[1]).name)
    strips.new_movie("film", str(root / "clip" / "film.mkv"), 2, 1)
    strips.new_sound("beep", str(root / "sound" / "beep.wav"), 3, 1)


def camera(scene: bpy.types.Scene) -> None:
    data = bpy.data.cameras.new("Camera")
    data.type, data.ortho_scale = "ORTHO", 16
    scene.camera = bpy.data.objects.new("Camera", data)
    scene.camera.location = (5, 4, 20)
    scene.collection.objects.link(scene.camera)


if __name__ == "__main__":
    build(Path(sys.argv[1]), compress=sys.argv[2] == "compressed")
