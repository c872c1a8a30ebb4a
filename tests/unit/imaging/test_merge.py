from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Mapping
from dataclasses import astuple
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import OpenEXR
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from farm.domain.tiles import Box, TileGrid
from tests.unit.imaging.pictures import Told, cut, frame, load, piece, same_bits, save
from workers.child import Refusal
from workers.imaging.exr import Unreadable, inspect_exr
from workers.imaging.merge import merge_frame
from workers.protocol import Count, Done, MergeFrame, PieceFile

LEFT, RIGHT = [0, 0, 5, 6], [5, 0, 4, 6]


def merged(tmp_path: Path, pieces: list[PieceFile], width: int = 9, height: int = 6) -> Done:
    return merge_frame(MergeFrame(pieces, width, height, str(tmp_path / "merged.exr")), Told())


def halves(tmp_path: Path, left: Any = None, right: Any = None, **headers: Any) -> list[PieceFile]:
    """Two pieces of a 9×6 frame; ``left`` and ``right`` replace their parts."""
    whole = frame(9, 6)
    return [
        piece(save(tmp_path / "left.exr", left or cut(whole, LEFT), headers.get("left_header")), LEFT),
        piece(save(tmp_path / "right.exr", right or cut(whole, RIGHT), headers.get("right_header")), RIGHT),
    ]


def save_views(path: Path, views: Mapping[str, Any]) -> None:
    """Write a Combined pass of one channel in several views, as Blender does."""
    OpenEXR.File(
        [
            OpenEXR.Part(
                {"type": OpenEXR.scanlineimage, "view": view}, {"L.Combined.R": pixels}, f"L.Combined-{view}"
            )
            for view, pixels in views.items()
        ]
    ).write(str(path))


def refused(tmp_path: Path, pieces: list[PieceFile], **size: int) -> Refusal:
    with pytest.raises(Refusal) as caught:
        merged(tmp_path, pieces, **size)
    assert caught.value.cause == "bad-result"
    assert not (tmp_path / "merged.exr").exists()
    assert not list(tmp_path.glob("*.part"))
    return caught.value


def test_every_part_channel_and_pixel_type_comes_out_as_it_went_in(tmp_path: Path) -> None:
    whole = frame(9, 6)

    done = merged(tmp_path, halves(tmp_path))

    out = load(tmp_path / "merged.exr")
    assert done.outputs == ["merged.exr"]
    assert list(out) == list(whole)
    for name, channels in whole.items():
        assert list(out[name]) == sorted(channels)
        assert all(same_bits(out[name][channel], pixels) for channel, pixels in channels.items())


def test_only_the_core_of_a_piece_counts(tmp_path: Path) -> None:
    whole = frame(9, 6)
    wide = cut(whole, [2, 0, 7, 6])
    for channels in wide.values():
        for pixels in channels.values():
            pixels[:, :3] = 7  # what lies outside of the core is wrong, and must not be seen
    pieces = [
        piece(save(tmp_path / "left.exr", cut(whole, LEFT)), LEFT),
        piece(save(tmp_path / "right.exr", wide), [2, 0, 7, 6], RIGHT),
    ]

    merged(tmp_path, pieces)

    out = load(tmp_path / "merged.exr")
    assert all(same_bits(out[p][c], a) for p, channels in whole.items() for c, a in channels.items())


def test_odd_values_survive_bit_for_bit(tmp_path: Path) -> None:
    odd = [
        0x7F800001,  # signalling NaN
        0xFFC0BEEF,  # NaN with a payload
        0x80000000,  # -0.0
        0x00000001,  # smallest subnormal
        0x7F800000,  # infinity
        0x501502F9,  # 1e10, Blender's depth of nothing
    ]
    values = np.array(odd * 9, np.uint32).reshape(6, 9).view(np.float32)
    whole = {"Beauty.Depth": {"Beauty.Depth.Z": values}}

    merged(tmp_path, halves(tmp_path, cut(whole, LEFT), cut(whole, RIGHT)))

    assert same_bits(load(tmp_path / "merged.exr")["Beauty.Depth"]["Beauty.Depth.Z"], values)


