"""How a job goes and why, in words that are the same on the page, in the command and in answers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from datetime import datetime

from farm.domain.control import NORMAL, Control
from farm.domain.costs import Costs, Span
from farm.domain.states import JOB_ENDED
from farm.domain.views import JobView

#: How the dispatcher writes a moment: “2026-12-01 19:00 UTC”.
MOMENT = re.compile(r"\b(\d{4}-\d\d-\d\d \d\d:\d\d) UTC\b")
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_GIB = 1 << 30


def memory(count: int) -> str:
    """Bytes as memory is sold: “24 GiB”, “1.5 GiB”."""
    return f"{count / _GIB:.3g} GiB"


def quoted(words: Iterable[str]) -> str:
    """“a”, “b” and “c”."""
    marked = [f"“{word}”" for word in words]
    return " and ".join(filter(None, (", ".join(marked[:-1]), marked[-1]))) if marked else ""


def within(span: Span) -> str:
    """A range of seconds, no finer than it is known: “4–6 min”, “about 5 min”, “20–35 s”."""
    if span.high < 5:
        return "a few seconds"
    size, unit = next(
        (size, unit)
        for size, unit, most in (
            (1.0, "s", 90.0),
            (_MINUTE, "min", 90 * _MINUTE),
            (_HOUR, "h", 2 * _DAY),
            (_DAY, "days", float("inf")),
        )
        if span.high < most
    )
    low, high = (_rounded(seconds / size, unit) for seconds in (span.low, span.high))
    return f"about {high} {unit}" if low == high else f"{low}–{high} {unit}"


def _rounded(amount: float, unit: str) -> str:
    if unit == "s":
        return str(5 * max(1, round(amount / 5)))
    if unit == "min" and amount >= 10:
        return str(5 * round(amount / 5))
    if unit == "min":
        return str(max(1, round(amount)))
    return f"{max(0.1, amount):.1f}".removesuffix(".0")


def money(amount: float) -> str:
    """A price, to the hundredth; small ones to two figures: “12.40”, “0.0031”."""
    return f"{amount:.2f}" if amount >= 0.1 or amount == 0 else f"{amount:.2g}"


def priced(span: Span) -> str:
    """A range of prices: “0.90–1.10”, or one number where both ends read the same."""
    low, high = money(span.low), money(span.high)
    return low if low == high else f"{low}–{high}"


def price(job: JobView) -> str:
    """“0.42 so far, 0.90–1.10 in all”; empty where no worker has a price."""
    if job.price is None:
        return ""
    paid, whole = money(job.costs.paid), priced(job.price)
    if job.state in JOB_ENDED or paid == whole:
        return paid
    return f"{paid} so far, {whole} in all"


def costs(measured: Costs, cut: bool = False) -> str:
    """“sync 12 s, render 48 s a frame”, with what else it takes; empty while nothing is known."""
    if measured.seen <= 0:
        return ""
    parts = [f"sync {_short(measured.sync)}", f"render {_short(measured.render)}"]
    if measured.rest >= 0.05:
        parts.append(f"saving {_short(measured.rest)}")
    if cut and measured.finish >= 0.05:
        parts.append(f"finishing {_short(measured.finish)}")
    load = f"; opening the scene {_short(measured.load)}" if measured.load >= 0.05 else ""
    return ", ".join(parts) + " a frame" + load


def _short(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < 2 * _HOUR else f"{seconds / _HOUR:.1f} h"


def clock(moment: float, now: float) -> str:
    """A moment in local time: “22:00”, or with its day where that is not today’s: “Wed 2 Dec, 22:00”."""
    then, today = time.localtime(moment), time.localtime(now)
    at = time.strftime("%H:%M", then)
    if then[:3] == today[:3]:
        return at
    day = f"{time.strftime('%a', then)} {then.tm_mday} {time.strftime('%b', then)}"
    return f"{day}, {at}" if then.tm_year == today.tm_year else f"{day} {then.tm_year}, {at}"


def in_local_time(text: str, now: float) -> str:
    """A sentence of the dispatcher's with its moments (“2026-12-01 19:00 UTC”) in local time (“20:00”)."""

    def local(found: re.Match[str]) -> str:
        return clock(datetime.fromisoformat(f"{found[1]}+00:00").timestamp(), now)

    return MOMENT.sub(local, text)


def held(job: JobView) -> bool:
    """Whether an open job is paused: nothing new of it is begun."""
    return job.control.paused and not job.cancelling and (job.state not in JOB_ENDED or job.retrying)


def standing(job: JobView) -> str:
    """Why nothing of an open job goes on, in few words: “paused”, “waits for job k3m9x2ab”; else empty."""
    if held(job):
        return "paused"
    if job.state in JOB_ENDED or job.cancelling:
        return ""
    first = in_local_time(job.waits, time.time()).split(". ")[0].removesuffix(".").removeprefix("It ")
    return first[:1].lower() + first[1:]


def wishes(
    control: Control, now: float, spoken: Callable[[float, float], str] = clock
) -> list[tuple[str, str]]:
    """What was asked for that is not the default, as names and words: (“priority”, “80”).

    ``spoken`` puts a moment into words, given it and ``now``.
    """
    told = []
    if control.priority != NORMAL:
        told.append(("priority", str(control.priority)))
    if control.paused:
        told.append(("paused", "nothing new is begun"))
    if control.start is not None:
        over = " (over)" if control.start <= now else ""
        told.append(("start", f"not before {spoken(control.start, now)}{over}"))
    if control.after:
        which = ("its frame of the same number of " if control.frame_wise else "") + _jobs(control.after)
        told.append(("after", which))
    if control.workers is not None:
        told.append(("workers", f"{control.workers} at once, at most"))
    if control.needs.memory or control.needs.tags:
        memory_ = [f"{memory(control.needs.memory)} of memory"] if control.needs.memory else []
        tags = [quoted(control.needs.tags)] if control.needs.tags else []
        told.append(("needs", ", ".join(memory_ + tags)))
    if control.order != "preview":
        told.append(("order", order(control.order)))
    if control.other_class:
        told.append(("class", "another one where a frame does not fit into memory"))
    return told


def _jobs(names: tuple[str, ...]) -> str:
    return ("job " if len(names) == 1 else "jobs ") + " and ".join(
        filter(None, (", ".join(names[:-1]), names[-1]))
    )


def order(text: str) -> str:
    """In which order frames are begun: “every 10th first”."""
    if text.startswith("every:"):
        return f"one of every {text.removeprefix('every:')} frames first"
    return "as they come" if text == "turn" else "first, last and middle, then as they come"
