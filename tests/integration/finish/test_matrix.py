"""Scene × split × format: what comes out of merged pieces is what one Blender would have written.

Each scene meets each format; splits and looks are dealt out in turn, so that each of them meets every
scene and every format (a Latin square). The reference of a scene is rendered once, by Blender alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from farm.domain.tiles import Size, TileGrid
from tests.integration.blender.driver import read_exr, same_bits
from tests.integration.finish.stage import FORMATS, LOOKS, SCENES, Stage
from tests.integration.finish.ways import Pieces, Plain, metadata

SIZE = Size(61, 37)
SPLITS = (TileGrid(2, 2), TileGrid(3, 1), TileGrid(1, 3))


@dataclass(frozen=True)
class Case:
    """One cell of the matrix; ``name`` is also that of its scene in the file."""

    name: str
    split: TileGrid
    look: str

    @property
    def code(self) -> str:
        return f"scene.render.filepath = '//{self.name}/shot_####'\n" + FORMATS[self.name] + LOOKS[self.look]


def cases(scene: str) -> list[Case]:
    """The row of ``scene``: every format, with the splits and looks that fall to them."""
    row, looks = list(SCENES).index(scene), list(LOOKS)
    return [
        Case(name, SPLITS[(row + column) % len(SPLITS)], looks[(3 * row + column) % len(looks)])
        for column, name in enumerate(FORMATS)
    ]


def test_splits_and_looks_meet_every_scene_and_every_format() -> None:
    rows = {scene: cases(scene) for scene in SCENES}
    assert all({case.split for case in row} == set(SPLITS) for row in rows.values())
    assert all({case.look for case in row} == set(LOOKS) for row in rows.values())
    for column in range(len(FORMATS)):
        met = [row[column] for row in rows.values()]
        assert {case.split for case in met} == set(SPLITS)
        assert len({case.look for case in met}) == len(met)


@dataclass(frozen=True)
class Outcome:
    """A frame both ways: files by name under each folder, and how plain Blender reads them."""

    plain: dict[str, Path]
    pieces: dict[str, Path]
    pixels: dict[Path, tuple[int, int, int, int, str]]


@pytest.fixture(scope="module", params=SCENES)
def row(
    request: pytest.FixtureRequest, build: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Outcome]:
    stage, folder = SCENES[request.param], tmp_path_factory.mktemp("row")
    scene = _build(build, stage, cases(request.param))
    found: dict[str, Outcome] = {}
    with Plain(scene, folder / "plain") as plain, Pieces(scene, folder / "pieces") as pieces:
        merged = {split: pieces.merged(split, SIZE, overlap=stage.overlap) for split in SPLITS}
        for case in cases(request.param):
            direct = {_inside(path, plain.folder, case.name): path for path in plain.render(case.name)}
            done = pieces.finish(merged[case.split], case.name, case.name)
            finished = {name: pieces.folder / case.name / name for name in done.outputs}
            if request.param == "plain":  # what one frame sets is given back for the next
                again = pieces.finish(merged[case.split], f"again/{case.name}", case.name)
                finished |= {
                    f"again/{name}": pieces.folder / "again" / case.name / name for name in again.outputs
                }
                direct |= {f"again/{name}": path for name, path in direct.items()}
            read = [path for path in (*direct.values(), *finished.values()) if path.suffix != ".exr"]
            found[case.name] = Outcome(direct, finished, {path: plain.pixels(path) for path in read})
    return found


def _build(build: Callable[..., Path], stage: Stage, row: list[Case]) -> Path:
    variants = {case.name: case.code + stage.each for case in row}
    options = {"width": SIZE.width, "height": SIZE.height, "samples": 2, "objects": 3, **stage.build}
    return build(variants=variants, **options)


def _inside(path: Path, folder: Path, case: str) -> str:
    return path.relative_to(folder / case).as_posix()


@pytest.mark.parametrize("name", FORMATS)
def test_finished_pieces_are_what_blender_writes(row: dict[str, Outcome], name: str) -> None:
    outcome = row[name]
    assert sorted(outcome.pieces) == sorted(outcome.plain)
    for file, direct in outcome.plain.items():
        finished = outcome.pieces[file]
        if direct.suffix == ".exr":
            assert same_bits(read_exr(direct), read_exr(finished)) == []
        else:
            assert outcome.pixels[finished] == outcome.pixels[direct]
        assert metadata(finished) == metadata(direct)