def test_a_single_part_file_of_an_older_blender_stays_a_single_part(tmp_path: Path) -> None:
    channels = {name: pixels for part in frame(9, 6).values() for name, pixels in part.items()}
    for name, box in (("left", LEFT), ("right", RIGHT)):
        header = {"type": OpenEXR.scanlineimage, "BlenderMultiChannel": "Blender V2.55.1 and newer"}
        OpenEXR.File(header, cut({"": channels}, box)[""]).write(str(tmp_path / f"{name}.exr"))

    merged(tmp_path, [piece(tmp_path / "left.exr", LEFT), piece(tmp_path / "right.exr", RIGHT)])

    out = load(tmp_path / "merged.exr")
    assert list(out) == [""]
    assert all(same_bits(out[""][name], pixels) for name, pixels in channels.items())
    version = struct.unpack("<I", (tmp_path / "merged.exr").read_bytes()[4:8])[0]
    assert not version & 0x1000, "the multi-part flag"


def test_half_floats_stay_half_floats(tmp_path: Path) -> None:
    whole = {"L.Combined": {"L.Combined.R": np.arange(54, dtype=np.float16).reshape(6, 9)}}

    merged(tmp_path, halves(tmp_path, cut(whole, LEFT), cut(whole, RIGHT)))

    assert same_bits(
        load(tmp_path / "merged.exr")["L.Combined"]["L.Combined.R"], whole["L.Combined"]["L.Combined.R"]
    )


def test_progress_counts_the_passes(tmp_path: Path) -> None:
    told = Told()
    merge_frame(MergeFrame(halves(tmp_path), 9, 6, str(tmp_path / "merged.exr")), told)

    assert told.messages == [Count("merging", 1, 3), Count("merging", 2, 3), Count("merging", 3, 3)]


def test_windows_are_the_whole_frames(tmp_path: Path) -> None:
    merged(tmp_path, halves(tmp_path))

    picture = inspect_exr(tmp_path / "merged.exr")
    assert (picture.width, picture.height) == (9, 6)
    for part in picture.parts:
        for window in ("dataWindow", "displayWindow"):
            assert [list(corner) for corner in part.header[window]] == [[0, 0], [8, 5]]


def test_metadata_comes_from_the_pieces(tmp_path: Path) -> None:
    one = {"Software": "Blender 5.2.3 LTS", "RenderTime": "00:01.50", "Date": "2030/01/01 10:00:00"}
    other = {**one, "RenderTime": "00:02.75", "Date": "2030/01/01 10:00:09"}

    merged(tmp_path, halves(tmp_path, left_header=one, right_header=other))

    assert inspect_exr(tmp_path / "merged.exr").metadata == {
        "Software": "Blender 5.2.3 LTS",
        "RenderTime": "00:04.25",
        "name": "Beauty.Combined",
    }


# --- pieces that do not make the frame -----------------------------------------------------------


def test_a_missing_piece_is_named(tmp_path: Path) -> None:
    pieces = halves(tmp_path)
    (tmp_path / "right.exr").unlink()

    fault = refused(tmp_path, pieces)

    assert (fault.what, fault.cure) == ("Piece 2 of 2 is missing (right.exr).", "Render it again.")
    assert fault.pieces == [1]


@pytest.mark.parametrize("content", [b"", b"v/1\x01", b"not a picture " * 100])
def test_a_file_that_is_no_exr_is_named(content: bytes, tmp_path: Path) -> None:
    pieces = halves(tmp_path)
    (tmp_path / "left.exr").write_bytes(content)

    assert refused(tmp_path, pieces).what == (
        "Piece 1 of 2 cannot be read: it is not an EXR file, or it is cut short or damaged."
    )


@pytest.mark.parametrize("name", [b"Beauty.Combined.A", b"Beauty.Depth"])
def test_a_name_that_is_no_text_is_damage(name: bytes, tmp_path: Path) -> None:
    pieces = halves(tmp_path)
    data = (tmp_path / "left.exr").read_bytes()
    assert name in data
    (tmp_path / "left.exr").write_bytes(data.replace(name, b"\xff" + name[1:]))

    assert refused(tmp_path, pieces).what.startswith("Piece 1 of 2 cannot be read: ")


@pytest.mark.parametrize("missing", [1, 50, 400])
def test_a_piece_without_its_end_is_refused(missing: int, tmp_path: Path) -> None:
    pieces = halves(tmp_path)
    path = tmp_path / "right.exr"
    path.write_bytes(path.read_bytes()[:-missing])

    fault = refused(tmp_path, pieces)

    assert fault.what.startswith("Piece 2 of 2 cannot be read: pixels are damaged or cut short in ")
    assert fault.pieces == [1]


