"""What a store promises, held by the real one (SeaweedFS) and by the one in memory."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from farm.domain.errors import NotFound
from farm.domain.scene import Blob
from farm.settings import StorageSettings
from farm.storage import CHUNK, Damaged, MemoryStorage, S3Storage, Storage

PART = 5 * 1024 * 1024  # the least that S3 takes
EMPTY = hashlib.sha256(b"").hexdigest()


@pytest.fixture(params=["memory", "seaweedfs"])
def store(request: pytest.FixtureRequest) -> Storage:
    if request.param == "memory":
        return MemoryStorage()
    settings: StorageSettings = request.getfixturevalue("storage_server")
    return S3Storage(settings, part=PART)


def blob(data: bytes) -> Blob:
    return Blob(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))


def noise(size: int) -> bytes:
    """Bytes that differ everywhere, the same at every call."""
    return hashlib.shake_256(b"noise").digest(size)


def test_a_file_comes_back_as_it_went(store: Storage, prefix: str, tmp_path: Path) -> None:
    (tmp_path / "in.bin").write_bytes(b"\x00\xff picture")

    stored = store.put_file(f"{prefix}a.bin", tmp_path / "in.bin", "image/png")
    store.get_file(f"{prefix}a.bin", tmp_path / "new" / "out.bin", stored)

    assert stored == blob(b"\x00\xff picture")
    assert (tmp_path / "new" / "out.bin").read_bytes() == b"\x00\xff picture"


def test_an_empty_object_is_an_object(store: Storage, prefix: str, tmp_path: Path) -> None:
    stored = store.put_stream(f"{prefix}empty", [])
    store.get_file(f"{prefix}empty", tmp_path / "empty", stored)

    assert stored == Blob(sha256=EMPTY, bytes=0)
    assert store.size(f"{prefix}empty") == 0
    assert list(store.stream(f"{prefix}empty")) == []
    assert (tmp_path / "empty").read_bytes() == b""


def test_an_object_of_several_parts_comes_back_whole(store: Storage, prefix: str, tmp_path: Path) -> None:
    data = noise(2 * PART + 12_345)
    pieces = [data[at : at + 700_001] for at in range(0, len(data), 700_001)]

    stored = store.put_stream(f"{prefix}big", pieces)
    store.get_file(f"{prefix}big", tmp_path / "big", stored)

    assert stored == blob(data)
    assert store.size(f"{prefix}big") == len(data)
    assert (tmp_path / "big").read_bytes() == data


@pytest.mark.parametrize("size", [PART - 1, PART, PART + 1])
def test_sizes_around_the_edge_of_a_part_are_exact(store: Storage, prefix: str, size: int) -> None:
    data = noise(size)

    assert store.put_stream(f"{prefix}edge", [data]) == blob(data)
    assert b"".join(store.stream(f"{prefix}edge")) == data


@pytest.mark.parametrize(
    ("start", "rest"), [(0, b"0123456789"), (3, b"3456789"), (9, b"9"), (10, b""), (99, b"")]
)
def test_a_stream_begins_where_it_is_told(store: Storage, prefix: str, start: int, rest: bytes) -> None:
    store.put_stream(f"{prefix}digits", [b"01234", b"56789"])

    assert b"".join(store.stream(f"{prefix}digits", start)) == rest


def test_a_stream_comes_in_chunks_of_bounded_size(store: Storage, prefix: str) -> None:
    store.put_stream(f"{prefix}chunks", [noise(2 * CHUNK + 5)])

    sizes = [len(chunk) for chunk in store.stream(f"{prefix}chunks")]

    assert sum(sizes) == 2 * CHUNK + 5
    assert max(sizes) <= CHUNK
    assert min(sizes) > 0


def test_a_stream_that_is_left_early_can_be_forgotten(store: Storage, prefix: str) -> None:
    store.put_stream(f"{prefix}long", [noise(3 * CHUNK)])

    chunks = store.stream(f"{prefix}long")
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]

    assert store.size(f"{prefix}long") == 3 * CHUNK


def test_what_is_not_there_is_not_found(store: Storage, prefix: str, tmp_path: Path) -> None:
    wanted = blob(b"x")

    assert store.size(f"{prefix}nothing") is None
    with pytest.raises(NotFound, match="nothing"):
        list(store.stream(f"{prefix}nothing"))
    with pytest.raises(NotFound, match="nothing"):
        store.copy(f"{prefix}nothing", f"{prefix}target")
    with pytest.raises(NotFound, match="nothing"):
        store.get_file(f"{prefix}nothing", tmp_path / "out", wanted)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_an_object_is_no_object(store: Storage, prefix: str) -> None:
    store.put_stream(f"{prefix}folder/object", [b"x"])

    assert store.size(f"{prefix}folder") is None


@pytest.mark.parametrize(
    "wanted",
    [Blob(sha256="0" * 64, bytes=4), Blob(sha256=blob(b"good").sha256, bytes=5), blob(b"better")],
    ids=["other bytes", "too short", "another file"],
)
def test_damage_is_found_and_no_file_is_left(
    store: Storage, prefix: str, tmp_path: Path, wanted: Blob
) -> None:
    store.put_stream(f"{prefix}damaged", [b"good"])
    (tmp_path / "out").write_bytes(b"older, still right")

    with pytest.raises(Damaged, match="damaged in storage"):
        store.get_file(f"{prefix}damaged", tmp_path / "out", wanted)

    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_bytes() == b"older, still right"


def test_a_second_put_replaces_the_first(store: Storage, prefix: str) -> None:
    store.put_stream(f"{prefix}again", [b"first, longer"])
    store.put_stream(f"{prefix}again", [b"second"])

    assert b"".join(store.stream(f"{prefix}again")) == b"second"


@pytest.mark.parametrize("sent", [b"", b"x" * 10, b"x" * (PART + 1)], ids=["nothing", "little", "a part"])
def test_a_source_that_fails_stores_nothing_and_says_why(store: Storage, prefix: str, sent: bytes) -> None:
    def source():
        yield sent
        raise LookupError("the sender went away")

    with pytest.raises(LookupError, match="the sender went away"):
        store.put_stream(f"{prefix}half", source())

    assert store.size(f"{prefix}half") is None


def test_a_copy_is_an_object_of_its_own(store: Storage, prefix: str) -> None:
    store.put_stream(f"{prefix}source", [b"bytes"])
    store.copy(f"{prefix}source", f"{prefix}target")
    store.delete([f"{prefix}source"])

    assert b"".join(store.stream(f"{prefix}target")) == b"bytes"
    assert store.size(f"{prefix}source") is None


def test_deleting_takes_what_is_there_and_minds_nothing_else(store: Storage, prefix: str) -> None:
    for name in ("a", "b", "c"):
        store.put_stream(f"{prefix}{name}", [b"x"])

    store.delete([f"{prefix}a", f"{prefix}never-there", f"{prefix}b"])
    store.delete([])

    assert list(store.keys(prefix)) == [f"{prefix}c"]


def test_a_prefix_goes_with_all_under_it_and_nothing_beside_it(store: Storage, prefix: str) -> None:
    for name in ("job/1/a", "job/1/deep/er/b", "job/10/c", "job/2/d"):
        store.put_stream(f"{prefix}{name}", [b"x"])

    store.delete_prefix(f"{prefix}job/1/")
    store.delete_prefix(f"{prefix}never/there/")

    assert list(store.keys(prefix)) == [f"{prefix}job/10/c", f"{prefix}job/2/d"]


def test_an_empty_prefix_is_refused(store: Storage) -> None:
    with pytest.raises(ValueError, match="everything"):
        store.delete_prefix("")


def test_thousands_of_keys_are_listed_and_deleted(store: Storage, prefix: str) -> None:
    wanted = [f"{prefix}many/{number:05}" for number in range(1_203)]  # a page of S3 holds 1,000
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: store.put_stream(key, [b"x"]), wanted))

    assert list(store.keys(f"{prefix}many/")) == wanted

    store.delete_prefix(f"{prefix}many/")

    assert list(store.keys(f"{prefix}many/")) == []


@pytest.mark.parametrize(
    "name", ["ümläut ö/日本 語.png", "sp ace/+%25?&=#.png", "deep/" * 40 + "x", "n" * 255, "quote'\"<&>.png"]
)
def test_names_of_all_kinds_are_kept(store: Storage, prefix: str, name: str) -> None:
    store.put_stream(prefix + name, [b"named"])

    assert list(store.keys(prefix)) == [prefix + name]
    assert b"".join(store.stream(prefix + name)) == b"named"

    store.delete_prefix(prefix)

    assert list(store.keys(prefix)) == []


def test_threads_share_a_store(store: Storage, prefix: str, tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def one(number: int) -> bool:
        together.wait()
        data = noise(100_000 + number)
        stored = store.put_stream(f"{prefix}{number}", [data])
        store.get_file(f"{prefix}{number}", tmp_path / str(number), stored)
        return (tmp_path / str(number)).read_bytes() == data

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(8))) == [True] * 8


def test_a_store_that_can_be_used_answers_a_ping(store: Storage) -> None:
    store.ping()
