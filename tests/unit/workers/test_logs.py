from __future__ import annotations

from pathlib import Path

from workers.logs import FILE_BYTES, TAIL_BYTES, AttemptLog


def test_a_short_log_is_kept_whole(tmp_path: Path) -> None:
    log = AttemptLog(tmp_path / "deep" / "log.txt")
    log.write(b"one\n")
    log.write(b"two\n")
    assert log.finish() == 8
    assert log.path.read_bytes() == b"one\ntwo\n"


def test_a_long_log_keeps_its_start_and_its_end(tmp_path: Path) -> None:
    log = AttemptLog(tmp_path / "log.txt")
    log.write(b"start\n")
    for _ in range(200):
        log.write(b"x" * 65535 + b"\n")
    log.write(b"the end\n")
    size = log.finish()
    data = log.path.read_bytes()
    assert len(data) == size
    assert FILE_BYTES < size < FILE_BYTES + TAIL_BYTES + 100
    assert data.startswith(b"start\n")
    assert data.endswith(b"the end\n")
    left_out = 6 + 200 * 65536 + 8 - FILE_BYTES - TAIL_BYTES
    assert f"… {left_out} bytes left out …".encode() in data


def test_a_log_just_over_its_size_loses_nothing(tmp_path: Path) -> None:
    log = AttemptLog(tmp_path / "log.txt")
    log.write(b"x" * FILE_BYTES)
    log.write(b"more")
    assert log.finish() == FILE_BYTES + 4


def test_the_telling_lines_are_no_progress_and_no_stack(tmp_path: Path) -> None:
    log = AttemptLog(tmp_path / "log.txt")
    log.write(
        b"Fra:1 Mem:12.00M (Peak 13.00M) | Time:00:00.10 | Sample 3/16\n"
        b"00:01.345  render           | Fra:1 | Rendering 3 / 16 samples\n"
        b"Error: the \x1b[31mcache\x1b[0m is broken\n\n"
        b'Traceback (most recent call last):\n  File "/some/where.py", line 3, in f\n    f()\nOSError: no\n'
    )
    assert log.telling() == "Error: the  [31mcache [0m is broken\nOSError: no"
    log.finish()


def test_a_log_of_progress_alone_still_shows_it(tmp_path: Path) -> None:
    log = AttemptLog(tmp_path / "log.txt")
    log.write(b"Fra:1 Mem:12.00M | Sample 3/16\n")
    assert log.telling() == "Fra:1 Mem:12.00M | Sample 3/16"
    log.finish()


def test_a_full_disk_does_not_stop_the_log(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    log = AttemptLog(tmp_path / "file" / "log.txt")
    log.write(b"still heard\n")
    assert log.finish() == 0
    assert log.telling() == "still heard"