def test_a_piece_whose_writer_was_killed_is_refused(tmp_path: Path) -> None:
    pieces = halves(tmp_path)
    path = tmp_path / "left.exr"
    data = bytearray(path.read_bytes())
    first = struct.unpack("<Q", data[(table := _chunk_table(data)) : table + 8])[0]
    assert table < first < len(data)
    data[table:first] = bytes(first - table)  # the table of chunks is written last
    path.write_bytes(data[: first + 200])

    assert refused(tmp_path, pieces).what.startswith("Piece 1 of 2 cannot be read: ")


def _chunk_table(data: bytes | bytearray) -> int:
    """Where the offsets of a multi-part file begin: after its last header's two closing zeros."""
    position = 8
    while data[position]:
        while data[position]:
            name_end = data.index(0, position)
            type_end = data.index(0, name_end + 1)
            (size,) = struct.unpack("<I", data[type_end + 1 : type_end + 5])
            position = type_end + 5 + size
        position += 1
    return position + 1


def test_a_piece_of_the_wrong_size_is_refused(tmp_path: Path) -> None:
    pieces = halves(tmp_path, right=cut(frame(9, 6), [5, 0, 3, 6]))

    fault = refused(tmp_path, pieces)

    assert fault.what == "Piece 2 of 2 is 3×6 pixels and should be 4×6."
    assert fault.pieces == [1]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    pieces = halves(tmp_path)
    (tmp_path / "right.exr").rename(tmp_path / "elsewhere.exr")
    (tmp_path / "right.exr").symlink_to(tmp_path / "elsewhere.exr")

    assert refused(tmp_path, pieces).what == "Piece 2 of 2 is not a plain file (right.exr)."


def test_a_piece_with_a_pass_less_is_refused(tmp_path: Path) -> None:
    right = cut(frame(9, 6), RIGHT)
    del right["Beauty.Depth"]

    assert refused(tmp_path, halves(tmp_path, right=right)).what == (
        "Pieces 1 and 2 of 2 do not belong together: only one of them has “Beauty.Depth”."
    )


def test_a_piece_with_its_passes_in_another_order_is_refused(tmp_path: Path) -> None:
    right = dict(reversed(cut(frame(9, 6), RIGHT).items()))

    assert refused(tmp_path, halves(tmp_path, right=right)).what == (
        "Pieces 1 and 2 of 2 do not belong together: their passes come in another order."
    )


def test_a_piece_with_a_channel_less_is_refused(tmp_path: Path) -> None:
    right = cut(frame(9, 6), RIGHT)
    del right["Beauty.Combined"]["Beauty.Combined.A"]

    assert refused(tmp_path, halves(tmp_path, right=right)).what == (
        "Pieces 1 and 2 of 2 do not belong together: the channels of “Beauty.Combined” differ."
    )


def test_a_piece_with_another_pixel_type_is_refused(tmp_path: Path) -> None:
    right = cut(frame(9, 6), RIGHT)
    right["Beauty.Depth"]["Beauty.Depth.Z"] = right["Beauty.Id"]["Beauty.Id.X"]

    assert refused(tmp_path, halves(tmp_path, right=right)).what == (
        "Pieces 1 and 2 of 2 do not belong together: "
        "“Beauty.Depth.Z” is float32 in one of them and uint32 in the other."
    )


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("Software", "Blender 5.1.0"),
        ("Frame", "002"),
        ("Scene", "Other"),
        ("Camera", "Side"),
        ("cycles.Beauty.samples", "16"),
    ],
)
def test_pieces_of_different_frames_or_blenders_are_refused(key: str, other: str, tmp_path: Path) -> None:
    one = {
        "Software": "Blender 5.2.3 LTS",
        "Frame": "001",
        "Scene": "Scene",
        "Camera": "Front",
        "cycles.Beauty.samples": "8",
    }
    pieces = halves(tmp_path, left_header=one, right_header={**one, key: other})

    fault = refused(tmp_path, pieces)

    assert fault.what == (
        f"The pieces do not belong together: their “{key}” differs: “{one[key]}”, “{other}”."
    )
    assert fault.pieces == [], "of two, nobody can tell which is right"


def thirds(tmp_path: Path) -> list[PieceFile]:
    whole = frame(9, 6)
    boxes = [[0, 0, 3, 6], [3, 0, 3, 6], [6, 0, 3, 6]]
    return [piece(save(tmp_path / f"{n}.exr", cut(whole, box)), box) for n, box in enumerate(boxes)]


