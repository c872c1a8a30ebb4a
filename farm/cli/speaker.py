"""How the command speaks: lines for people, one object for programs, errors in two lines."""

from __future__ import annotations

import json
import sys

from rich.console import Console, RenderableType
from rich.text import Text

from farm.domain.errors import TesseraError
from farm.domain.scene import Finding

#: Names in a scene may hold anything; control characters would let them rewrite the terminal.
_CONTROL = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160)) if code != 10}

_MOST_WARNINGS = 5


class Speaker:
    """Speaks on stdout and stderr. With ``as_json`` stdout carries one object and nothing else."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.err = Console(stderr=True, highlight=False, emoji=False)
        self.out = self.err if as_json else Console(highlight=False, emoji=False)

    def say(self, text: str) -> None:
        """A line for people, left out with --json. Never wrapped: paths must stay whole."""
        if not self.as_json:
            self.out.print(Text(clean(text)), soft_wrap=True)

    def draw(self, thing: RenderableType) -> None:
        """A table or the like, left out with --json."""
        if not self.as_json:
            self.out.print(thing)

    def note(self, text: str) -> None:
        """A remark beside the result, on stderr."""
        self.err.print(Text(clean(text)), soft_wrap=True)

    def warn(self, findings: tuple[Finding, ...]) -> None:
        """The first few warnings and how many more there are, on stderr; a cure that several share once."""
        shown = findings[:_MOST_WARNINGS]
        for found, following in zip(shown, (*shown[1:], None), strict=False):
            shared = following is not None and following.cure == found.cure
            self.note(f"Note: {found.what}" + ("" if shared else f" {found.cure}".rstrip()))
        if (more := len(findings) - _MOST_WARNINGS) > 0:
            self.note(f"Note: {more} more like these.")

    def fail(self, error: TesseraError) -> None:
        """What happened and the cure, on two lines of stderr."""
        self.note(error.what.replace("\n", " "))
        if error.cure:
            self.note(error.cure.replace("\n", " "))

    def give(self, data: object) -> None:
        """The object, on stdout; ASCII, so that every terminal and pipe carries it."""
        sys.stdout.write(json.dumps(data, indent=2) + "\n")
        sys.stdout.flush()


def clean(text: str) -> str:
    """The text without control characters and lone surrogates."""
    return text.translate(_CONTROL).encode(errors="replace").decode()


def problem(error: TesseraError) -> dict[str, str]:
    """An error as part of a --json object."""
    return {"error": error.what, "cure": error.cure, "code": error.code}
