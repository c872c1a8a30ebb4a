"""What the matrix is made of: scenes, formats and looks, as code that is run with ``scene`` in reach."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_SET = """
settings = scene.render.image_settings
save_as(scene, {kind!r})
for name, value in {values!r}.items():
    setattr(settings, name, value)
"""


def _as(kind: str, **values: Any) -> str:
    return _SET.format(kind=kind, values=values)


#: Every format that Blender's panel offers for stills, with its depths, colours and codecs.
FORMATS: dict[str, str] = {
    "PNG 8 RGBA": _as("PNG", color_mode="RGBA", color_depth="8", compression=15),
    "PNG 16 RGB": _as("PNG", color_mode="RGB", color_depth="16", compression=100),
    "PNG 16 BW": _as("PNG", color_mode="BW", color_depth="16", compression=0),
    "JPEG": _as("JPEG", color_mode="RGB", quality=90),
    "JPEG BW": _as("JPEG", color_mode="BW", quality=40),
    "JPEG2000 8": _as("JPEG2000", color_mode="RGBA", color_depth="8", jpeg2k_codec="JP2", quality=100),
    "JPEG2000 12": _as("JPEG2000", color_mode="RGB", color_depth="12", jpeg2k_codec="J2K", quality=60),
    "JPEG2000 16": _as("JPEG2000", color_mode="BW", color_depth="16", use_jpeg2k_ycc=True),
    "TIFF 8": _as("TIFF", color_mode="RGBA", color_depth="8", tiff_codec="LZW"),
    "TIFF 16": _as("TIFF", color_mode="RGB", color_depth="16", tiff_codec="DEFLATE"),
    "TIFF 16 BW": _as("TIFF", color_mode="BW", color_depth="16", tiff_codec="PACKBITS"),
    "TIFF raw": _as("TIFF", color_mode="RGB", color_depth="8", tiff_codec="NONE"),
    "BMP": _as("BMP", color_mode="RGB"),
    "TARGA": _as("TARGA", color_mode="RGBA"),
    "TARGA_RAW": _as("TARGA_RAW", color_mode="RGB"),
    "IRIS": _as("IRIS", color_mode="RGBA"),
    "CINEON": _as("CINEON", color_mode="RGB"),
    "DPX 8": _as("DPX", color_mode="RGB", color_depth="8"),
    "DPX 10 log": _as("DPX", color_mode="RGB", color_depth="10", use_cineon_log=True),
    "DPX 12": _as("DPX", color_mode="RGBA", color_depth="12"),
    "DPX 16": _as("DPX", color_mode="BW", color_depth="16"),
    "HDR": _as("HDR", color_mode="RGB"),
    "WEBP": _as("WEBP", color_mode="RGBA", quality=100),
    "WEBP lossy": _as("WEBP", color_mode="RGB", quality=50),
    "AVIF": _as("AVIF", color_mode="RGB", color_depth="10", quality=80),
    "EXR ZIP": _as("OPEN_EXR", color_mode="RGBA", color_depth="32", exr_codec="ZIP"),
    "EXR half PIZ": _as("OPEN_EXR", color_mode="RGB", color_depth="16", exr_codec="PIZ"),
    "EXR ZIPS BW": _as("OPEN_EXR", color_mode="BW", color_depth="32", exr_codec="ZIPS"),
    "EXR RLE": _as("OPEN_EXR", color_mode="RGBA", color_depth="16", exr_codec="RLE", use_preview=True),
    "EXR PXR24": _as("OPEN_EXR", color_mode="RGBA", color_depth="32", exr_codec="PXR24"),
    "EXR DWAA": _as("OPEN_EXR", color_mode="RGBA", color_depth="16", exr_codec="DWAA", quality=70),
    "EXR DWAB": _as("OPEN_EXR", color_mode="RGBA", color_depth="32", exr_codec="DWAB"),
    "EXR HTJ2K": _as("OPEN_EXR", color_mode="RGBA", color_depth="16", exr_codec="HTJ2K"),
    "Layers ZIP": _as("OPEN_EXR_MULTILAYER", color_depth="32", exr_codec="ZIP"),
    "Layers half": _as("OPEN_EXR_MULTILAYER", color_depth="16", exr_codec="NONE"),
    "Layers interleaved": _as(
        "OPEN_EXR_MULTILAYER", color_depth="32", exr_codec="PIZ", use_exr_interleave=True
    ),
}

_VIEW = """
view = scene.view_settings
scene.display_settings.display_device = {device!r}
view.view_transform = {transform!r}
for name, value in {values!r}.items():
    setattr(view, name, value)
