"""A scene's files laid out as its manifest says, read-only, for a child to open."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from farm.domain.scene import Blob, SceneManifest
from farm.domain.work import Cause
from workers.blob_cache import BlobCache
from workers.failures import AttemptFailed

_AT_ONCE = 4  # downloads
_IMPOSSIBLE = (errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)


def lay_out(manifest: SceneManifest, folder: Path, cache: BlobCache, stop: threading.Event) -> int:
    """Make ``folder``, which must not exist, hold the scene; gives back how many files were fetched.

    Blocks. Raises what the cache raises, `CancelledError` once ``stop`` is set, and `AttemptFailed`
    (bad-scene) for paths that no folder can have, such as a file inside of a file.
    """
    cache.make_room(manifest.files.values())
    folder.mkdir(parents=True)

    def place(item: tuple[str, Blob]) -> bool:
        name, blob = item
        target = folder / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            return cache.place(blob, target, stop)
        except OSError as error:
            if error.errno in _IMPOSSIBLE:
                raise AttemptFailed(
                    Cause.BAD_SCENE,
                    f"The scene's files cannot be laid out: “{name}” has no place beside the others.",
                    "Pack the scene's files again.",
                ) from error
            raise

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="fetch") as pool:
        try:
            fetched = sum(pool.map(place, manifest.files.items()))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # the others need not begin
            raise
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o555)
    return fetched


def remove(folder: Path) -> None:
    """Delete a folder whatever lies in it; what cannot be deleted is left for the next start.

    No link is followed: a child may have written there.
    """
    with contextlib.suppress(OSError):
        for _, _, _, at in os.fwalk(folder):
            os.fchmod(at, 0o755)
    shutil.rmtree(folder, ignore_errors=True)
