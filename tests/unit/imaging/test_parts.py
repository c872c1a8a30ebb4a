"""Files read and written a part, or a few lines, at a time: the OpenEXR library itself is the reference."""

from __future__ import annotations

import io
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import OpenEXR
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.imaging.pictures import frame, load, same_bits
from workers.imaging import writer
from workers.imaging.exr import PartReader, Unreadable, inspect_exr, read_pixels
from workers.imaging.writer import PartWriter

CODECS = ["NO", "RLE", "ZIPS", "ZIP", "PIZ", "PXR24", "B44", "B44A", "DWAA", "DWAB"]


def written(path: Path, codec: str, width: int = 37, height: int = 70, multi: bool = True) -> Path:
    header = {"type": OpenEXR.scanlineimage, "compression": getattr(OpenEXR, f"{codec}_COMPRESSION")}
    parts = frame(width, height)
    if multi:
        OpenEXR.File([OpenEXR.Part(dict(header), c, name) for name, c in parts.items()]).write(str(path))
    else:
        channels = {name: pixels for part in parts.values() for name, pixels in part.items()}
        OpenEXR.File(header, channels).write(str(path))
    return path


@pytest.mark.parametrize("codec", CODECS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_lines_of_any_part_are_those_of_the_whole_file(
    codec: str, tmp_path: Path, data: st.DataObject
) -> None:
    multi = data.draw(st.booleans())
    path = tmp_path / f"{multi}.exr"
    if not path.exists():
        written(path, codec, multi=multi)
    whole = list(load(path).values())
    top = data.draw(st.integers(0, 69))
    bottom = data.draw(st.integers(top + 1, 70))
    number = data.draw(st.integers(0, len(whole) - 1))

    lines = PartReader(path).pixels(number, top, bottom)

    assert lines.keys() == whole[number].keys()
    assert all(same_bits(lines[c], a[top:bottom]) for c, a in whole[number].items())


@pytest.mark.parametrize("strip", [1, 10_000, 10**9])
@pytest.mark.parametrize("multi", [False, True])
@pytest.mark.parametrize("height", [1, 15, 16, 17, 70])
def test_a_file_written_part_by_part_is_the_librarys_own_byte_for_byte(
    strip: int, multi: bool, height: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_STRIP_BYTES", strip)
    path = written(tmp_path / "library.exr", "ZIP", height=height, multi=multi)
    picture = inspect_exr(path)
    out = io.BytesIO()

    ours = PartWriter(out, [(part, _kept(part.header)) for part in picture.parts], 37, height)
    for number, pixels in enumerate(read_pixels(path, picture)):
        ours.write(number, pixels)
    ours.finish()

    assert out.getvalue() == path.read_bytes()


def _kept(header: Any) -> dict[str, Any]:
    return {key: value for key, value in header.items() if key not in ("channels", "chunkCount", "name")}


def test_long_names_are_kept(tmp_path: Path) -> None:
    name = "A layer with a name of more than thirty-one letters.Combined"
    path = tmp_path / "long.exr"
    OpenEXR.File(
        [OpenEXR.Part({"type": OpenEXR.scanlineimage}, {f"{name}.R": np.ones((3, 2), "f")}, name)] * 1
        + [OpenEXR.Part({"type": OpenEXR.scanlineimage}, {"L.Z": np.ones((3, 2), "f")}, "L")]
    ).write(str(path))
    picture = inspect_exr(path)

    with (tmp_path / "out.exr").open("wb") as file:
        ours = PartWriter(file, [(part, {}) for part in picture.parts], 2, 3)
        for number, pixels in enumerate(read_pixels(path, picture)):
            ours.write(number, pixels)
        ours.finish()

    assert list(load(tmp_path / "out.exr")[name]) == [f"{name}.R"]


def test_parts_of_several_sizes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "sizes.exr"

    def window(width: int) -> Any:
        return np.array([0, 0], np.int32), np.array([width - 1, 2], np.int32)

    OpenEXR.File(
        [
            OpenEXR.Part(
                {"type": OpenEXR.scanlineimage, "dataWindow": window(width), "displayWindow": window(4)},
                {"Z": np.ones((3, width), "f")},
                str(width),
            )
            for width in (2, 4)
        ]
    ).write(str(path))

    with pytest.raises(Unreadable, match="differ in size"):
        inspect_exr(path)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (b"channels", b"chlist"),
        (b"compression", b"compression"),
        (b"pixelAspectRatio", b"float"),
        (b"screenWindowCenter", b"v2f"),
        (b"screenWindowWidth", b"float"),
    ],
)
def test_a_part_that_lacks_what_decoding_needs_is_refused(tmp_path: Path, name: bytes, kind: bytes) -> None:
    path = written(tmp_path / "good.exr", "ZIP")
    before, _, after = path.read_bytes().rpartition(name + b"\0" + kind)
    path.write_bytes(before + b"x" * len(name) + b"\0" + kind + after)

    with pytest.raises(Unreadable):
        PartReader(path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.binary(min_size=1, max_size=8), st.floats(0, 1))
def test_whatever_bytes_are_damaged_the_file_is_read_or_refused(
    tmp_path: Path, at: int, replaced: bytes, kept: float
) -> None:
    path = tmp_path / "damaged.exr"
    data = bytearray(written(tmp_path / "good.exr", "ZIP").read_bytes())
    at %= len(data)
    data[at : at + len(replaced)] = replaced
    path.write_bytes(data[: len(data) if kept > 0.5 else int(2 * kept * len(data))])

    with suppress(Unreadable):  # and nothing else
        reader = PartReader(path)
        for number in range(len(reader.picture.parts)):
            reader.pixels(number)


@pytest.mark.parametrize("size", [2**31 - 1, -1, 0, 10**6])
def test_a_block_that_claims_to_be_longer_than_its_pixels_is_refused(size: int, tmp_path: Path) -> None:
    path = written(tmp_path / "piece.exr", "ZIP")
    data = bytearray(path.read_bytes())
    picture = inspect_exr(path)
    table = data.index(struct.pack("<i", 70 // 16 + 1), 0)  # chunkCount stands before the tables
    first = min(
        offset
        for start in range(table, table + 4000)
        if len(data) > (offset := struct.unpack("<Q", data[start : start + 8])[0]) > start
        and data[offset : offset + 8] == bytes(8)  # part 0, line 0
    )
    data[first + 8 : first + 12] = struct.pack("<i", size)
    path.write_bytes(data)

    with pytest.raises(Unreadable, match=f"damaged or cut short in “{picture.parts[0].name}”"):
        PartReader(path).pixels(0)
