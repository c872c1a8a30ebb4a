"""`farm status`: whether a farm runs, where, what it does, and which of its parts is not well."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import typer

from farm.cli.connect import find, running, settings
from farm.cli.options import AsJson, FarmUrl
from farm.cli.speaker import Speaker, problem
from farm.cli.words import number
from farm.client.client import FarmClient
from farm.domain.errors import TesseraError, Unavailable
from farm.domain.telling import memory, money, quoted
from farm.domain.views import FarmView, WorkerView
from farm.domain.work import WorkerInfo

if TYPE_CHECKING:
    from farm.embedded.stack import RunningFarm
    from farm.embedded.state import Part


def status(as_json: AsJson = False, farm: FarmUrl = None) -> None:
    """Tell whether a farm runs, where, and what it does. Ends with 1 where none answers.

    Of the farm on this machine the parts are listed too: storage, Ray, dispatcher, page. For one
    that keeps failing it says what the part said last, and what to do.

    \b
    Example:
      farm status

    With --json: running, url, pid, home and parts (of the farm on this machine; each part with
    name, phase, pid, restarts, since, log, last), and the farm's pulse: version, dispatcher,
    storage, workers, failed (workers that cannot start: worker_id, why, since), rendering, waiting.
    """
    speaker = Speaker(as_json)
    here = running()
    starting = here is not None and not here.ready and farm is None
    url = here.url if here is not None and starting else find(farm)
    if here is not None and here.url != url:
        here = None  # another farm is meant
    told = _told(url, here)
    try:
        pulse = _pulse(url, starting)
    except TesseraError as error:
        if as_json:
            speaker.give(told | problem(error))
        speaker.fail(error)
        _tell_parts(speaker, here)
        raise typer.Exit(error.exit_code) from None
    if as_json:
        speaker.give(told | {"running": True} | pulse.model_dump(mode="json"))
    speaker.say(f"A farm runs at {url} (Tessera {pulse.version}).")
    _tell_pulse(speaker, pulse)
    _tell_parts(speaker, here)


def _told(url: str | None, here: RunningFarm | None) -> dict[str, Any]:
    """For --json: what is known without asking the farm."""
    return {
        "running": False,
        "url": url,
        "pid": None if here is None else here.pid,
        "home": str(settings().home if here is None else here.home),
        "parts": [] if here is None else [part.model_dump(mode="json") for part in here.parts],
    }


def _pulse(url: str | None, starting: bool) -> FarmView:
    if starting:
        raise Unavailable("The farm on this machine is starting or ending.", "Ask again in a moment.")
    if url is None:
        raise Unavailable(
            "No farm runs on this machine.", "Start one with: farm up, or name one with --farm URL."
        )
    with FarmClient(url) as client:
        return client.farm()


def _tell_pulse(speaker: Speaker, pulse: FarmView) -> None:
    jobs = f"{number(pulse.rendering, 'job')} rendering, {pulse.waiting} waiting"
    speaker.say(f"{jobs}; dispatcher {pulse.dispatcher}, storage {pulse.storage}.")
    for worker in pulse.workers:
        speaker.say(_worker(worker))
    for failed in pulse.failed:
        speaker.say(f"  {failed.worker_id}  cannot start: {failed.why}")
    if not (pulse.workers or pulse.failed):
        speaker.say("It has no workers yet.")


def _worker(worker: WorkerView) -> str:
    info, doing = worker.info, worker.state
    if worker.attempt is not None:
        doing = f"{worker.attempt.words} of job {worker.job_id}"
    elif worker.state == "aside":
        doing = "set aside"
    why = f": {worker.why}" if worker.why and worker.attempt is None else f". {worker.why}" * bool(worker.why)
    return f"  {info.worker_id}  {_machine(info)}: {doing}{why}"


def _machine(info: WorkerInfo) -> str:
    """What it is: “NVIDIA H200, 141 GiB, “rtx”, 3.50 an hour”."""
    parts = [info.device_name or info.device]
    parts += [memory(info.gpu_memory)] if info.gpu_memory else []
    parts += [quoted(info.tags)] if info.tags else []
    parts += [f"{money(info.price)} an hour"] if info.price else []
    return ", ".join(parts)


def _tell_parts(speaker: Speaker, here: RunningFarm | None) -> None:
    """A line a part; for one that keeps failing its last words and the cure as well."""
    for part in here.parts if here is not None else ():
        ails = part.ails(time.time())
        again = f", started again {number(part.restarts, 'time')}" if part.restarts else ""
        phase = "keeps failing" if ails else part.phase.value
        speaker.say(f"  {part.name:<11} {phase}{again}")
        if ails:
            _tell_trouble(speaker, part)


def _tell_trouble(speaker: Speaker, part: Part) -> None:
    from farm.embedded.logs import last_words  # only a farm on this machine has parts

    said, cure = last_words(part.last)
    for line in (said, cure, f"The whole log is in {part.log}; “farm doctor” checks this machine."):
        if line:
            speaker.say(f"{'':<14}{line}")
