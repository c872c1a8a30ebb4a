from __future__ import annotations

import errno
import logging

import pytest

from farm.domain.errors import BadInput, NotFound, StorageFull, TesseraError, Unavailable
from farm.domain.work import Cause
from farm.storage import Damaged, StorageRefused
from workers.failures import plain, said_by_child, understood


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (Unavailable("away"), Cause.STORAGE),
        (Damaged("bad"), Cause.STORAGE),
        (StorageRefused("keys"), Cause.STORAGE),
        (StorageFull("full"), Cause.DISK_FULL),
        (OSError(errno.ENOSPC, "full"), Cause.DISK_FULL),
        (OSError(errno.EDQUOT, "quota"), Cause.DISK_FULL),
        (NotFound("gone"), Cause.INTERNAL),
        (BadInput("bad"), Cause.INTERNAL),
    ],
)
def test_an_error_has_its_cause(error: TesseraError, cause: Cause) -> None:
    assert understood(error).cause is cause


def test_what_nobody_foresaw_is_a_sentence_for_people_and_a_traceback_for_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        try:
            {}["key"]  # type: ignore[index]
        except KeyError as error:
            failed = understood(error)
    assert failed.cause is Cause.INTERNAL
    assert "Traceback" not in failed.what
    assert "KeyError" in failed.what
    assert caplog.records[0].exc_info


@pytest.mark.parametrize("claimed", ["lost", "storage", "cancelled", "crash", "hang", "nonsense", ""])
def test_a_child_cannot_claim_what_only_the_worker_knows(claimed: str) -> None:
    assert said_by_child(claimed, "what", "").cause is Cause.INTERNAL


def test_a_child_s_words_are_cut_and_cleaned() -> None:
    failed = said_by_child("bad-scene", "\x1b]0;evil\x07" + "x" * 10_000, "")
    assert len(failed.what) == 2000
    assert "\x1b" not in failed.what
    assert said_by_child("bad-scene", " \n", "").what
    assert plain("a\tb\r\nc\x00") == "a b \nc"
    assert plain("half \ud83d, turned \u202egnp.exe") == "half  , turned  gnp.exe"
