"""The first look at a .blend: what is wrong is said with its cure."""

import gzip
import os

import pytest
import zstandard

from farm.assets.blend import BlendHeader, Compression, check
from farm.domain.errors import BadInput

OLD = b"BLENDER-v279"
NEW = b"BLENDER17-01v0502"


def whole(header: bytes) -> bytes:
    return header + bytes(4000) + b"ENDB" + bytes(28)


@pytest.fixture
def file(tmp_path):
    def make(data: bytes):
        path = tmp_path / "x.blend"
        path.write_bytes(data)
        return path

    return make


@pytest.mark.parametrize(
    ("header", "version"),
    [
        (OLD, "2.79"),
        (b"BLENDER_v262", "2.62"),  # 32-bit pointers
        (b"BLENDER-V249", "2.49"),  # big endian
        (b"BLENDER-v405", "4.5"),
        (NEW, "5.2"),
        (b"BLENDER17-01v1003", "10.3"),
    ],
)
def test_both_headers_tell_the_version_that_saved_the_file(file, header, version):
    assert check(file(whole(header))) == BlendHeader(version, Compression.NONE)


def test_gzip_and_zstd_are_looked_into(file):
    assert check(file(gzip.compress(whole(OLD)))) == BlendHeader("2.79", Compression.GZIP)
    packed = zstandard.ZstdCompressor().compress(whole(NEW))
    assert check(file(packed)) == BlendHeader("5.2", Compression.ZSTD)


def test_an_lfs_pointer_is_named_with_the_command_that_helps(file):
    with pytest.raises(BadInput) as caught:
        check(file(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"))
    assert caught.value.what == "“x.blend” is a Git LFS pointer, not the scene itself."
    assert caught.value.cure == "Run: git lfs pull"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"BLEND", "is cut short"),
        (OLD, "is cut short"),
        (NEW[:12], "is cut short"),
        (whole(OLD)[:-32], "is cut short"),
        (OLD + b"ENDB" + bytes(20), "is cut short"),
        (gzip.compress(whole(OLD))[:12], "is cut short"),
        (zstandard.ZstdCompressor().compress(os.urandom(9999))[:8], "is cut short"),
        (b"\x89PNG\r\n\x1a\n" + bytes(5000), "is not a Blender file"),
        (b"B", "is cut short"),
        (gzip.compress(b"a diary" * 1000), "is not a Blender file"),
        (zstandard.ZstdCompressor().compress(b"a diary" * 1000), "is not a Blender file"),
        (whole(b"BLENDER19-02v0602"), "has a header that this Tessera does not know"),
        (whole(b"BLENDER-vABC"), "has a header that this Tessera does not know"),
    ],
)
def test_what_is_no_whole_blend_is_refused_in_words(file, data, says):
    with pytest.raises(BadInput, match=f"“x.blend” {says}") as caught:
        check(file(data))
    assert caught.value.cure


def test_nothing_a_folder_and_a_device_are_refused(tmp_path):
    for path, says in (
        (tmp_path / "no.blend", "There is no file"),
        (tmp_path, "is a folder"),
        (tmp_path / "x" / ("long" * 100 + ".blend"), "cannot be read|There is no file"),
    ):
        with pytest.raises(BadInput, match=says):
            check(path)
    os.mkfifo(tmp_path / "pipe.blend")
    with pytest.raises(BadInput, match="is a device"):
        check(tmp_path / "pipe.blend")


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("bat/basic_file_ñønæščii.blend", BlendHeader("2.79", Compression.GZIP)),
        ("bat/basic_file_zstandard.blend", BlendHeader("3.1", Compression.ZSTD)),
        ("bricabrac/Geometry Node/gnx_accordion.blend", BlendHeader("5.0", Compression.ZSTD)),
        ("gltfio/scenes/28_sk_no_reset.blend", BlendHeader("5.3", Compression.NONE)),
        ("golem/apps/blender/benchmark/test_task/bmw27_cpu.blend", BlendHeader("2.76", Compression.GZIP)),
    ],
)
def test_real_files_are_known(corpus, name, header):
    assert check(corpus(name)) == header


@pytest.mark.corpus
def test_a_file_of_magic_alone_is_refused(corpus):
    with pytest.raises(BadInput, match="is cut short"):
        check(corpus("bat/corrupt_only_magic.blend"))


@pytest.mark.corpus
def test_a_real_file_cut_at_half_is_refused(corpus, file):
    data = corpus("golem/apps/blender/benchmark/test_task/cube.blend").read_bytes()
    with pytest.raises(BadInput, match="is cut short"):
        check(file(data[: len(data) // 2]))
