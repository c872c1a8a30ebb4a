"""A worker's folders in the machine's scratch, and the tidying up after workers that died."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path
from typing import BinaryIO

from farm.domain.errors import Unavailable
from workers import scene_folder

PATIENCE = 5.0  # seconds


class WorkerHome:
    """``scratch/workers/ID`` is this worker's, guarded by a lock file beside it; the rest is shared.

    Shared are ``blobs``, the scene files, and ``driver-cache``, what the GPU's driver compiled. The
    system drops the lock when the process ends, so a folder whose lock is free has no worker: it is
    deleted by the next worker that starts on the machine.
    """

    def __init__(self, scratch: Path, worker_id: str) -> None:
        """Blocks up to `PATIENCE` seconds while a predecessor of the same id is still dying.

        Raises `Unavailable` where it does not, or there is no place to work.
        """
        self.blobs = scratch / "blobs"
        self.driver_cache = scratch / "driver-cache"
        self.folder = scratch / "workers" / worker_id
        self._lock_file = self.folder.with_name(f"{worker_id}.lock")
        try:
            scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
            if scratch.stat().st_uid not in (0, os.getuid()):  # they could swap files under us
                raise PermissionError(errno.EPERM, "it belongs to another user")
            for folder in (self.blobs, self.driver_cache, self.folder.parent):
                folder.mkdir(exist_ok=True, mode=0o700)
            self._lock = self._waited_for()
        except OSError as error:
            raise Unavailable(
                f"The worker's scratch folder, {scratch}, cannot be written to ({error.strerror}).",
                "Give the worker another one with FARM_SCRATCH.",
            ) from error
        self._bury_the_dead()
        scene_folder.remove(self.folder)
        self.folder.mkdir(exist_ok=True)

    def close(self) -> None:
        """Delete the worker's files and let its name go."""
        if not self._lock.closed:
            scene_folder.remove(self.folder)
            self._lock_file.unlink(missing_ok=True)
            self._lock.close()

    def _waited_for(self) -> BinaryIO:
        deadline = time.monotonic() + PATIENCE
        while (lock := _locked(self._lock_file)) is None:
            if time.monotonic() >= deadline:
                raise Unavailable(
                    f"Another worker on this machine is already called “{self.folder.name}”.",
                    "End it, or give each worker a name of its own.",
                )
            time.sleep(0.05)
        return lock

    def _bury_the_dead(self) -> None:
        for file in self._lock_file.parent.glob("*.lock"):
            with contextlib.suppress(OSError):
                if file != self._lock_file and (lock := _locked(file)) is not None:
                    with lock:
                        scene_folder.remove(file.with_suffix(""))
                        file.unlink()


def _locked(file: Path) -> BinaryIO | None:
    """The file, open and locked; None where somebody else has it.

    Whoever lets a lock go for good deletes the file first, so the lock counts only on the file that
    is there now.
    """
    lock = file.open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock.fileno()), file.stat()):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    lock.close()
    return None
