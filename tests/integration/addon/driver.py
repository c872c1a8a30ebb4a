"""What the tests of the add-on do inside Blender. Python 3.11, as the add-on itself."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import bpy

MODULE = "bl_ext.user_default.tessera"


def part(name: str) -> Any:
    return import_module(f"{MODULE}.{name}")


def everything() -> dict[str, Any]:
    """All that an add-on could leave behind."""
    ours = [name for name in dir(bpy.types) if "tessera" in name.lower()]
    handlers = {
        name: len(found)
        for name in dir(bpy.app.handlers)
        if isinstance(found := getattr(bpy.app.handlers, name), list)
    }
    return {
        "classes": ours,
        "properties": [
            kind
            for kind in ("Scene", "WindowManager", "Object")
            if hasattr(getattr(bpy.types, kind), "tessera")
        ],
        "operators": [name for name in dir(bpy.ops) if name == "tessera"],
        "handlers": handlers,
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "scratch": [path.name for path in Path(bpy.app.tempdir).glob("tessera-*")],
    }


def on_and_off(farm: str) -> list[dict[str, Any]]:
    """Turned on, used, turned off, three times."""
    bpy.ops.preferences.addon_disable(module=MODULE)
    states = [everything()]
    for _ in range(3):
        bpy.ops.preferences.addon_enable(module=MODULE)
        bpy.context.preferences.addons[MODULE].preferences.farm = farm
        bpy.context.scene.tessera.results = bpy.app.tempdir
        assert bpy.ops.tessera.submit() == {"FINISHED"}
        session = part("session")
        tick = session._tick
        assert bpy.app.timers.is_registered(tick)
        assert tick() == session._EVERY  # in the background Blender runs no timers by itself
        while not session.works[0].shown.job_id:  # so that its thread follows a job when it is let go
            assert session.works[0].shown.working, session.works[0].shown
            time.sleep(0.02)
        bpy.ops.preferences.addon_disable(module=MODULE)
        assert not bpy.app.timers.is_registered(tick)
        states.append(everything())
    return states


class Layout:
    """Takes down what a panel draws; what it draws into is part of the same list."""

    def __init__(self, said: list[str]) -> None:
        self.__dict__["said"] = said

    def __setattr__(self, name: str, value: object) -> None:
        if name == "enabled":
            self.said.append(f"enabled={value}")

    def __getattr__(self, name: str) -> Any:
        def draw(*arguments: Any, **named: Any) -> Any:
            if name == "label":
                self.said.append(named["text"])
            elif name == "progress":
                self.said.append(f"{named['factor']:.2f} {named['text']}")
            elif name == "prop":
                getattr(arguments[0], arguments[1])  # a property that is not there would be drawn in red
            elif name == "operator":
                group, _, verb = arguments[0].partition(".")
                kind = getattr(getattr(bpy.ops, group), verb).get_rna_type()
                self.said.append(f"[{named.get('text') or kind.name}]")
                return type("Properties", (), {})()
            return Layout(self.said)

        return draw


def drawn() -> list[str]:
    """The words of the panel."""
    said: list[str] = []
    owner = type("Panel", (), {"layout": Layout(said)})()
    part("panel").TesseraPanel.draw(owner, bpy.context)
    return said


def submit(farm: str, results: str, settings: dict[str, Any], seconds: float = 60) -> dict[str, Any]:
    """Submit with ``settings``; what was reported, what is shown at the end, and the panel's words."""
    bpy.context.preferences.addons[MODULE].preferences.farm = farm
    for name, value in {"results": results, **settings}.items():
        setattr(bpy.context.scene.tessera, name, value)
    before = drawn()
    try:
        reported = sorted(bpy.ops.tessera.submit())
    except RuntimeError as error:  # what an operator reports as an error, when it is called by a script
        return {"before": before, "reported": str(error).strip()}
    work = part("session").works[0]
    work.wait(seconds)
    told = {"before": before, "reported": reported, "phase": work.shown.phase.value, "drawn": drawn()}
    told["again_in"] = part("session")._tick()
    told |= {"what": work.shown.what, "cure": work.shown.cure, "folder": work.shown.folder}
    told["left"] = [path.name for path in Path(bpy.app.tempdir).glob("tessera-*")]
    return told


def submit_paused(farm: str, results: str) -> dict[str, Any]:
    """Submit with a priority, paused; what the panel says once the farm has it."""
    bpy.context.preferences.addons[MODULE].preferences.farm = farm
    asked = bpy.context.scene.tessera
    asked.results, asked.priority, asked.paused = results, 80, True
    assert bpy.ops.tessera.submit() == {"FINISHED"}
    work = part("session").works[0]
    deadline = time.monotonic() + 60
    while not work.shown.standing:
        assert work.shown.working, work.shown
        assert time.monotonic() < deadline
        time.sleep(0.02)
    told = {"job": work.shown.job_id, "drawn": drawn()}
    work.let_go(10)
    return told