@pytest.mark.parametrize("odd", [0, 1, 2])
def test_of_three_pieces_the_one_that_says_something_else_is_at_fault(odd: int, tmp_path: Path) -> None:
    pieces = thirds(tmp_path)
    for number, each in enumerate(pieces):
        header = {"Frame": "002" if number == odd else "001"}
        save(Path(each.path), cut(frame(9, 6), each.core), header)

    assert refused(tmp_path, pieces).pieces == [odd]


@pytest.mark.parametrize("odd", [0, 1, 2])
def test_of_three_pieces_the_one_with_other_passes_is_at_fault(odd: int, tmp_path: Path) -> None:
    pieces = thirds(tmp_path)
    poorer = cut(frame(9, 6), pieces[odd].core)
    del poorer["Beauty.Id"]
    save(Path(pieces[odd].path), poorer)

    fault = refused(tmp_path, pieces)

    assert fault.pieces == [odd]
    assert fault.what.endswith(": only one of them has “Beauty.Id”.")
    assert f"{odd + 1}" in fault.what.partition(" of 3")[0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_combined_pass_that_is_not_finite_is_refused_with_the_count(value: float, tmp_path: Path) -> None:
    right = cut(frame(9, 6), RIGHT)
    right["Beauty.Combined"]["Beauty.Combined.G"][1:3, 2] = value
    right["Beauty.Combined"]["Beauty.Combined.R"][1, 2] = value  # a pixel that counts once

    fault = refused(tmp_path, halves(tmp_path, right=right))

    assert fault.what == ("Piece 2 of 2 has 2 pixels without a finite value in “Beauty.Combined”.")
    assert fault.pieces == [1]
    assert "overflow" in fault.cure


def test_what_is_not_finite_outside_of_the_core_does_no_harm(tmp_path: Path) -> None:
    whole = frame(9, 6)
    wide = cut(whole, [4, 0, 5, 6])
    wide["Beauty.Combined"]["Beauty.Combined.R"][:, 0] = np.nan
    pieces = [
        piece(save(tmp_path / "left.exr", cut(whole, LEFT)), LEFT),
        piece(save(tmp_path / "right.exr", wide), [4, 0, 5, 6], RIGHT),
    ]

    merged(tmp_path, pieces)

    assert np.isfinite(load(tmp_path / "merged.exr")["Beauty.Combined"]["Beauty.Combined.R"]).all()


def test_infinite_depth_and_data_passes_are_fine(tmp_path: Path) -> None:
    right = cut(frame(9, 6), RIGHT)
    right["Beauty.Depth"]["Beauty.Depth.Z"][:] = np.inf

    merged(tmp_path, halves(tmp_path, right=right))

    assert np.isinf(load(tmp_path / "merged.exr")["Beauty.Depth"]["Beauty.Depth.Z"][:, 5:]).all()


def test_a_view_is_named_where_its_combined_pass_is_not_finite(tmp_path: Path) -> None:
    values = np.ones((6, 9), np.float32)
    values[0, 0] = np.nan
    path = tmp_path / "stereo.exr"
    save_views(path, {"left": np.ones((6, 9), np.float32), "right": values})

    assert refused(tmp_path, [piece(path, [0, 0, 9, 6])]).what == (
        "Piece 1 of 1 has 1 pixel without a finite value in “L.Combined (right)”."
    )


def test_tiled_files_are_refused_as_none_of_blenders(tmp_path: Path) -> None:
    path = tmp_path / "tiled.exr"
    header = {"type": OpenEXR.tiledimage, "tiles": OpenEXR.TileDescription()}
    OpenEXR.File(header, {"Z": np.ones((6, 9), np.float32)}).write(str(path))

    with pytest.raises(Unreadable, match="tiles or deep pixels"):
        inspect_exr(path)


# --- areas, grids, digests, room -----------------------------------------------------------------


def test_pieces_of_an_area_make_a_file_of_just_the_area(tmp_path: Path) -> None:
    whole, area = frame(9, 6), [2, 1, 5, 4]
    boxes = [[2, 1, 2, 4], [4, 1, 3, 4]]
    pieces = [piece(save(tmp_path / f"{n}.exr", cut(whole, box)), box) for n, box in enumerate(boxes)]

    merge_frame(MergeFrame(pieces, 9, 6, str(tmp_path / "merged.exr"), area), Told())

    picture = inspect_exr(tmp_path / "merged.exr")
    assert (picture.width, picture.height) == (5, 4)
    out, wanted = load(tmp_path / "merged.exr"), cut(whole, area)
    assert all(same_bits(out[p][c], a) for p, channels in wanted.items() for c, a in channels.items())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_the_grid_the_overlap_and_the_area_every_pixel_comes_out_once(
    tmp_path: Path, data: st.DataObject
) -> None:
    width, height = data.draw(st.integers(1, 70)), data.draw(st.integers(1, 70))
    left, top = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    area = Box(left, top, data.draw(st.integers(1, width - left)), data.draw(st.integers(1, height - top)))
    grid = TileGrid(
        data.draw(st.integers(1, min(4, area.width))), data.draw(st.integers(1, min(4, area.height)))
    )
    whole = frame(width, height)
    pieces = []
    for tile in grid.tiles(area, data.draw(st.integers(0, 80))):
        rendered, core = list(astuple(tile.rendered)), list(astuple(tile.core))
        parts = cut(whole, rendered)
        inside = np.zeros((rendered[3], rendered[2]), bool)
        y, x = core[1] - rendered[1], core[0] - rendered[0]
        inside[y : y + core[3], x : x + core[2]] = True
        for channels in parts.values():
            for pixels in channels.values():
                pixels[~inside] = 7  # wrong, and must not be seen
        pieces.append(piece(save(tmp_path / f"{tile.index}.exr", parts), rendered, core))
    data.draw(st.randoms()).shuffle(pieces)
    area_box = list(astuple(area))

    merge_frame(MergeFrame(pieces, width, height, str(tmp_path / "merged.exr"), area_box), Told())

    out, wanted = load(tmp_path / "merged.exr"), cut(whole, area_box)
    assert all(same_bits(out[p][c], a) for p, channels in wanted.items() for c, a in channels.items())


def test_digests_are_of_the_values_channel_by_channel_from_the_top(tmp_path: Path) -> None:
    whole = frame(9, 6)

    done = merged(tmp_path, halves(tmp_path))

    assert done.report is not None
    assert done.report["suspects"] == []
    assert done.report["digests"] == {
        name: sha256(
            b"".join(channels[c].astype(channels[c].dtype).tobytes() for c in sorted(channels))
        ).hexdigest()
        for name, channels in whole.items()
    }


def test_digests_of_several_views_are_named_by_the_view(tmp_path: Path) -> None:
    path = tmp_path / "stereo.exr"
    eyes = {"left": np.full((6, 9), 0.5, np.float32), "right": np.ones((6, 9), np.float32)}
    save_views(path, eyes)

    done = merged(tmp_path, [piece(path, [0, 0, 9, 6])])

    assert done.report is not None
    assert done.report["digests"] == {
        f"L.Combined.{view}": sha256(pixels.tobytes()).hexdigest() for view, pixels in eyes.items()
    }


def test_digests_of_a_single_part_file_are_by_pass_too(tmp_path: Path) -> None:
    whole = frame(9, 6)
    channels = {name: pixels for part in whole.values() for name, pixels in part.items()}
    OpenEXR.File({"type": OpenEXR.scanlineimage}, channels).write(str(tmp_path / "one.exr"))

    several = merged(tmp_path, halves(tmp_path))
    single = merged(tmp_path, [piece(tmp_path / "one.exr", [0, 0, 9, 6])])

    assert single.report == several.report


def test_no_more_than_a_pass_of_the_frame_and_of_a_piece_is_in_memory(tmp_path: Path) -> None:
    rows = np.arange(512, dtype=np.float32)[:, None] + np.zeros((1, 256), np.float32)
    names = [f"L.P{number:02}" for number in range(24)]
    boxes = [[256 * n, 0, 256, 512] for n in range(4)]
    pieces = [
        piece(save(tmp_path / f"{n}.exr", {name: {f"{name}.X": rows + n} for name in names}), box)
        for n, box in enumerate(boxes)
    ]
    request = MergeFrame(pieces, 1024, 512, str(tmp_path / "merged.exr"))

    tracemalloc.start()
    merge_frame(request, Told())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    one = 1024 * 512 * 4
    assert one < peak < 3 * one, "of 24: the pass, what it is encoded to, and a quarter of it"
