"""`Box.border` against Blender itself, at the edges where the obvious fraction is a pixel off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import OpenEXR
import pytest

from farm.domain.tiles import Box, Size
from tests.integration.imaging.conftest import render

LONG, SHORT = 641, 9


def edges_that_k_over_w_misses(of: int) -> list[int]:
    pixels = np.arange(1, of)
    found = ((pixels / of).astype(np.float32) * np.float32(of)).astype(int)
    return [int(pixel) for pixel in pixels[found != pixels]]


def bits(path: Path | str, pass_name: str) -> np.ndarray:
    with OpenEXR.File(str(path), separate_channels=True) as file:
        part = next(part for part in file.parts if part.name() == pass_name)
        return np.stack([channel.pixels.view(np.uint32) for channel in part.channels.values()], axis=-1)


@pytest.mark.parametrize("upward", [False, True], ids=["across", "up"])
def test_a_piece_at_a_treacherous_edge_is_exactly_its_pixels(upward: bool, tmp_path: Path) -> None:
    edges = edges_that_k_over_w_misses(LONG)
    assert len(edges) == 54
    frame = Size(SHORT, LONG) if upward else Size(LONG, SHORT)
    boxes = {}
    for edge in edges:
        # The edge is once where a piece begins and once where it ends; y is counted from the bottom.
        for side, start in (("begin", edge), ("end", edge - 2)):
            along = (start, min(2, LONG - start))
            box = (
                Box(1, LONG - along[0] - along[1], SHORT - 2, along[1])
                if upward
                else Box(along[0], 1, along[1], SHORT - 2)
            )
            boxes[str(tmp_path / f"{side}-{edge}.exr")] = box

    whole = render(tmp_path, frame, boxes)

    for name in ("Beauty.Combined", "Beauty.Position"):
        picture = bits(whole, name)
        assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > LONG * SHORT // 2
        for path, box in boxes.items():
            wanted = picture[box.y : box.y + box.height, box.x : box.x + box.width]
            assert np.array_equal(bits(path, name), wanted), (name, Path(path).name, box)
