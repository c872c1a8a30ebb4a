"""`farm up`, `farm down`: the farm on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from farm.cli.connect import settings, stack
from farm.cli.options import AsJson
from farm.cli.speaker import Speaker

Workers = Annotated[
    int | None,
    typer.Option(min=1, max=1024, metavar="N", help="Workers. Without it: one a GPU, or one for the CPU."),
]
Port = Annotated[
    int | None, typer.Option(min=1, max=65535, metavar="PORT", help="Of the page. Without it: a free one.")
]


def up(workers: Workers = None, port: Port = None, as_json: AsJson = False) -> None:
    """Start a farm on this machine and leave it running.

    Its state lives in FARM_HOME; a farm that is started again finds the jobs it had. It listens
    on this machine only.

    \b
    Examples:
      farm up
      farm up --workers 2 --port 8300

    With --json: url, pid, home.
    """
    speaker = Speaker(as_json)
    chosen, module = settings(port=port), stack()
    found = module.running(chosen.home)
    ran = found is not None and found.ready
    if not ran:
        speaker.say("Starting the farm …")
    here = module.start(chosen, workers=workers, on_step=None if ran else speaker.say)
    told = "The farm runs already." if ran else "The farm is up."
    if as_json:
        speaker.give({"url": here.url, "pid": here.pid, "home": str(here.home)})
    speaker.say(f"{told} Its page: {here.url}")
    speaker.say("End it with: farm down")


def down(as_json: AsJson = False) -> None:
    """End the farm on this machine. Its jobs are kept.

    Everything that it started ends with it; frames that are being rendered are rendered again when
    the farm is next started.

    \b
    Example:
      farm down

    With --json: stopped (false where none ran).
    """
    speaker = Speaker(as_json)
    home = settings().home
    stopped: bool = stack().stop(home)
    if as_json:
        speaker.give({"stopped": stopped})
    speaker.say(
        "The farm has ended. Its jobs are kept for the next one." if stopped else "No farm runs here."
    )
