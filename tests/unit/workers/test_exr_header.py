from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import OpenEXR
import pytest

from workers import fake_pictures
from workers.exr_header import NotExr, read_parts


def write(path: Path, size: tuple[int, int], parts: int, compression: OpenEXR.Compression) -> None:
    """A file of the reference library; ``size`` is width, height."""
    pixels = np.random.default_rng(1).random((size[1], size[0]), dtype=np.float32)
    OpenEXR.File(
        [
            OpenEXR.Part(
                {"compression": compression, "type": OpenEXR.scanlineimage, "note": "n" * 5000},
                {"Z": pixels},
                name=f"part{number}",
            )
            for number in range(parts)
        ]
    ).write(str(path))


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(
    "compression",
    [OpenEXR.NO_COMPRESSION, OpenEXR.ZIPS_COMPRESSION, OpenEXR.ZIP_COMPRESSION, OpenEXR.PIZ_COMPRESSION],
)
def test_sizes_are_read_as_the_reference_library_wrote_them(
    tmp_path: Path, parts: int, compression: OpenEXR.Compression
) -> None:
    path = tmp_path / "a.exr"
    write(path, (67, 35), parts, compression)
    assert [(part.width, part.height) for part in read_parts(path)] == [(67, 35)] * parts


@pytest.mark.parametrize("parts", [1, 3])
def test_a_file_cut_anywhere_is_found_out(tmp_path: Path, parts: int) -> None:
    path, cut = tmp_path / "a.exr", tmp_path / "cut.exr"
    write(path, (20, 9), parts, OpenEXR.ZIPS_COMPRESSION)
    data = path.read_bytes()
    for length in range(0, len(data), 37):
        cut.write_bytes(data[:length])
        with pytest.raises(NotExr):
            read_parts(cut)
    cut.write_bytes(data[:-1])
    with pytest.raises(NotExr, match="cut short"):
        read_parts(cut)


def test_channels_and_texts_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.exr"
    write(path, (20, 9), 2, OpenEXR.ZIP_COMPRESSION)
    first, second = read_parts(path, names=True)
    assert (first.channels, second.channels) == (["Z"], ["Z"])
    assert (first.texts["name"], second.texts["name"]) == ("part0", "part1")
    assert first.texts["note"] == "n" * 5000
    assert all((part.channels, part.texts) == ([], {}) for part in read_parts(path))


def attribute(name: bytes, kind: bytes, value: bytes) -> bytes:
    return name + b"\0" + kind + b"\0" + struct.pack("<i", len(value)) + value


@pytest.mark.parametrize(
    "header",
    [
        attribute(b"dataWindow", b"box2i", bytes(1000)),
        attribute(b"a", b"int", bytes(4)) * 500_001,
        attribute(b"a" * 256, b"int", bytes(4)),
    ],
    ids=["a window of a thousand bytes", "attributes without end", "a name too long"],
)
def test_a_header_made_to_take_time_or_memory_is_damaged(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "a.exr"
    path.write_bytes(struct.pack("<ii", 20000630, 2) + header + bytes(10))
    with pytest.raises(NotExr, match="damaged"):
        read_parts(path)


def test_a_table_longer_than_any_picture_s_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.exr"
    window = attribute(b"dataWindow", b"box2i", struct.pack("<iiii", 0, 0, 9, 9))
    path.write_bytes(
        struct.pack("<ii", 20000630, 2)
        + window
        + attribute(b"chunkCount", b"int", struct.pack("<i", (1 << 26) + 1))
        + b"\0"
    )
    with path.open("r+b") as file:
        file.truncate(1 << 40)  # a hole: it takes no room
    with pytest.raises(NotExr, match="cut short"):
        read_parts(path)


def test_a_writer_that_died_leaves_zeros_in_the_table(tmp_path: Path) -> None:
    data = bytearray(fake_pictures.exr(4, 4))
    table = len(data) - 4 * (8 + 16) - 8 * 4
    data[table + 8 : table + 16] = bytes(8)
    path = tmp_path / "a.exr"
    path.write_bytes(data)
    with pytest.raises(NotExr, match="cut short"):
        read_parts(path)


def test_bytes_that_are_something_else_are_found_out(tmp_path: Path) -> None:
    path = tmp_path / "a.exr"
    path.write_bytes(fake_pictures.png(3, 3))
    with pytest.raises(NotExr, match="not an OpenEXR"):
        read_parts(path)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_headers_raise_nothing_else(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "a.exr"
    write(path, (20, 9), 2, OpenEXR.ZIP_COMPRESSION)
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(seed)
    for place in rng.integers(4, 900, 30):
        data[place] = rng.integers(256)
    path.write_bytes(data)
    try:
        read_parts(path)
    except NotExr:
        return
