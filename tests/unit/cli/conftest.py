import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from farm.assets import pack as pack_room
from farm.assets.trace import Needs
from farm.cli.main import run
from farm.client.testing import FakeFarm, served


@dataclass
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def clean(tmp_path, monkeypatch) -> None:
    """No farm of this machine, no setting of its user; an own folder."""
    for name in ("FARM_URL", "FARM_DEBUG", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FARM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(pack_room, "needs_of", lambda _: Needs())
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def blend() -> Path:
    path = Path("shot ü.blend")
    path.write_bytes(b"BLENDER17-01v0502" + bytes(4000) + b"ENDB" + bytes(28))
    return path


@pytest.fixture
def farm(monkeypatch) -> Iterator[FakeFarm]:
    farm = FakeFarm()
    with served(farm) as url:
        monkeypatch.setenv("FARM_URL", url)
        yield farm


@pytest.fixture
def cli(capsys) -> Callable[..., Said]:
    def call(*arguments: object) -> Said:
        code = run([str(argument) for argument in arguments])
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return Said(code, said.out, said.err)

    return call


@pytest.fixture
def renders(farm) -> Callable[..., None]:
    """Let the farm render frames 1 to `frames` of every job, then end it."""

    def script(frames: int = 2) -> None:
        def work(job_id: str) -> None:
            farm.plan(job_id, f"1-{frames}")
            for frame in range(1, frames + 1):
                farm.count(job_id, frame, 4, 8)
                farm.finish(job_id, frame, {f"shot_{frame:04d}.png": b"frame %d" % frame})
            farm.end(job_id)

        farm.on_submit = work

    return script
