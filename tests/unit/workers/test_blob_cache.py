from __future__ import annotations

import hashlib
import os
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import pytest

from farm.domain import keys
from farm.domain.scene import Blob, SceneManifest
from farm.storage import Damaged, MemoryStorage
from workers.blob_cache import BlobCache
from workers.scene_folder import lay_out, remove


class Counting(MemoryStorage):
    """Counts what is fetched."""

    fetched = 0

    def get_file(self, key: str, path: Path, blob: Blob) -> None:
        self.fetched += 1
        super().get_file(key, path, blob)


@pytest.fixture
def storage() -> Counting:
    return Counting()


def put(storage: MemoryStorage, data: bytes) -> Blob:
    blob = Blob(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
    storage.put_stream(keys.blob(blob.sha256), [data])
    return blob


def kept(root: Path) -> int:
    return sum(1 for path in root.glob("??/*"))


def test_a_blob_is_fetched_once_and_linked_into_place(tmp_path: Path, storage: Counting) -> None:
    cache = BlobCache(tmp_path / "blobs", storage, 1000)
    blob = put(storage, b"wood")
    assert cache.place(blob, tmp_path / "one", threading.Event()) is True
    assert cache.place(blob, tmp_path / "two", threading.Event()) is False
    assert storage.fetched == 1
    assert (tmp_path / "one").read_bytes() == b"wood"
    assert (tmp_path / "one").stat().st_nlink == 3
    assert (tmp_path / "one").stat().st_mode & 0o222 == 0


def test_two_workers_of_a_machine_fetch_a_blob_once(tmp_path: Path, storage: Counting) -> None:
    blob = put(storage, b"wood" * 1000)
    caches = [BlobCache(tmp_path / "blobs", storage, 10_000) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        came = list(pool.map(lambda i: caches[i].place(blob, tmp_path / str(i), threading.Event()), range(8)))
    assert sum(came) == storage.fetched == 1


def test_a_damaged_blob_is_not_kept(tmp_path: Path, storage: Counting) -> None:
    blob = put(storage, b"wood")
    storage.put_stream(keys.blob(blob.sha256), [b"iron"])
    with pytest.raises(Damaged):
        BlobCache(tmp_path / "blobs", storage, 1000).place(blob, tmp_path / "one", threading.Event())
    assert kept(tmp_path / "blobs") == 0
    assert not (tmp_path / "one").exists()


def test_where_links_do_not_work_files_are_copied(
    tmp_path: Path, storage: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    BlobCache(tmp_path / "blobs", storage, 1000).place(
        put(storage, b"wood"), tmp_path / "one", threading.Event()
    )
    assert (tmp_path / "one").read_bytes() == b"wood"
    assert (tmp_path / "one").stat().st_mode & 0o222 == 0


def fill(cache: BlobCache, storage: MemoryStorage, folder: Path, count: int) -> list[Blob]:
    """``count`` blobs of 100 bytes in the cache, least used first, none in use."""
    blobs = [put(storage, bytes([number]) * 100) for number in range(count)]
    for number, blob in enumerate(blobs):
        cache.place(blob, folder / "used", threading.Event())
        (folder / "used").unlink()
        path = folder / "blobs" / blob.sha256[:2] / blob.sha256
        os.utime(path, (number, number))
    return blobs


def test_the_least_used_go_first(tmp_path: Path, storage: Counting) -> None:
    cache = BlobCache(tmp_path / "blobs", storage, 500)
    blobs = fill(cache, storage, tmp_path, 5)
    cache.make_room([put(storage, b"x" * 150), blobs[0]])
    left = {path.name for path in (tmp_path / "blobs").glob("??/*")}
    assert left == {blobs[i].sha256 for i in (0, 3, 4)}


def test_what_an_open_scene_uses_is_never_forgotten(tmp_path: Path, storage: Counting) -> None:
    cache = BlobCache(tmp_path / "blobs", storage, 250)
    blobs = fill(cache, storage, tmp_path, 2)
    cache.place(blobs[0], tmp_path / "scene", threading.Event())
    os.utime(tmp_path / "scene", (0, 0))
    cache.make_room([put(storage, b"y" * 200)])
    left = {path.name for path in (tmp_path / "blobs").glob("??/*")}
    assert left == {blobs[0].sha256}


def test_nothing_is_forgotten_where_nothing_is_missing(tmp_path: Path, storage: Counting) -> None:
    cache = BlobCache(tmp_path / "blobs", storage, 100)
    blobs = fill(cache, storage, tmp_path, 3)
    cache.make_room(blobs)
    assert kept(tmp_path / "blobs") == 3


def test_a_stopped_fetch_raises(tmp_path: Path, storage: Counting) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(CancelledError):
        BlobCache(tmp_path / "blobs", storage, 100).place(put(storage, b"a"), tmp_path / "one", stop)


def test_a_scene_is_laid_out_as_its_manifest_says_and_cannot_be_written_to(
    tmp_path: Path, storage: Counting
) -> None:
    names = {"a.blend": b"scene", "textures/wood/oak.png": b"oak", "textures/same.png": b"oak"}
    manifest = SceneManifest(main="a.blend", files={name: put(storage, data) for name, data in names.items()})
    cache = BlobCache(tmp_path / "blobs", storage, 1000)
    folder = tmp_path / "scene"
    assert lay_out(manifest, folder, cache, threading.Event()) == 2
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in found.items()} == names
    assert all(path.stat().st_mode & 0o222 == 0 for path in (folder, *folder.rglob("*")))
    remove(folder)
    assert not folder.exists()
    assert kept(tmp_path / "blobs") == 2


def test_removing_a_folder_touches_nothing_behind_its_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(outside)
    remove(tmp_path / "folder")
    assert not (tmp_path / "folder").exists()
    assert outside.stat().st_mode & 0o777 == 0o500