"""
_CURVES = """
view.use_curve_mapping = True
view.curve_mapping.initialize()
view.curve_mapping.curves[3].points.new(0.4, 0.7)
view.curve_mapping.black_level = (0.02, 0.0, 0.01)
view.curve_mapping.update()
"""
_OVERRIDE = """
settings.color_management = 'OVERRIDE'
settings.display_settings.display_device = 'Display P3'
settings.view_settings.view_transform = 'AgX'
settings.view_settings.look = 'AgX - High Contrast'
settings.view_settings.exposure = 0.5
if settings.has_linear_colorspace:
    settings.linear_colorspace_settings.name = 'ACEScg'
"""


def _view(transform: str, device: str = "sRGB", **values: Any) -> str:
    return _VIEW.format(transform=transform, device=device, values=values)


#: Colour management of the scene, and its override in the output panel.
LOOKS: dict[str, str] = {
    "AgX": _view("AgX"),
    "AgX punchy, exposed": _view("AgX", look="AgX - Punchy", exposure=1.25),
    "Filmic": _view("Filmic", look="Medium Low Contrast", gamma=1.4),
    "Standard, curves": _view("Standard") + _CURVES,
    "Raw": _view("Raw"),
    "Khronos": _view("Khronos PBR Neutral", exposure=-0.5),
    "white balance": _view(
        "Standard", use_white_balance=True, white_balance_temperature=4200.0, white_balance_tint=-20.0
    ),
    "Display P3": _view("AgX", "Display P3"),
    "Rec.2100-PQ": _view("ACES 2.0 - HDR 1000 nits", "Rec.2100-PQ"),
    "False Color": _view("False Color", "Rec.1886"),
    "override": _view("Filmic") + _OVERRIDE,
}


@dataclass(frozen=True)
class Stage:
    """A scene: ``build`` are words of `build_scene.build`; ``each`` is run for every variant of it."""

    build: dict[str, Any] = field(default_factory=dict)
    each: str = ""
    overlap: int = 0


_CATCHER = """
bpy.ops.mesh.primitive_plane_add(size=14, location=(0, 0, -1.2))
bpy.context.object.is_shadow_catcher = True
scene.render.film_transparent = True
scene.view_layers[0].cycles.use_pass_shadow_catcher = True
scene.view_layers[0].cycles.denoising_store_passes = True
"""
_OTHER = """
other = scene.copy()
other.name, other.use_fake_user = 'Other', True
other.world = scene.world.copy()
other.world.node_tree.nodes['Background'].inputs['Color'].default_value = (0.7, 0.1, 0.1, 1)
other.render.resolution_x, other.cycles.samples = 200, 3
"""
#: Two scenes in one tree; the other's picture lies over the scene's own by a matte of the other.
_TWO = """
tree = bpy.data.node_groups.new('Two', 'CompositorNodeTree')
scene.compositing_node_group = tree
tree.interface.new_socket('Image', in_out='OUTPUT', socket_type='NodeSocketColor')
own, other = (tree.nodes.new('CompositorNodeRLayers') for _ in range(2))
own.scene, other.scene = scene, bpy.data.scenes['Other']
matte = tree.nodes.new('CompositorNodeCryptomatteV2')
matte.scene, matte.matte_id = other.scene, 'Suzanne'
mix = tree.nodes.new('ShaderNodeMix')
mix.data_type = 'RGBA'
first, second = (socket for socket in mix.inputs if socket.type == 'RGBA')
result = next(socket for socket in mix.outputs if socket.type == 'RGBA')
tree.links.new(matte.outputs['Matte'], mix.inputs['Factor'])
tree.links.new(own.outputs['Image'], first)
tree.links.new(other.outputs['Image'], second)
lens = tree.nodes.new('CompositorNodeLensdist')
lens.inputs['Distortion'].default_value = 0.1
lens.inputs['Dispersion'].default_value = 0.05
tree.links.new(result, lens.inputs['Image'])
tree.links.new(lens.outputs['Image'], tree.nodes.new('NodeGroupOutput').inputs[0])
"""
#: Numbers, subfolders, several formats, layers of one file; beside the scene's own picture.
_FILES = """
tree = bpy.data.node_groups.new('Files', 'CompositorNodeTree')
scene.compositing_node_group = tree
tree.interface.new_socket('Image', in_out='OUTPUT', socket_type='NodeSocketColor')
source = tree.nodes.new('CompositorNodeRLayers')
source.scene = scene
blur = tree.nodes.new('CompositorNodeBlur')
blur.inputs['Size'].default_value = (3, 3)
tree.links.new(source.outputs['Image'], blur.inputs['Image'])
def files(folder, file_name, media, kind, depth, items):
    node = tree.nodes.new('CompositorNodeOutputFile')
    node.directory, node.file_name = scene.render.filepath.rpartition('/')[0] + folder, file_name
    node.format.media_type, node.format.file_format, node.format.color_depth = media, kind, depth
    for kind, name, socket in items:
        node.file_output_items.new(kind, name)
    for (kind, name, socket), into in zip(items, node.inputs):
        tree.links.new(socket, into)
