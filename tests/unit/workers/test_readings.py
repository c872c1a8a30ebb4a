from __future__ import annotations

from pathlib import Path

import pytest

from workers import telemetry


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
