"""Where an embedded farm keeps what: one folder for its state, a short one for Ray's sockets."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from farm.domain.errors import StorageFull, TesseraError

MIN_FREE = 1024 * 1024 * 1024  # bytes; storage stops taking files when less is free

_ELSEWHERE = "Set FARM_HOME to a folder on this machine that you may write to."


@dataclass(frozen=True)
class Home:
    """The layout of a farm's home. Nothing is made before `prepare`."""

    root: Path

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def run(self) -> Path:
        """What only a running farm needs."""
        return self.root / "run"

    @property
    def state(self) -> Path:
        """`farm.embedded.state.FarmState` of the farm that runs; readable by its owner alone."""
        return self.run / "state.json"

    @property
    def storage(self) -> Path:
        return self.root / "storage"

    @property
    def starting(self) -> Path:
        """Locked by whoever starts or stops a farm here."""
        return self.run / "starting.lock"

    @property
    def living(self) -> Path:
        """Locked by the guardian for as long as anything of the farm lives."""
        return self.run / "living.lock"

    @property
    def sockets(self) -> Path:
        """A short folder, as a socket's path may have 107 bytes and Ray's session adds 64 of its own."""
        base = Path(tempfile.gettempdir())
        if len(str(base)) > 20:
            base = Path("/tmp")  # noqa: S108 - made with 0700 and checked by `prepare`
        digest = hashlib.sha256(str(self.root).encode(errors="surrogateescape")).hexdigest()[:10]
        return base / f"tessera-{os.getuid()}" / digest

    def prepare(self) -> None:
        """Make the folders, for their owner alone.

        Raises `TesseraError` where that is not allowed and `StorageFull` where there is too little room.
        """
        try:
            for folder in (self.root, self.logs, self.run, self.storage):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            free = shutil.disk_usage(self.root).free
            with tempfile.TemporaryFile(dir=self.run) as probe:  # each start has its own
                probe.write(b"farm")
                probe.flush()
        except OSError as error:
            raise self._refused(error) from error
        if free < MIN_FREE:
            raise StorageFull(
                f"Only {free // 1024**2} MB are free on the disk of “{self.root}”; "
                f"a farm needs {MIN_FREE // 1024**2} MB to start.",
                "Free some space there, or set FARM_HOME to a folder on another disk.",
            )

    def make_sockets(self) -> None:
        """Make the short folder, which goes when the farm ends; raises `TesseraError` where it cannot be."""
        self._own(self.sockets.parent)
        self._own(self.sockets)

    def access_keys(self) -> tuple[str, str]:
        """Access key and secret of this farm's storage, made up once."""
        path = self.root / "storage-keys.json"
        made = json.dumps([f"farm{secrets.token_hex(8)}", secrets.token_urlsafe(30)])
        access, secret = json.loads(_once(path, made))
        return access, secret

    def ray_token(self) -> Path:
        """File with the shared secret of this farm's Ray, made up once."""
        path = self.root / "ray-token"
        _once(path, secrets.token_hex(32))
        return path

    def _refused(self, error: OSError) -> TesseraError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return StorageFull(
                f"The disk of “{self.root}” is full.",
                "Free some space there, or set FARM_HOME to a folder on another disk.",
            )
        return TesseraError(f"The farm cannot use “{self.root}”: {error.strerror}.", _ELSEWHERE)

    @staticmethod
    def _own(folder: Path) -> None:
        """Make a folder in the system's temporary one, and refuse one that somebody else laid there."""
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
        except OSError as error:
            raise TesseraError(
                f"“{folder}” cannot be made: {error.strerror}.", "Make room there, or set TMPDIR."
            ) from error
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise TesseraError(f"“{folder}” belongs to somebody else.", "Remove it, or set TMPDIR.")
        folder.chmod(0o700)


def _once(path: Path, made: str) -> str:
    """The file's text; `made` is written first where the file is missing."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text()
    with os.fdopen(handle, "w") as file:
        file.write(made)
    return made
