"""A worker's folders in the machine's scratch, and the tidying up after workers that died."""

from __future__ import annotations

import contextlib
import fcntl
import time
from pathlib import Path

from farm.domain.errors import Unavailable
from workers import scene_folder

PATIENCE = 5.0  # seconds


class WorkerHome:
    """``scratch/blobs`` is everybody's, ``scratch/workers/ID`` this worker's, guarded by a lock file.

    The system drops the lock when the process ends, so a folder whose lock is free has no worker:
    it is deleted by the next worker that starts on the machine.
    """

    def __init__(self, scratch: Path, worker_id: str) -> None:
        """Blocks up to `PATIENCE` seconds while a predecessor of the same id is still dying.

        Raises `Unavailable` where it does not, or there is no place to work.
        """
        self.blobs = scratch / "blobs"
        self.folder = scratch / "workers" / worker_id
        self._lock_file = self.folder.with_name(f"{worker_id}.lock")
        try:
            for folder in (self.blobs, self.folder.parent):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = self._lock_file.open("wb")
        except OSError as error:
            raise Unavailable(
                f"The worker's scratch folder, {scratch}, cannot be written to ({error.strerror}).",
                "Give the worker another one with FARM_SCRATCH.",
            ) from error
        deadline = time.monotonic() + PATIENCE
        while not self._locked():
            if time.monotonic() >= deadline:
                self._lock.close()
                raise Unavailable(
                    f"Another worker on this machine is already called “{worker_id}”.",
                    "End it, or give each worker a name of its own.",
                )
            time.sleep(0.05)
        self._bury_the_dead()
        self._empty(self.folder)
        self.folder.mkdir(exist_ok=True)

    def close(self) -> None:
        """Delete the worker's files, but for what the GPU driver compiled, and let its name go."""
        if not self._lock.closed:
            self._empty(self.folder)
            self._lock.close()

    def _locked(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _bury_the_dead(self) -> None:
        for file in self._lock_file.parent.glob("*.lock"):
            if file == self._lock_file:
                continue
            with contextlib.suppress(OSError), file.open("wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._empty(file.with_suffix(""))

    @staticmethod
    def _empty(folder: Path) -> None:
        if folder.is_dir():
            for path in folder.iterdir():
                if path.name != "driver-cache":
                    scene_folder.remove(path)