out = source.outputs
files('/masks', 'take', 'IMAGE', 'PNG', '16', [
    ('FLOAT', 'mist_###', out['Mist']), ('RGBA', 'image', out['Image'])
])
files('/', 'sub/one_##', 'IMAGE', 'OPEN_EXR', '32', [('RGBA', 'blurred', blur.outputs['Image'])])
files('/layers/', 'all_####', 'MULTI_LAYER_IMAGE', 'OPEN_EXR_MULTILAYER', '32', [
    ('RGBA', 'Beauty', out['Image']), ('FLOAT', 'Depth', out['Depth']), ('VECTOR', 'Normal', out['Normal']),
])
tree.links.new(blur.outputs['Image'], tree.nodes.new('NodeGroupOutput').inputs[0])
"""
_STAMPED = """
render = scene.render
render.use_stamp, render.use_stamp_labels, render.stamp_font_size = True, True, 8
for name in ('time', 'frame', 'frame_range', 'camera', 'lens', 'scene', 'note', 'marker', 'sequencer_strip'):
    setattr(render, 'use_stamp_' + name, True)
for name in ('date', 'filename', 'render_time', 'memory', 'hostname'):
    setattr(render, 'use_stamp_' + name, False)
render.stamp_note_text = 'take 2'
"""

SCENES: dict[str, Stage] = {
    "plain": Stage(),
    "adaptive, denoised, 2 layers": Stage(
        {
            "denoise": True,
            "samples": 12,
            "layers": 2,
            "extra": "scene.cycles.use_adaptive_sampling = True; scene.cycles.adaptive_threshold = 0.1;"
            "scene.cycles.adaptive_min_samples = 4; scene.view_layers[1].cycles.use_denoising = False",
        },
        overlap=8,
    ),
    "glare and matte": Stage({"compositor": "glare"}),
    "nested group, 2 layers": Stage({"compositor": "nested", "layers": 2}),
    "denoised shadow catcher": Stage({"denoise": True, "extra": _CATCHER}),
    "two scenes": Stage({"extra": _OTHER}, each=_TWO),
    "file outputs": Stage(each=_FILES),
    "working space ACEScg": Stage(
        {"denoise": True, "extra": "bpy.ops.wm.set_working_color_space(working_space='ACEScg')"}
    ),
    "stamped": Stage({"extra": "scene.timeline_markers.new('mark', frame=2)"}, each=_STAMPED),
}
