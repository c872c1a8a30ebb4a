from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.unit.imaging.pictures import Told
from workers.child import Refusal
from workers.imaging import preview
from workers.imaging.preview import shrink
from workers.protocol import Shrink


def shrunk(source: Path, width: int, box: list[int] | None = None) -> Image.Image:
    out = source.with_name("preview.jpg")
    done = shrink(Shrink(str(source), str(out), width, box), Told())
    assert done.outputs == ["preview.jpg"]
    with Image.open(out) as image:
        assert image.format == "JPEG"
        image.load()
        return image


def refused(source: Path, width: int = 8, box: list[int] | None = None) -> str:
    out = source.with_name("preview.jpg")
    with pytest.raises(Refusal) as caught:
        shrink(Shrink(str(source), str(out), width, box), Told())
    assert caught.value.cause == "bad-result"
    assert not out.exists()
    assert not list(source.parent.glob("*.part"))
    return caught.value.what


def saved(tmp_path: Path, image: Image.Image, name: str = "frame.png", **how: Any) -> Path:
    image.save(tmp_path / name, **how)
    return tmp_path / name


@pytest.mark.parametrize(
    ("size", "width", "expected"),
    [
        ((1920, 1080), 480, (480, 270)),
        ((161, 91), 80, (80, 45)),
        ((100, 900), 50, (50, 450)),
        ((64, 36), 64, (64, 36)),
        ((64, 36), 1920, (64, 36)),
        ((1000, 1), 10, (10, 1)),
    ],
)
@pytest.mark.parametrize("name", ["frame.png", "frame.jpg"])
def test_the_preview_is_at_most_so_wide_and_keeps_its_shape(
    name: str, size: tuple[int, int], width: int, expected: tuple[int, int], tmp_path: Path
) -> None:
    assert shrunk(saved(tmp_path, Image.new("RGB", size, "teal"), name), width).size == expected


@pytest.mark.parametrize("name", ["frame.png", "frame.jpg"])
@pytest.mark.parametrize(("width", "size"), [(1000, (32, 16)), (16, (16, 8))])
def test_only_the_box_is_shown_and_then_shrinks(
    name: str, width: int, size: tuple[int, int], tmp_path: Path
) -> None:
    picture = Image.new("RGB", (64, 48), "white")
    picture.paste((90, 90, 90), (8, 24, 40, 40))  # no colour: JPEG would let that bleed

    image = shrunk(saved(tmp_path, picture, name, quality=95), width, [8, 24, 32, 16])

    assert image.size == size
    assert np.abs(np.asarray(image).astype(int) - 90).max() <= 3


@pytest.mark.parametrize(
    "box", [[0, 0, 9, 8], [1, 0, 8, 8], [0, -1, 8, 8], [0, 0, 8, 0], [0, 0, 8], []], ids=str
)
def test_a_box_that_is_not_in_the_picture_is_refused(box: list[int], tmp_path: Path) -> None:
    source = saved(tmp_path, Image.new("RGB", (8, 8)))

    words = "The picture for the preview has 8×8" if len(box) == 4 else "A preview cannot be cut"
    assert refused(source, 8, box).startswith(words)


def test_colours_are_taken_as_they_are(tmp_path: Path) -> None:
    image = shrunk(saved(tmp_path, Image.new("RGB", (64, 64), (200, 100, 50))), 16)

    assert np.abs(np.asarray(image).astype(int) - [200, 100, 50]).max() <= 2


