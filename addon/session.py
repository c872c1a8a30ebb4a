"""Submissions of this Blender session, and the timer that redraws the panel while they run."""

from __future__ import annotations

import bpy

from .check import Check
from .work import Work

_EVERY = 0.25  # seconds

works: list[Work] = []  # the newest first
check: Check | None = None  # the latest test of the farm's address
_drawn: list[object] = []


def add(work: Work) -> None:
    """Start ``work`` and show it first."""
    works.insert(0, work)
    work.start()
    watch()


def again(index: int) -> None:
    """Take up a job whose thread gave up."""
    works[index] = works[index].again()
    works[index].start()
    watch()


def forget(index: int) -> None:
    """Leave a submission that has ended out of the panel."""
    del works[index]


def test(url: str, token: str) -> Check:
    """Ask the farm at ``url`` how it is, without waiting."""
    global check
    check = Check(url, token)
    check.start()
    watch()
    return check


def watch() -> None:
    """Redraw while something runs. Survives loading another file."""
    if not bpy.app.timers.is_registered(_tick):
        bpy.app.timers.register(_tick, first_interval=_EVERY, persistent=True)


def close(seconds: float = 5.0) -> None:
    """Let go of everything; jobs go on at the farm."""
    global check
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
    for work in works:
        work.let_go(0)
    for work in works:
        work.wait(seconds)
    works.clear()
    _drawn.clear()
    check = None


def _tick() -> float | None:
    # Whether one runs is read before what is drawn, so that the last change is drawn too.
    running = any(work.shown.working for work in works) or (check is not None and check.running)
    now: list[object] = [work.shown for work in works]
    now.append(check.answer if check else None)
    if now != _drawn:
        _drawn[:] = now
        _redraw()
    return _EVERY if running else None


def _redraw() -> None:
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type in ("PROPERTIES", "PREFERENCES"):
                area.tag_redraw()
