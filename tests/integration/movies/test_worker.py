"""A worker with the real Blender, locked in where that works: from frames in storage to movies in storage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from farm.domain.plan import Plan, Video
from farm.domain.scene import SceneReport
from tests.integration.movies.reading import read_movie
from tests.integration.workers.conftest import Bench

PLAN = Plan(
    frames="3-8", width=64, height=36, videos=(Video.SCENE, Video.PREVIEW), reason="whole frames and movies"
)
SCENE = (
    "f = scene.render.ffmpeg; f.format, f.codec, f.audio_codec = 'MKV', 'FFV1', 'FLAC'\n"
    "scene.render.image_settings.color_depth = '16'\n"
    "editor = scene.sequence_editor_create(); editor.strips.new_sound('Tone', '//tone.wav', 1, 2)\n"
    "tree = bpy.data.node_groups.new('Nodes', 'CompositorNodeTree'); scene.compositing_node_group = tree\n"
    "tree.interface.new_socket('Image', in_out='OUTPUT', socket_type='NodeSocketColor')\n"
    "layers = tree.nodes.new('CompositorNodeRLayers')\n"
    "tree.links.new(layers.outputs['Image'], tree.nodes.new('NodeGroupOutput').inputs[0])\n"
    "output_node(scene, '//extra/', ('also',))\n"
)


def lay_beside(blend: Path, sound: Path) -> bytes:
    data = sound.read_bytes()
    (blend.parent / sound.name).write_bytes(data)
    return data


async def test_a_movie_and_its_preview_are_made_of_stored_frames(
    make_bench: Callable[..., Awaitable[Bench]],
    build: Callable[..., Path],
    direct: Callable[..., Path],
    tone: Path,
    tmp_path: Path,
) -> None:
    blend = build(
        width=64, height=36, samples=1, objects=2, file_format="FFMPEG", output="//shot_", extra=SCENE
    )
    sound = lay_beside(blend, tone)
    bench = await make_bench(modules=None, sandbox=True, threads=2)
    scene = bench.scene(blend.read_bytes(), **{"tone.wav": sound})
    report = (await bench.result("job/inspect", scene, plan=None))["report"]
    pictures: list[dict[str, Any]] = []
    for frame in PLAN.frame_range:
        result = await bench.result(f"job/{frame}/whole", scene, plan=PLAN)
        names = [file["name"] for file in result["files"] if file["role"] == "output"]
        assert names == [f"extra/also{frame:04d}.png", f"shot_{frame:04d}.exr"]
        pictures += [
            {"frame": frame, "file": file}
            for file in result["files"]
            if file["role"] in ("output", "preview")
        ]
    order = bench.order("job/encode", scene, plan=PLAN, report=SceneReport.model_validate(report))
    await bench.worker.start(order | {"pictures": pictures})
    ended = await bench.end(120)
    assert ended["result"] is not None, ended["failure"]
    found = {}
    for file in ended["result"]["files"]:
        if file["role"] == "video":
            path = tmp_path / file["name"]
            path.write_bytes(b"".join(bench.storage.stream(file["key"])))
            found[path.name] = (file["media_type"], read_movie(path))
    assert {name: media for name, (media, _) in found.items()} == {
        "shot_0003-0008.mkv": "video/x-matroska",
        "preview.mp4": "video/mp4",
    }
    [path] = direct(blend, "Scene", 3, 8).iterdir()
    theirs = read_movie(path)
    assert theirs.sound == ("flac", 48_000, 2)
    assert found["shot_0003-0008.mkv"][1] == theirs
    preview = found["preview.mp4"][1]
    assert (preview.codec, preview.pixels, preview.sound) == ("h264", "yuv420p", None)
    assert len(preview.frames) == 6
    assert preview.rate == 24