def test_sixteen_bit_grey_is_scaled_and_not_clipped(tmp_path: Path) -> None:
    source = saved(tmp_path, Image.fromarray(np.full((20, 20), 0x8000, np.uint16)))

    image = shrunk(source, 10)

    assert image.mode == "L"
    assert np.abs(np.asarray(image).astype(int) - 128).max() <= 1


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("L", 77, (77, 77, 77)),
        ("1", 1, (255, 255, 255)),
        ("LA", (200, 128), (100, 100, 100)),
        ("RGBA", (200, 100, 50, 0), (0, 0, 0)),
        ("RGBA", (200, 100, 50, 255), (200, 100, 50)),
        ("RGBA", (200, 100, 50, 128), (100, 50, 25)),
    ],
)
def test_every_kind_of_png_becomes_a_jpeg_with_transparency_over_black(
    mode: str, colour: Any, expected: tuple[int, int, int], tmp_path: Path
) -> None:
    image = shrunk(saved(tmp_path, Image.new(mode, (40, 40), colour)), 20)

    assert image.mode in ("L", "RGB")
    assert np.abs(np.asarray(image.convert("RGB")).astype(int) - expected).max() <= 2


def test_a_palette_picture_keeps_its_colours(tmp_path: Path) -> None:
    source = saved(tmp_path, Image.new("RGB", (40, 40), (10, 200, 90)).quantize(4))

    assert np.abs(np.asarray(shrunk(source, 20)).astype(int) - [10, 200, 90]).max() <= 2


def test_a_grey_and_a_cmyk_jpeg_work(tmp_path: Path) -> None:
    grey = shrunk(saved(tmp_path, Image.new("L", (40, 20), 90), "grey.jpg"), 20)
    ink = shrunk(saved(tmp_path, Image.new("CMYK", (40, 20), (0, 0, 0, 0)), "ink.jpg"), 20)

    assert (grey.mode, grey.size) == ("L", (20, 10))
    assert (ink.mode, ink.size) == ("RGB", (20, 10))
    assert np.asarray(ink).min() >= 253


def test_fine_lines_are_averaged_and_not_picked(tmp_path: Path) -> None:
    lines = np.zeros((64, 256, 3), np.uint8)
    lines[:, ::2] = 255

    image = np.asarray(shrunk(saved(tmp_path, Image.fromarray(lines)), 32)).astype(int)

    assert np.abs(image[:, 4:-4] - 127).max() <= 3


def test_an_older_preview_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "preview.jpg").write_bytes(b"old")

    assert shrunk(saved(tmp_path, Image.new("RGB", (8, 8), "red")), 8).size == (8, 8)


def test_a_missing_source_is_told(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.png") == "The picture for the preview is missing (none.png)."


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0"])
def test_what_is_no_picture_is_told(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "frame.png").write_bytes(content)

    assert refused(tmp_path / "frame.png") == "frame.png is not a JPEG or PNG picture, or it is cut short."


@pytest.mark.parametrize("name", ["frame.png", "frame.jpg"])
def test_a_picture_cut_short_is_told(name: str, tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3), np.uint8)
    source = saved(tmp_path, Image.fromarray(noise), name)
    source.write_bytes(source.read_bytes()[:-2000])

    assert refused(source) == f"{name} is not a JPEG or PNG picture, or it is cut short."


def test_other_formats_are_not_even_tried(tmp_path: Path) -> None:
    source = saved(tmp_path, Image.new("RGB", (8, 8)), "frame.tiff")

    assert refused(source) == "frame.tiff is not a JPEG or PNG picture, or it is cut short."


@pytest.mark.parametrize("limit", [99, 40])
def test_a_picture_that_would_burst_the_memory_is_told(
    limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Pillow warns from its limit on, and refuses from twice that on; both must end in our words.
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    source = saved(tmp_path, Image.new("RGB", (10, 10)))

    assert refused(source).startswith("frame.png has more pixels than a preview is made of (at most ")


def test_a_sixteen_k_frame_is_within_the_limit() -> None:
    assert Image.MAX_IMAGE_PIXELS == preview.LARGEST >= 15360 * 8640


def test_a_width_without_pixels_is_refused(tmp_path: Path) -> None:
    source = saved(tmp_path, Image.new("RGB", (8, 8)))

    assert refused(source, 0) == "A preview cannot be 0 pixels wide."
