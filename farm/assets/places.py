"""Where each file of a scene lies in its manifest."""

from __future__ import annotations

import ntpath
from pathlib import Path

_OUTSIDE = "_outside"
_LONGEST_NAME = 255  # bytes of one component, the limit of nearly all file systems
_LONGEST_PATH = 1000  # bytes; workers put their own folders before it
#: Folders of the operating system: nothing in them is a scene's, and some of it is secret.
_SYSTEM = frozenset({"/boot", "/dev", "/etc", "/proc", "/run", "/sys"})
_OPEN_HIDDEN = frozenset({".fonts", ".local"})  # where people keep fonts


class Places:
    """Names for the files of one scene: below its root as they are, elsewhere under ``_outside``.

    The folders of a file outside are kept, drive and server as folders too: what lies side by side
    stays so, and relative paths between files outside hold.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._outside = _OUTSIDE
        while (root / self._outside).exists():
            self._outside += "_"

    def of(self, path: Path) -> str:
        """Path in the manifest: POSIX, relative, UTF-8."""
        if path.is_relative_to(self.root):
            parts: tuple[str, ...] = path.relative_to(self.root).parts
        else:
            anchor = [part for part in path.drive.replace("\\", "/").replace(":", "").split("/") if part]
            parts = (self._outside, *anchor, *path.parts[1:])
        return "/".join(_speakable(part) for part in parts)

    def is_outside(self, path: Path) -> bool:
        return not path.is_relative_to(self.root)


def is_private(path: Path) -> bool:
    """Whether a file outside of the scene's folders must stay: a .blend from anywhere may name it."""
    text = path.as_posix()
    if any(text == folder or text.startswith(folder + "/") for folder in _SYSTEM):
        return True
    hidden = [part for part in path.parts[:-1] if part.startswith(".")]
    return any(part not in _OPEN_HIDDEN for part in hidden)


def is_too_long(place: str) -> bool:
    return len(place.encode()) > _LONGEST_PATH or any(
        len(part.encode()) > _LONGEST_NAME for part in place.split("/")
    )


def is_portable(place: str) -> bool:
    """Whether Windows too could store a file of that name."""
    return not any(ntpath.isreserved(part) for part in place.split("/"))


def _speakable(part: str) -> str:
    """The name as a manifest can carry it; what it cannot is spelled in letters, as ``_xom``."""
    return "".join(f"_x{_letters(ord(letter))}" if _is_unspeakable(letter) else letter for letter in part)


def _is_unspeakable(letter: str) -> bool:
    return letter == "\\" or "\ud800" <= letter <= "\udfff"


def _letters(code: int) -> str:
    """The last two hexadecimal digits, as letters: digits would count as the number of a sequence."""
    return "".join(chr(ord("a") + digit) for digit in (code >> 4 & 15, code & 15))
