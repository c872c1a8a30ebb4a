"""What a worker is told when it starts: one small value that crosses the wire as JSON."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr

from farm.domain.scene import Value
from farm.settings import StorageSettings

GIGABYTE = 1_000_000_000


class WorkerConfig(Value):
    """A worker's settings. `storage` is a plain `StorageSettings`, its secret key included.

    Durations are seconds, sizes bytes.
    """

    worker_id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")  # names a folder
    device: Literal["AUTO", "CPU", "OPTIX", "CUDA"] = "AUTO"
    threads: int = Field(default=0, ge=0)  # 0: all
    scratch: Path | None = None  # shared by the workers of a machine; None: in the temporary folder
    storage: dict[str, Any] = {}
    sandbox: bool = True  # False: no bubblewrap, even where it works

    cache_bytes: int = Field(default=50 * GIGABYTE, ge=0)  # of scene files kept on this machine
    start_seconds: float = Field(default=180.0, gt=0)  # until a child says what it is
    silence_seconds: float = Field(default=30.0, gt=0)  # without a beat a child counts as hung
    idle_seconds: float = Field(default=900.0, gt=0)  # beating, but neither counting nor computing: hung
    spinning_seconds: float = Field(default=6 * 3600.0, gt=0)  # computing, but counting nothing: hung too
    probe_seconds: float = Field(default=240.0, gt=0)  # kernels that are compiled for it take a while
    tasks_per_process: int = Field(default=200, ge=1)  # a render process is replaced after as many
    process_bytes: int = Field(default=0, ge=0)  # … or beyond this much memory; 0: half the machine's
    output_files: int = Field(default=1000, ge=1)  # most files of one attempt
    output_bytes: int = Field(default=64 * GIGABYTE, ge=1)

    @property
    def scratch_root(self) -> Path:
        """The machine's scratch folder: the cache of scene files, and a folder for each worker."""
        if self.scratch is not None:
            return self.scratch.absolute()
        return Path(tempfile.gettempdir()) / f"tessera-worker-{os.getuid()}"

    @property
    def storage_settings(self) -> StorageSettings:
        """Storage settings; the secret comes as plain text, because JSON knows nothing else."""
        values = dict(self.storage)
        secret = values.pop("secret_key", "")
        plain = secret.get_secret_value() if isinstance(secret, SecretStr) else str(secret)
        return StorageSettings(**values, secret_key=SecretStr(plain))
