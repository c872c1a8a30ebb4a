"""What a part said last, in words that a person can use."""

import pytest

from farm.embedded.logs import last_words

STAMP = "2026-01-02 03:04:05,678 ERROR farm.dispatch "


@pytest.mark.parametrize(
    ("lines", "what", "cure"),
    [
        ((), "", ""),
        (("The disk is full.", "Free some space."), "The disk is full.", "Free some space."),
        ((STAMP + "The disk is full.", "Free some space."), "The disk is full.", "Free some space."),
        ((STAMP + "The disk is full.", STAMP + "It is full still."), "It is full still.", ""),
        (("Traceback (most recent call last):", "  File x", "    boom()", "KeyError: 1"), "KeyError: 1", ""),
        (("I0102 master started", "panic: no room"), "panic: no room", ""),
    ],
)
def test_the_last_words_are_a_sentence_and_its_cure_where_there_are_such(lines, what, cure):
    assert last_words(lines) == (what, cure)
