"""Why an attempt failed, as an exception, and how every other exception becomes one."""

from __future__ import annotations

import errno
import logging
import re
from collections.abc import Iterable

from farm.domain.errors import NotFound, StorageFull, TesseraError, Unavailable
from farm.domain.work import Cause
from farm.storage import Damaged, StorageRefused

_log = logging.getLogger(__name__)

_FULL = (errno.ENOSPC, errno.EDQUOT)
#: Control characters, marks that turn the direction of writing, and halves of characters, which no
#: database takes.
_UNPRINTABLE = re.compile(
    r"[^\S\n ]|[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
MOST_WORDS = 2000  # characters of a sentence that a child may make a person read

#: What a child may give as its reason. Lost and storage are retried for free and cancelled ends a
#: task, so a hostile scene must not be able to claim them.
CHILD_CAUSES = frozenset(
    {
        Cause.BAD_SCENE,
        Cause.OUT_OF_MEMORY,
        Cause.NO_DEVICE,
        Cause.BAD_RESULT,
        Cause.WRONG_CLASS,
        Cause.DISK_FULL,
        Cause.INTERNAL,
    }
)


class AttemptFailed(Exception):
    """The attempt ends here, for a reason that a person can read. Never leaves the worker.

    ``pieces`` are those of a finish that are at fault, by number; ``peak_memory`` is what the child had at
    most, in bytes, where that is known.
    """

    def __init__(
        self, cause: Cause, what: str, cure: str = "", pieces: Iterable[int] = (), peak_memory: int = 0
    ) -> None:
        super().__init__(what)
        self.cause = cause
        self.what = what
        self.cure = cure
        self.pieces = tuple(pieces)
        self.peak_memory = peak_memory


def said_by_child(
    cause: str, what: str, cure: str, pieces: Iterable[int] = (), peak_memory: int = 0
) -> AttemptFailed:
    """A child's own reason, with nothing in it that it may not say."""
    try:
        known = Cause(cause)
    except ValueError:
        known = Cause.INTERNAL
    if known not in CHILD_CAUSES:
        known = Cause.INTERNAL
    return AttemptFailed(
        known, plain(what) or "The child process failed without a word.", plain(cure), pieces, peak_memory
    )


def plain(text: str, most: int = MOST_WORDS) -> str:
    """``text`` with nothing in it but what prints, and line breaks; at most ``most`` characters."""
    return _UNPRINTABLE.sub(" ", text[: 4 * most]).strip()[:most]


def understood(error: BaseException) -> AttemptFailed:
    """``error`` as a failure for people. What nobody foresaw is logged with its traceback."""
    match error:
        case AttemptFailed():
            return error
        case StorageFull():
            return AttemptFailed(Cause.DISK_FULL, error.what, error.cure)
        case Unavailable() | Damaged() | StorageRefused():
            return AttemptFailed(Cause.STORAGE, error.what, error.cure)
        case NotFound():  # not for free: what is gone from storage does not come back
            cure = error.cure or "Submit the scene again."
            return AttemptFailed(Cause.INTERNAL, f"A file that this needs is gone: {error.what}", cure)
        case TesseraError():
            return AttemptFailed(Cause.INTERNAL, error.what, error.cure)
        case OSError() if error.errno in _FULL:
            return AttemptFailed(
                Cause.DISK_FULL,
                "The worker's disk is full.",
                "Free some room in the worker's scratch folder, or give the worker a larger one.",
            )
    _log.error("An attempt failed for an unforeseen reason.", exc_info=error)
    return AttemptFailed(
        Cause.INTERNAL,
        plain(f"The worker failed ({type(error).__name__}: {error})."),
        "This is a fault of the farm. The worker's log has the details.",
    )
