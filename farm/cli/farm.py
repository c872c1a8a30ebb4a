"""`farm up`, `farm down`, `farm status`: the farm on this machine, or any other's pulse."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from farm.cli.connect import find, running, settings, stack
from farm.cli.options import AsJson, FarmUrl
from farm.cli.speaker import Speaker, problem
from farm.cli.words import number
from farm.client.client import FarmClient
from farm.domain.errors import Unavailable
from farm.domain.views import FarmView, WorkerView

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
    ran = module.running(chosen.home) is not None
    if not ran:
        speaker.say("Starting the farm …")
    here = module.start(chosen, workers=workers, on_step=speaker.say)
    told = "The farm runs already." if ran else "The farm is up."
    if as_json:
        speaker.give({"url": here.url, "pid": here.pid, "home": str(here.home)})
    speaker.say(f"{told} Its page: {here.url}")
    speaker.say("End it with: farm down")


def down(as_json: AsJson = False) -> None:
    """End the farm on this machine, with everything it started. Its jobs are kept.

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


def status(as_json: AsJson = False, farm: FarmUrl = None) -> None:
    """Tell whether a farm runs, where, and what it does. Ends with 1 where none answers.

    \b
    Example:
      farm status

    With --json: running, url, pid and home (of the farm on this machine), and the farm's pulse:
    version, dispatcher, storage, workers, rendering, waiting.
    """
    speaker = Speaker(as_json)
    here = running()
    url = here.url if here is not None and not here.ready and farm is None else find(farm)
    told: dict[str, Any] = {"running": False, "url": url, "pid": None, "home": str(settings().home)}
    if here is not None and here.url == url:
        told |= {"pid": here.pid, "home": str(here.home)}
    try:
        if here is not None and not here.ready and farm is None:
            raise Unavailable("The farm on this machine is starting or ending.", "Ask again in a moment.")
        if url is None:
            raise Unavailable(
                "No farm runs on this machine.", "Start one with: farm up, or name one with --farm URL."
            )
        with FarmClient(url) as client:
            pulse = client.farm()
    except Unavailable as error:
        if as_json:
            speaker.give(told | problem(error))
        speaker.fail(error)
        raise typer.Exit(error.exit_code) from None
    if as_json:
        speaker.give(told | {"running": True} | pulse.model_dump(mode="json"))
    _tell(speaker, url, pulse)


def _tell(speaker: Speaker, url: str, pulse: FarmView) -> None:
    speaker.say(f"A farm runs at {url} (Tessera {pulse.version}).")
    jobs = f"{number(pulse.rendering, 'job')} rendering, {pulse.waiting} waiting"
    speaker.say(f"{jobs}; dispatcher {pulse.dispatcher}, storage {pulse.storage}.")
    for worker in pulse.workers:
        speaker.say(_worker(worker))
    if not pulse.workers:
        speaker.say("It has no workers yet.")


def _worker(worker: WorkerView) -> str:
    info, doing = worker.info, worker.state
    if worker.attempt is not None:
        doing = f"{worker.attempt.words} of job {worker.job_id}"
    return f"  {info.worker_id}  {info.device_name or info.device}: {doing}"
