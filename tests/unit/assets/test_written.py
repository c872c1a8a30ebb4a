"""Paths as a .blend writes them: where they lead here, and in a manifest."""

from pathlib import Path

import pytest

from farm.assets.written import is_relative, lead, lead_in_layout, relative

HERE = Path("/proj/shots")


@pytest.mark.parametrize(
    ("written", "leads"),
    [
        (b"//tex/a.png", "/proj/shots/tex/a.png"),
        (b"//../tex/./a.png", "/proj/tex/a.png"),
        (b"//..\\tex\\a.png", "/proj/tex/a.png"),
        (b"/mnt//tex/../a.png", "/mnt/a.png"),
        (b"tex/a.png", "/proj/shots/tex/a.png"),
        ("//тень/é.png".encode(), "/proj/shots/тень/é.png"),
        (b"D:\\tex\\a.png", "D:\\tex\\a.png"),
        (b"D:/tex/a.png", "D:/tex/a.png"),
        (b"\\\\server\\share\\a.png", "\\\\server\\share\\a.png"),
    ],
)
def test_a_path_leads_where_blender_looks(written, leads):
    assert str(lead(written, HERE)) == leads


def test_a_server_is_no_relative_path():
    assert is_relative(b"//tex/a.png")
    assert not is_relative(b"\\\\server\\share\\a.png")


@pytest.mark.parametrize(
    ("written", "folder", "place"),
    [
        (b"//a.png", "", "a.png"),
        (b"//../tex/a.png", "shots", "tex/a.png"),
        (b"//../../tex/a.png", "shots", None),
        (b"//..", "", None),
        (b"/tex/a.png", "shots", None),
        (b"D:\\a.png", "shots", None),
    ],
)
def test_a_path_in_a_manifest_stays_inside_or_leads_nowhere(written, folder, place):
    assert lead_in_layout(written, folder) == place


@pytest.mark.parametrize(
    ("place", "folder", "written"),
    [
        ("a.png", "", b"//a.png"),
        ("_outside/mnt/a.png", "shots/010", b"//../../_outside/mnt/a.png"),
        ("_outside/mnt/kit/ü.blend", "_outside/mnt", "//kit/ü.blend".encode()),
    ],
)
def test_what_is_written_leads_back_to_the_place(place, folder, written):
    assert relative(place, folder, is_folder=False) == written
    assert lead_in_layout(written, folder) == place
    assert relative(place, folder, is_folder=True) == written + b"/"
