from __future__ import annotations

from pathlib import Path

import pytest

from workers import telemetry
from workers.telemetry import parse, visible

SMI = """\
0, GPU-aaaa, NVIDIA H200, 9.0, 575.51, 143771, 4, 12, 33
1, GPU-bbbb, NVIDIA L4, 8.9, 575.51, 23034, 1000, [N/A], [N/A]
No devices were found
"""


def test_gpus_are_read_from_nvidia_smi() -> None:
    first, second = parse(SMI)
    assert (first.name, first.architecture, first.memory) == ("NVIDIA H200", "sm_90", 143771 * 1024 * 1024)
    assert (first.busy, first.celsius) == (12, 33)
    assert (second.architecture, second.busy, second.celsius) == ("sm_89", None, None)


def test_a_worker_sees_the_gpus_that_it_was_given() -> None:
    gpus = parse(SMI)
    assert visible(gpus, None) == gpus
    assert visible(gpus, "1") == [gpus[1]]
    assert visible(gpus, "GPU-bbbb,0") == [gpus[1], gpus[0]]
    assert visible(gpus, "0,7,1") == [gpus[0]]
    assert visible(gpus, "") == []


@pytest.mark.parametrize(
    ("limit", "used", "stat", "cached"),
    [
        ("memory.max", "memory.current", "memory.stat", "inactive_file"),
        (
            "memory/memory.limit_in_bytes",
            "memory/memory.usage_in_bytes",
            "memory/memory.stat",
            "total_inactive_file",
        ),
    ],
    ids=["cgroup 2", "cgroup 1"],
)
def test_in_a_container_memory_is_the_container_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, used: str, stat: str, cached: str
) -> None:
    monkeypatch.setattr(telemetry, "_CGROUP", tmp_path)
    (tmp_path / "memory").mkdir()
    (tmp_path / limit).write_text("10000000\n")
    (tmp_path / used).write_text("9000000\n")
    (tmp_path / stat).write_text(f"anon 5000000\n{cached} 4000000\n")
    host = telemetry.host()
    assert (host.memory, host.memory_free) == (10_000_000, 5_000_000)
    (tmp_path / limit).write_text("max\n")
    assert telemetry.host().memory > 10_000_000


def test_the_host_says_what_it_has() -> None:
    host = telemetry.host()
    assert 0 < host.memory_free <= host.memory
    assert host.threads >= 1
