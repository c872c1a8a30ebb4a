"""For how long nobody was at this machine: each system's own answer, behind one small function each.

What the answers are worth:

- **Windows, macOS**: seconds since the last key, click or touch, of the session that this process runs in.
- **Linux, X11**: the same, from the X server's screen saver, where this process may speak to it
  (``DISPLAY``, ``XAUTHORITY``): a worker that the owner's own session started.
- **Linux, logind**: the desktop's idle hint. GNOME and KDE give it after an idle delay of their own, so that
  the owner counts as away that much later; who comes back counts at once. A desktop that never gives it
  (a bare window manager) is never idle: use X11 there.
- **Terminals**, in addition: the last time that anything was read from a terminal, in steps of eight
  seconds, which is all that Linux tells. Whoever works over SSH is seen by it.

Where neither a desktop nor a login manager nor a terminal is found, nothing can be told: None.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

_SECONDS = 5  # for a program to answer


def idle_seconds() -> float | None:
    """Seconds since anybody was at this machine, infinite where nobody ever was; None: it cannot be told.

    Never fails; may take some milliseconds, for a program that is asked.
    """
    if sys.platform == "win32":
        return _windows()
    if sys.platform == "darwin":
        return _macos()
    asked = _desktop(os.environ), _terminals(_terminal_files())
    return min((seconds for seconds in asked if seconds is not None), default=None)


def _desktop(environment: Mapping[str, str]) -> float | None:
    """Of the X server where this process may ask it, else of the login manager.

    Under Wayland, X hears only of the windows that still speak X.
    """
    if environment.get("DISPLAY") and not environment.get("WAYLAND_DISPLAY"):
        seconds = _x11()
        if seconds is not None:
            return seconds
    answer = _output("loginctl", "show-session", "--property=IdleHint", "--property=IdleSinceHintMonotonic")
    return None if answer is None else of_logind(answer, time.clock_gettime(time.CLOCK_MONOTONIC))


def of_logind(text: str, now: float) -> float | None:
    """Idle seconds from ``IdleHint`` and ``IdleSinceHintMonotonic`` (µs), as ``loginctl`` prints them."""
    said = dict(line.partition("=")[::2] for line in text.splitlines())
    since = said.get("IdleSinceHintMonotonic", "")
    if said.get("IdleHint") == "no":
        return 0.0
    if said.get("IdleHint") != "yes" or not since.isdigit():
        return None
    return max(0.0, now - int(since) / 1e6) if int(since) else math.inf  # 0: nobody has a session


def of_ioreg(text: str) -> float | None:
    """Idle seconds from ``HIDIdleTime`` (ns), as macOS's ``ioreg -c IOHIDSystem`` prints it."""
    found = re.search(r'"HIDIdleTime"\s*=\s*(\d+)', text)
    return None if found is None else int(found[1]) / 1e9


def of_ticks(now: int, last: int) -> float:
    """Idle seconds between two readings of Windows' 32-bit milliseconds, which start over after 49 days."""
    return ((now - last) % (1 << 32)) / 1000


def _terminal_files() -> Iterable[Path]:
    return [*Path("/dev").glob("tty[0-9]*"), *Path("/dev/pts").glob("[0-9]*")]


def _terminals(files: Iterable[Path], now: Callable[[], float] = time.time) -> float | None:
    """Seconds since somebody typed into a terminal; consoles that nobody has logged in to belong to root."""
    read = []
    for file in files:
        try:
            seen = file.stat()
        except OSError:
            continue
        if seen.st_uid or file.parent.name == "pts":
            read.append(seen.st_atime)
    return max(0.0, now() - max(read)) if read else None


def _output(*command: str) -> str | None:
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout if answer.returncode == 0 else None


def _macos() -> float | None:
    answer = _output("ioreg", "-c", "IOHIDSystem", "-d", "4")
    return None if answer is None else of_ioreg(answer)


def _windows() -> float | None:
    class LastInput(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint), ("time", ctypes.c_uint)]

    library = getattr(ctypes, "windll", None)  # Windows alone has it
    if library is None:
        return None
    info = LastInput(ctypes.sizeof(LastInput), 0)
    if not library.user32.GetLastInputInfo(ctypes.byref(info)):
        return None
    return of_ticks(library.kernel32.GetTickCount() & 0xFFFFFFFF, info.time)


def _x11() -> float | None:
    """From the MIT-SCREEN-SAVER extension; None without it, or where the server does not let us in."""

    class ScreenSaver(ctypes.Structure):  # X11/extensions/scrnsaver.h
        _fields_ = [
            ("window", ctypes.c_ulong),
            ("state", ctypes.c_int),
            ("kind", ctypes.c_int),
            ("til_or_since", ctypes.c_ulong),
            ("idle", ctypes.c_ulong),  # milliseconds
            ("event_mask", ctypes.c_ulong),
        ]

    names = ctypes.util.find_library("X11"), ctypes.util.find_library("Xss")
    if None in names:
        return None
    x11, xss = map(ctypes.CDLL, names)
    x11.XOpenDisplay.restype = x11.XDefaultRootWindow.restype = ctypes.c_void_p
    x11.XDefaultRootWindow.argtypes = x11.XCloseDisplay.argtypes = [ctypes.c_void_p]
    xss.XScreenSaverQueryInfo.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ScreenSaver)]
    display = x11.XOpenDisplay(None)
    if not display:
        return None
    try:
        info = ScreenSaver()
        there = xss.XScreenSaverQueryInfo(display, x11.XDefaultRootWindow(display), ctypes.byref(info))
        return info.idle / 1000 if there else None
    finally:
        x11.XCloseDisplay(display)
