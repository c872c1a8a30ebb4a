"""The `farm` command: its commands, and the one place where errors become words and exit codes.

==== ===================================================================
code means
==== ===================================================================
0    done
1    failed, with a sentence on what happened and one on the cure
2    the call could not be read: an unknown option, a bad range or grid
130  interrupted
==== ===================================================================
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.exceptions import TyperException

from farm import __version__
from farm.cli.cancel import cancel
from farm.cli.change import change
from farm.cli.doctor import doctor
from farm.cli.farm import down, up
from farm.cli.fetch import fetch
from farm.cli.interrupts import answers_interrupts, end_as_interrupt
from farm.cli.jobs import jobs, show
from farm.cli.limits import limits
from farm.cli.pause import pause, resume
from farm.cli.priority import priority
from farm.cli.render import render
from farm.cli.rerender import rerender
from farm.cli.retry import retry
from farm.cli.simulate import simulate
from farm.cli.speaker import Speaker, problem
from farm.cli.status import status
from farm.cli.submit import submit
from farm.cli.verify import verify
from farm.cli.watch import watch
from farm.domain.errors import TesseraError, UsageError

_EXTRA = re.compile(r"unexpected extra arguments? ?(?:\(s\) )?\((.*)\)")

app = typer.Typer(
    name="farm",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    render,
    submit,
    watch,
    jobs,
    show,
    pause,
    resume,
    priority,
    change,
    retry,
    cancel,
    fetch,
    rerender,
    verify,
    limits,
    up,
    down,
    status,
    simulate,
    doctor,
)
_NAMED: dict[object, str] = {change: "set"}  # a name that is Python's own
for command in COMMANDS:
    app.command(_NAMED.get(command))(answers_interrupts(command))


@app.callback(invoke_without_command=True)
def farm(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """Tessera, a Blender render farm: a frame rendered in pieces is the frame rendered whole.

    \b
    Start here:
      farm doctor               is everything here?
      farm render shot.blend    render, on the farm that runs or on this machine
      farm verify JOB           prove that its frames are those rendered whole
      farm up                   start a farm that stays, with its page

    Every command takes --help. Exit codes: 0 done, 1 failed, 2 the call could not be read,
    130 interrupted. With --json a command prints one JSON object on stdout, also when it fails
    (error, cure, code); what is said to people then goes to stderr.
    """
    if version:
        typer.echo(f"tessera {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run the command with ``arguments`` and give its exit code. No error escapes as a traceback.

    FARM_DEBUG=1 lets them through, for whoever develops Tessera.
    """
    as_json = "--json" in arguments
    speaker = Speaker(as_json)
    try:
        code = app(list(arguments), prog_name="farm", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except TesseraError as error:
        return _failed(speaker, error)
    except TyperException as error:
        return _failed(speaker, _usage(error)) if error.exit_code == 2 else error.exit_code
    except typer.Abort:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads; end quietly
        return 1
    except Exception as error:
        if os.environ.get("FARM_DEBUG"):
            raise
        return _failed(
            speaker,
            TesseraError(
                f"Tessera met a fault of its own: {type(error).__name__}: {error}".rstrip(": "),
                "Run it again with FARM_DEBUG=1 and report what it prints.",
            ),
        )


def _failed(speaker: Speaker, error: TesseraError) -> int:
    if os.environ.get("FARM_DEBUG"):
        raise error
    if speaker.as_json:
        speaker.give(problem(error))
    speaker.fail(error)
    return error.exit_code


def _usage(error: TyperException) -> UsageError:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "farm"
    what = error.format_message().rstrip()
    if (extra := _EXTRA.search(what)) and path.endswith(("render", "submit")):
        return UsageError(
            f"“{extra[1]}” is more than this command takes.",
            "Write a frame range as one word, such as 1-10, and quote names with spaces.",
        )
    return UsageError(what, f"See: {path} --help")


def main() -> None:
    """Run the command that was typed, and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an odd terminal must not break a message
    end_as_interrupt()
    sys.exit(run(sys.argv[1:]))
