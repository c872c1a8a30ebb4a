"""Numbers as people say them, as on the farm's page."""

from __future__ import annotations


def within(low: float, high: float) -> str:
    """A range of seconds: ``20–35 s``, ``4–6 min``, ``about 5 min``, ``1.5–2 h``."""
    if high < 5:
        return "a few seconds"
    steps = ((1, "s", 90), (60, "min", 5400), (3600, "h", 172800), (86400, "days", high + 1))
    size, unit = next((size, unit) for size, unit, most in steps if high < most)
    first, last = (_rounded(seconds / size, unit) for seconds in (low, high))
    return f"about {last} {unit}" if first == last else f"{first}–{last} {unit}"


def _rounded(amount: float, unit: str) -> str:
    if unit == "s":
        return str(5 * max(1, round(amount / 5)))
    if unit == "min":
        return str(5 * round(amount / 5) if amount >= 10 else max(1, round(amount)))
    return f"{max(0.1, amount):.1f}".removesuffix(".0")


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
