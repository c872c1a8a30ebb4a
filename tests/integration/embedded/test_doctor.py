"""The doctor, on this machine and on ones that lack something."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from farm.embedded.doctor import Check, checkup
from farm.settings import Settings


def found(settings: Settings) -> dict[str, Check]:
    return {check.name: check for check in checkup(settings)}


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_machine_that_can_render_is_told_so(tmp_path: Path) -> None:
    checks = found(Settings(home=tmp_path / "home"))

    assert {name for name, check in checks.items() if check.ok is False} == set()
    assert checks["Blender"].what.startswith("5.2.3 (")
    assert checks["Storage"].what == "SeaweedFS 4.48, started with the farm"
    assert checks["Ray"].what == "2.60.0"
    assert not (tmp_path / "home").exists()  # looking changes nothing


def test_what_is_wrong_comes_with_a_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "ldd", "echo 'libXi.so.6 => not found'")
    program(
        tmp_path, "nvidia-smi", "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18"
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        checks = found(Settings(home=tmp_path, port=taken.getsockname()[1]))

    assert checks["Blender"].ok is False
    assert checks["Blender"].cure == "As root: apt-get install --yes libxi6"
    assert checks["GPU"].ok is False
    assert "version mismatch" in checks["GPU"].what
    assert checks["Port"].ok is False
    assert all(check.cure for check in checks.values() if check.ok is False)


@pytest.mark.parametrize(
    ("line", "ok", "words"),
    [
        ("NVIDIA H200, 580.65.06, 143771 MiB", True, "NVIDIA H200, 143771 MiB, driver 580.65.06"),
        ("NVIDIA RTX A4000, 535.183.01, 16376 MiB", None, "OptiX in Blender 5.2 needs driver 575"),
    ],
)
def test_a_gpu_is_told_with_its_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, ok: bool | None, words: str
) -> None:
    program(tmp_path, "nvidia-smi", f"echo '{line}'")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    gpu = found(Settings(home=tmp_path))["GPU"]

    assert gpu.ok is ok
    assert words in gpu.what
