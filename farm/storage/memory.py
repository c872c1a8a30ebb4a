"""A store in memory, for tests: it passes the same contract as the real one."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from farm.domain.errors import NotFound, StorageFull, Unavailable
from farm.domain.scene import Blob
from farm.storage.base import BINARY, CHUNK
from farm.storage.files import Hashed, read_chunks, save_verified


class MemoryStorage:
    """A `Storage` that forgets. Set `away` to have it not answer; `capacity` (bytes) can fill up."""

    def __init__(self, capacity: int | None = None) -> None:
        self.away = False
        self.capacity = capacity
        self._objects: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def put_file(self, key: str, path: Path, media_type: str = BINARY) -> Blob:
        return self.put_stream(key, read_chunks(path), media_type)

    def put_stream(self, key: str, chunks: Iterable[bytes], media_type: str = BINARY) -> Blob:
        del media_type
        self.ping()
        hashed = Hashed(chunks)
        data = hashed.read()
        with self._lock:
            used = sum(map(len, self._objects.values())) - len(self._objects.get(key, b""))
            if self.capacity is not None and used + len(data) > self.capacity:
                raise StorageFull(f"Storage has no room for “{key}”.", "Free some space there.")
            self._objects[key] = data
        return hashed.blob

    def get_file(self, key: str, path: Path, blob: Blob) -> None:
        save_verified(key, self.stream(key), path, blob)

    def stream(self, key: str, start: int = 0) -> Iterator[bytes]:
        data = self._get(key)
        for at in range(start, len(data), CHUNK):
            yield data[at : at + CHUNK]

    def size(self, key: str) -> int | None:
        self.ping()
        with self._lock:
            data = self._objects.get(key)
        return None if data is None else len(data)

    def copy(self, source: str, target: str) -> None:
        self.put_stream(target, [self._get(source)])

    def delete(self, keys: Iterable[str]) -> None:
        self.ping()
        with self._lock:
            for key in keys:
                self._objects.pop(key, None)

    def delete_prefix(self, prefix: str) -> None:
        if not prefix:
            raise ValueError("an empty prefix would delete everything")
        self.delete(list(self.keys(prefix)))

    def keys(self, prefix: str) -> Iterator[str]:
        self.ping()
        with self._lock:
            found = [key for key in self._objects if key.startswith(prefix)]
        yield from sorted(found, key=str.encode)

    def ping(self) -> None:
        if self.away:
            raise Unavailable("Storage does not answer.", "Start it again; the farm goes on by itself.")

    def _get(self, key: str) -> bytes:
        self.ping()
        with self._lock:
            data = self._objects.get(key)
        if data is None:
            raise NotFound(f"Storage has no “{key}”.")
        return data
