from __future__ import annotations

import posixpath

import pytest

from addon.places import Layout, resolved


def test_files_near_the_scene_keep_their_places() -> None:
    layout = Layout.around("/home/u/proj", ["/home/u/proj/tex/a.png", "/home/u/shared/b.png"])
    assert layout.root == "/home/u"
    assert layout.place("/home/u/proj/shot.blend") == "proj/shot.blend"
    assert layout.place("/home/u/shared/b.png") == "shared/b.png"


def test_files_elsewhere_mirror_their_full_path() -> None:
    layout = Layout.around("/home/u/proj", ["/mnt/lib/lib.blend"])
    assert layout.root == "/home/u/proj"
    assert layout.place("/mnt/lib/tex/a.png") == "elsewhere/mnt/lib/tex/a.png"
    assert layout.reference("/mnt/lib/tex/a.png", "") == "//elsewhere/mnt/lib/tex/a.png"
    assert layout.reference("/mnt/lib/tex/a.png", "elsewhere/mnt/lib") == "//tex/a.png"


def test_a_folder_of_the_artist_s_called_elsewhere_is_not_mixed_up() -> None:
    layout = Layout.around("/home/u", ["/home/u/elsewhere/a.png", "/mnt/a.png"])
    assert layout.place("/home/u/elsewhere/a.png") == "elsewhere/a.png"
    assert layout.place("/mnt/a.png") == "elsewhere-2/mnt/a.png"


def test_a_file_that_was_never_saved_has_all_elsewhere() -> None:
    layout = Layout.around("", ["/home/u/a.png"])
    assert layout.place("/home/u/a.png") == "elsewhere/home/u/a.png"


def test_a_scene_in_the_root_of_a_disk_takes_all_of_it() -> None:
    assert Layout.around("/", ["/tex/a.png"]).place("/tex/a.png") == "tex/a.png"


@pytest.mark.parametrize(
    ("raw", "base", "folder", "fits"),
    [
        ("//tex/a.png", "/home/u/proj", "proj", True),
        ("//../shared/b.png", "/home/u/proj", "proj", True),
        ("//..\\shared\\b.png", "/home/u/proj", "proj", True),
        ("/home/u/proj/tex/a.png", "/home/u/proj", "proj", False),  # by its full path
        ("//../../../mnt/c.png", "/home/u/proj", "proj", False),  # climbs out of the root
        ("//tex/d.png", "/mnt/lib", "elsewhere/mnt/lib", True),
        ("//../../home/u/shared/b.png", "/mnt/lib", "elsewhere/mnt/lib", False),
    ],
)
def test_which_paths_lead_to_their_files_on_the_farm(raw: str, base: str, folder: str, fits: bool) -> None:
    layout = Layout("/home/u")
    assert layout.fits(raw, base, folder) is fits
    path = resolved(raw, base)
    right = layout.reference(path, folder)
    assert posixpath.normpath(posixpath.join(folder, right[2:])) == layout.place(path)
