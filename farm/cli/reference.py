"""`docs/cli.md` from the commands' own --help: ``python -m farm.cli.reference > docs/cli.md``."""

from __future__ import annotations

import sys
from typing import Any

import typer

from farm.cli.main import app

_WIDTH = 80


def reference() -> str:
    """The page, in Markdown; a test compares it with the one in the repository."""
    command: Any = typer.main.get_command(app)
    given = {"terminal_width": _WIDTH, **command.context_settings}
    with command.context_class(command, info_name="farm", **given) as context:
        parts = [
            "# The `farm` command\n\nMade from `--help` by `python -m farm.cli.reference`; do not edit.",
            _section("farm", command.get_help(context)),
        ]
        for name, one in command.commands.items():
            with one.context_class(one, info_name=name, parent=context, **given) as inner:
                parts.append(_section(f"farm {name}", one.get_help(inner)))
    return "\n\n".join(parts) + "\n"


def _section(title: str, help_text: str) -> str:
    lines = "\n".join(line.rstrip() for line in help_text.splitlines())
    return f"## {title}\n\n```text\n{lines}\n```"


if __name__ == "__main__":
    sys.stdout.write(reference())
