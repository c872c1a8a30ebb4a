"""Numbers as people say them, as on the farm's page."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """``42 s``, ``2 min 10 s``, ``3 h 5 min``, ``2 d 4 h``."""
    whole = max(0, round(seconds))
    for size, unit, smaller, name in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit}" + (f" {rest} {name}" if rest else "")
    return f"{whole} s"


def size(count: int) -> str:
    """Bytes in powers of a thousand: ``812 B``, ``3.2 MB``."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def number(count: int, one: str) -> str:
    """``1 frame``, ``24 frames``."""
    return f"{count} {one if count == 1 else one + 's'}"
