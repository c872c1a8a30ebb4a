"""Pictures are compared as they lie in their files: value by value, alpha and metadata included."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from tests.integration.reference.conftest import Start
from workers.children import Child
from workers.protocol import CompareImages

RNG = np.random.default_rng(3)
PIXELS = RNG.integers(0, 256, (6, 9, 4), dtype=np.uint8)
PIXELS[2, 3] = (200, 100, 50, 0)  # what a careless reader multiplies away


def png16(path: Path, pixels: np.ndarray) -> None:
    height, width, _ = pixels.shape

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 6, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def eight(ending: str, **options: Any) -> Callable[[Path, np.ndarray], None]:
    def write(path: Path, pixels: np.ndarray) -> None:
        Image.fromarray(pixels).save(path, ending, **options)

    return write


def sixteen(path: Path, pixels: np.ndarray) -> None:
    png16(path, pixels.astype(np.uint16) * 257)


WRITERS = {
    "png": (eight("PNG"), 8),
    "16-bit.png": (sixteen, 8),
    "tif": (eight("TIFF"), 8),
    "tga": (eight("TGA"), 8),
    "webp": (eight("WEBP", lossless=True, exact=True), 8),
    "bmp": (lambda path, pixels: Image.fromarray(pixels[:, :, :3]).save(path, "BMP"), 8),
    "jpg": (lambda path, pixels: Image.fromarray(pixels[:, :, :3]).save(path, "JPEG", quality=100), 120),
}


async def rows(child: Child, first: Path, second: Path, tolerance: float = 0.0) -> list[dict[str, Any]]:
    done = await child.ask(CompareImages(str(first), str(second), "shot.png", tolerance))
    assert done.report is not None
    return done.report["rows"]


async def test_one_value_in_one_pixel_is_found_in_every_format(start: Start, tmp_path: Path) -> None:
    child = await start()
    for name, (write, by) in WRITERS.items():
        first, second, third = (tmp_path / f"{number}.{name}" for number in "123")
        changed, transparent = PIXELS.copy(), PIXELS.copy()
        changed[4, 5, 1] ^= by
        transparent[2, 3, 0] ^= by  # where alpha is 0
        for path, pixels in ((first, PIXELS), (second, changed), (third, transparent)):
            write(path, pixels)
        [same] = await rows(child, first, first)
        assert same == {
            "kind": "output",
            "name": "shot.png",
            "same": True,
            "pixels": 54,
            "differing": 0,
            "largest": 0.0,
            "note": "",
        }, name
        for other in (second, third):
            [found] = await rows(child, first, other)
            assert found["same"] is False, name
            if name == "jpg":
                assert found["differing"] > 0
            else:
                assert (found["differing"], found["largest"]) == (1, pytest.approx(by / 255)), name


async def test_what_is_within_the_tolerance_is_the_same_and_says_so(start: Start, tmp_path: Path) -> None:
    changed = PIXELS.copy()
    changed[0, 0, 2] ^= 1
    eight("PNG")(tmp_path / "1.png", PIXELS)
    eight("PNG")(tmp_path / "2.png", changed)
    child = await start()
    [found] = await rows(child, tmp_path / "1.png", tmp_path / "2.png", 0.004)
    assert (found["same"], found["differing"], found["note"]) == (True, 1, "within 0.004")
    [found] = await rows(child, tmp_path / "1.png", tmp_path / "2.png", 0.003)
    assert (found["same"], found["note"]) == (False, "")


async def test_another_size_or_depth_is_told_in_words(start: Start, tmp_path: Path) -> None:
    child = await start()
    whole, smaller, deep = (tmp_path / name for name in ("whole.png", "smaller.png", "deep.png"))
    eight("PNG")(whole, PIXELS)
    eight("PNG")(smaller, PIXELS[1:])
    sixteen(deep, PIXELS)
    found, _ = await rows(child, whole, smaller)
    assert (found["same"], found["differing"]) == (False, None)
    assert found["note"] == "the farm's has 9×5 pixels of 4 channels, the reference 9×6 of 4"
    *_, metadata = await rows(child, whole, deep)  # the same picture, in 16 bits
    assert (metadata["kind"], metadata["same"]) == ("metadata", False)
    assert metadata["note"].startswith("chunk IHDR: ")


async def test_metadata_is_compared_but_for_what_always_differs(start: Start, tmp_path: Path) -> None:
    def told(name: str, compressed: bool = False, **texts: str) -> Path:
        info = PngImagePlugin.PngInfo()
        for key, value in texts.items():
            info.add_text(key, value, zip=compressed)
        Image.fromarray(PIXELS).save(tmp_path / name, pnginfo=info)
        return tmp_path / name

    child = await start()
    first = told("1.png", Date="today", RenderTime="00:01", Camera="Camera", Note="a")
    clocks = told("2.png", Date="tomorrow", RenderTime="00:09", Camera="Camera", Note="a")
    packed = told("3.png", compressed=True, Date="today", RenderTime="00:01", Camera="Camera", Note="a")
    other = told("4.png", Date="today", RenderTime="00:01", Camera="Umlaut Ü", More="1")
    assert [row["kind"] for row in await rows(child, first, clocks)] == ["output"]
    assert [row["kind"] for row in await rows(child, first, packed)] == ["output"]
    pixels, metadata = await rows(child, first, other)
    assert pixels["same"] is True
    assert (metadata["kind"], metadata["name"], metadata["same"]) == ("metadata", "shot.png", False)
    assert metadata["note"] == (
        "Camera: “Umlaut Ü”, reference “Camera”; More: “1”, reference none; Note: none, reference “a”"
    )


async def test_a_jpeg_tells_its_comments_and_its_quality(start: Start, tmp_path: Path) -> None:
    plain = Image.new("RGB", (16, 16), (120, 120, 120))  # the same pixels at any quality
    for name, quality, camera in (("1", 90, b"A"), ("2", 90, b"B"), ("3", 60, b"A")):
        plain.save(tmp_path / f"{name}.jpg", quality=quality, comment=b"Blender:Camera:" + camera)
    child = await start()
    first, other, coarse = (tmp_path / f"{name}.jpg" for name in "123")
    assert len(await rows(child, first, first)) == 1
    _, metadata = await rows(child, first, other)
    assert metadata["note"] == "Camera: “B”, reference “A”"
    _, metadata = await rows(child, first, coarse)
    assert metadata["note"].startswith("segment db: ")


async def test_what_blender_cannot_read_is_compared_by_its_bytes(start: Start, tmp_path: Path) -> None:
    child = await start()
    for name, data in (("1.dat", b"abc"), ("2.dat", b"abc"), ("3.dat", b"abd"), ("4.dat", b"")):
        (tmp_path / name).write_bytes(data)
    for other, same in (("2.dat", True), ("3.dat", False), ("4.dat", False)):
        [found] = await rows(child, tmp_path / "1.dat", tmp_path / other)
        assert (found["same"], found["note"]) == (same, "not a picture that Blender reads: by its bytes")


async def test_damaged_metadata_is_told_and_never_fatal(start: Start, tmp_path: Path) -> None:
    child = await start()
    eight("PNG")(tmp_path / "1.png", PIXELS)
    data = (tmp_path / "1.png").read_bytes()
    cut = data.index(b"IDAT") - 4
    text = b"Note\0\0no zlib stream!"
    broken = struct.pack(">I", len(text)) + b"zTXt" + text + b"0000"
    (tmp_path / "2.png").write_bytes(data[:cut] + broken + data[cut:])
    [*_, metadata] = await rows(child, tmp_path / "1.png", tmp_path / "2.png")
    assert metadata["note"] == "Note: “no zlib stream!”, reference none"
