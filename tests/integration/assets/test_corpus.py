"""Scenes of other people: what packing finds is what Blender itself says that they need."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from farm.assets.pack import pack
from farm.assets.trace import needs_of
from farm.domain.errors import BadInput
from tests.integration.assets.conftest import blender

NO_SCENE = "corrupt_only_magic.blend"
#: 2.79's smoke makes Blender itself abort, now and then at the next file that is opened.
ABORTING = "T55542-smoke"


def scenes(corpus: Callable[[str], Path]) -> list[Path]:
    found = sorted(corpus(".").resolve().rglob("*.blend"))
    assert len(found) > 100
    return found


@pytest.mark.corpus
def test_every_scene_packs_and_only_what_is_none_is_refused(corpus: Callable[[str], Path]) -> None:
    refused, untraced, copied = [], [], []
    for scene in scenes(corpus):
        try:
            packed = pack(scene)
        except BadInput:
            refused.append(scene.name)
            continue
        if any(found.code == "not-traced" for found in packed.warnings):
            untraced.append(scene.name)
        if packed.elsewhere:
            copied.append(scene.name)
        for name, blob in packed.manifest.files.items():
            assert packed.elsewhere.get(name, packed.root / name).stat().st_size == blob.bytes
    assert (refused, untraced, copied) == ([NO_SCENE], [], [])


@pytest.mark.corpus
def test_no_file_that_blender_names_is_overlooked(corpus: Callable[[str], Path], tmp_path: Path) -> None:
    asked = [scene for scene in scenes(corpus) if ABORTING not in scene.parts]
    blender("list_files.py", tmp_path / "answer.json", *asked)
    answer = json.loads((tmp_path / "answer.json").read_text())
    overlooked, checked = {}, 0
    for scene in asked:
        if answer[str(scene)] is None:
            assert scene.name == NO_SCENE
            continue
        found = {str(file) for file in needs_of(scene).files}
        checked += len(answer[str(scene)])
        if lacking := set(answer[str(scene)]) - found:
            overlooked[scene.name] = lacking
    assert overlooked == {}
    assert checked > 200