def test_button(farm: str) -> Any:
    bpy.context.preferences.addons[MODULE].preferences.farm = farm
    try:
        bpy.ops.tessera.test()
    except RuntimeError as error:
        return str(error).strip()
    check = part("session").check
    check.wait(30)
    return check.answer


def picture(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = bpy.data.images.new("made", 4, 4)
    image.filepath_raw, image.file_format = str(path), "PNG"
    image.save()
    bpy.data.images.remove(image)
    return str(path)


def packed(near: str, far: str) -> dict[str, Any]:
    """Packs a scene whose files lie all over, unpacks it in another place, and looks what is found there."""
    project, lib = Path(near) / "project", Path(far) / "lib"
    picture(lib / "tex" / "wood.png")
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(lib / "lib.blend"))
    bpy.data.images.load("//tex/wood.png").use_fake_user = True
    bpy.data.images.load(
        picture(Path(near) / "shared" / "stone.png")
    ).use_fake_user = True  # by its full path
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    for number in (1, 2, 3):
        picture(Path(far) / "seq" / f"s_{number:03}.png")
    for tile in (1001, 1002):
        picture(project / "tex" / f"u.{tile}.png")
    picture(project / "tex" / "relative ü.png")
    bpy.ops.wm.save_as_mainfile(filepath=str(project / "shot.blend"))
    images = bpy.data.images
    images.load("//tex/relative ü.png")
    images.load(str(Path(far) / "seq" / "s_001.png")).source = "SEQUENCE"
    tiles = images.load(str(project / "tex" / "u.1001.png"))
    tiles.source, tiles.filepath = "TILED", "//tex/u.<UDIM>.png"
    painted = images.new("painted", 2, 2)
    painted.pixels[0] = 0.25
    painted.update()
    for image in images:
        image.use_fake_user = True
    with bpy.data.libraries.load(str(lib / "lib.blend"), link=True) as (there, here):
        here.images = there.images
    for image in here.images:
        material = bpy.data.materials.new(image.name)
        material.use_nodes, material.use_fake_user = True, True
        material.node_tree.nodes.new("ShaderNodeTexImage").image = image
    bpy.ops.mesh.primitive_cube_add()
    bpy.context.object.modifiers.new("sea", "OCEAN")
    (Path(far) / "bake").mkdir()
    (Path(far) / "bake" / "1.json").write_text("{}")
    bpy.context.object.modifiers.new("nodes", "NODES").bake_directory = str(Path(far) / "bake")
    bpy.context.object.modifiers.new("cache", "MESH_CACHE").filepath = str(project / "missing.mdd")

    def named() -> list[Any]:
        return sorted([block.name, sorted(used)] for block, used in bpy.data.file_path_map().items() if used)

    before, scratch = named(), Path(tempfile.mkdtemp(dir=bpy.app.tempdir))
    found = part("gather").gather(scratch)
    assert named() == before
    line = {}
    work = part("work").Work("http://127.0.0.1:1", "", {"name": "x"}, near, scratch, found)
    pack = work._packed()
    for place, local in pack.files.items():
        line[place] = local.bytes
        there = Path(far) / "unpacked" / place
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(local.source, there)
    findings = [[one.what, one.cure] for one in work.shown.findings]
    shutil.rmtree(lib)
    shutil.rmtree(near)
    shutil.rmtree(Path(far) / "seq")
    shutil.rmtree(Path(far) / "bake")
    bpy.ops.wm.open_mainfile(filepath=str(Path(far) / "unpacked" / pack.main))
    images = {
        image.name: [image.filepath, Path(bpy.path.abspath(image.filepath, library=image.library)).exists()]
        for image in bpy.data.images
        if image.source == "FILE" or image.source == "SEQUENCE"
    }
    bake = bpy.data.objects["Cube"].modifiers["nodes"].bake_directory
    return {"files": line, "findings": findings, "images": images, "main": pack.main, "bake": bake}


def main(order: dict[str, Any]) -> None:
    bpy.ops.extensions.package_install_files(
        filepath=order["archive"], repo="user_default", enable_on_install=True
    )
    told = globals()[order["name"]](**order["arguments"])
    Path(order["answer"]).write_text(json.dumps(told))
    if MODULE in bpy.context.preferences.addons:
        bpy.ops.preferences.addon_disable(module=MODULE)


main(json.loads(sys.argv[1]))
