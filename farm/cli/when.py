"""Moments and amounts as people write them: “22:00”, “in 2h”, “2026-12-24 18:00”; “24GiB”; “none”."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from pydantic import ByteSize, TypeAdapter, ValidationError

from farm.domain.control import LATEST
from farm.domain.errors import UsageError

_IN = re.compile(
    r"in\s+(?:(?P<days>\d+)\s*d(?:ays?)?\s*)?(?:(?P<hours>\d+)\s*h(?:ours?)?\s*)?"
    r"(?:(?P<minutes>\d+)\s*m(?:in(?:utes?)?)?)?"
)
_AT = re.compile(r"(\d{1,2}):(\d{2})")
_SIZE = TypeAdapter(ByteSize)


def moment(text: str, now: datetime | None = None) -> float:
    """Seconds since the epoch; times without a zone are of this machine's own.

    A time of day is the next one; a date may lie in the past. Raises `UsageError`.
    """
    try:
        at = _read(text.strip(), now or datetime.now().astimezone())
    except (ValueError, OverflowError, OSError):
        at = 0.0
    if not 0 < at < LATEST:
        raise UsageError(
            f"“{text}” is not a time to start at.",
            "Write 22:00, “in 2h”, or a date and time such as 2026-12-24T18:00.",
        )
    return at


def _read(text: str, now: datetime) -> float:
    asked = text.lower()
    if (found := _IN.fullmatch(asked)) and any(found.groupdict().values()):
        parts = {unit: int(number) for unit, number in found.groupdict().items() if number}
        return (now + timedelta(**parts)).timestamp()
    if found := _AT.fullmatch(asked):
        at = now.replace(tzinfo=None, hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
        if at.astimezone() <= now:
            at += timedelta(days=1)
        return at.astimezone().timestamp()
    return datetime.fromisoformat(text).astimezone().timestamp()


def memory(text: str) -> int:
    """Bytes; raises `UsageError`."""
    try:
        return int(_SIZE.validate_python(text.strip()))
    except ValidationError:
        raise UsageError(f"“{text}” is not an amount of memory.", "Write 24GiB, or 24GB.") from None


def workers_at_most(text: str) -> int:
    """A number of workers; “none”, which is no limit, as 0. Raises `UsageError`."""
    if text == "none":
        return 0
    if not text.isdecimal() or not 0 < int(text) < 1 << 31:
        raise UsageError(f"“{text}” is no number of workers.", "Write 1 or more, or none.")
    return int(text)
