"""Numbers as people say them. The pages show these; exact values stand beside them, on hover."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from markupsafe import Markup, escape

from farm.domain.telling import MOMENT

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_MOMENT = Markup('<time datetime="{}Z" data-clock>{} UTC</time>{}')


def duration(seconds: float) -> str:
    """``0.84`` → “0.8 s”, ``130`` → “2 min 10 s”, ``11100`` → “3 h 5 min”."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return _pair(whole, _MINUTE, "min", 1, "s")
    if whole < _DAY:
        return _pair(whole, _HOUR, "h", _MINUTE, "min")
    return _pair(whole, _DAY, "d", _HOUR, "h")


def ago(then: float, now: float | None = None) -> str:
    """“just now”, “3 min ago”, “2 h ago”, “5 days ago”."""
    past = (time.time() if now is None else now) - then
    if past < 45:
        return "just now"
    if past < _HOUR:
        return f"{max(1, int(past / _MINUTE))} min ago"
    if past < _DAY:
        return f"{int(past / _HOUR)} h ago"
    days = int(past / _DAY)
    return "1 day ago" if days == 1 else f"{days} days ago"


def iso(then: float) -> str:
    """For ``<time datetime>``: ``2026-11-30T23:06:12Z``."""
    return datetime.fromtimestamp(then, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def utc(then: float, now: float) -> str:
    """A moment as `moments` marks it: “2026-12-01 19:00 UTC”."""
    del now
    return f"{datetime.fromtimestamp(then, UTC):%Y-%m-%d %H:%M} UTC"


def moments(text: str) -> Markup:
    """A sentence as HTML, its moments in UTC marked so that the browser tells them in its own zone."""
    said, *rest = MOMENT.split(text)
    pairs = zip(rest[::2], rest[1::2], strict=True)
    return Markup().join(
        [escape(said), *(_MOMENT.format(at.replace(" ", "T"), at, after) for at, after in pairs)]
    )


def size(count: float) -> str:
    """Bytes in decimal units: “3.4 MB”."""
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if count < 999.5:
            return f"{count:.1f} {unit}" if count < 99.95 else f"{count:.0f} {unit}"
    return f"{count / 1000:.1f} TB"


def count(number: int, one: str, many: str = "") -> str:
    """“1 frame”, “10 000 frames”; a narrow space groups thousands."""
    return f"{number:,}".replace(",", "\u202f") + " " + (one if number == 1 else many or one + "s")


def _pair(whole: int, big: int, big_unit: str, small: int, small_unit: str) -> str:
    first, rest = divmod(whole, big)
    rest //= small
    return f"{first} {big_unit} {rest} {small_unit}" if rest else f"{first} {big_unit}"
