"""`farm doctor`: is everything here that a farm needs?"""

from __future__ import annotations

import platform
from dataclasses import dataclass

import typer

from farm import __version__
from farm.cli.connect import find, only_client, settings
from farm.cli.options import AsJson, FarmUrl
from farm.cli.speaker import Speaker
from farm.client.client import FarmClient
from farm.domain.errors import TesseraError


@dataclass(frozen=True, slots=True)
class Line:
    """One thing looked at. ``ok`` is None where it is missing and not needed."""

    name: str
    ok: bool | None
    what: str
    cure: str = ""


def doctor(as_json: AsJson = False, farm: FarmUrl = None) -> None:
    """Check that this machine has all that a farm needs.

    Python, Blender and its libraries, GPU and driver, storage, Ray, the farm that runs. Each line
    is ok, or says what to do. Ends with 1 where something that is needed is missing.

    \b
    Example:
      farm doctor

    With --json: ok, checks (each with name, ok, what, cure; ok is null where it is optional).
    """
    speaker = Speaker(as_json)
    lines = [*_machine(), *_farm(farm)]
    healthy = all(line.ok is not False for line in lines)
    if as_json:
        checks = [{"name": line.name, "ok": line.ok, "what": line.what, "cure": line.cure} for line in lines]
        speaker.give({"ok": healthy, "checks": checks})
    for line in lines:
        word = {True: "ok", False: "fail", None: "note"}[line.ok]
        speaker.say(f"{word:<5} {line.name}: {line.what}")
        if line.cure and line.ok is not True:
            speaker.say(f"      {line.cure}")
    if not healthy:
        raise typer.Exit(1)


def _machine() -> list[Line]:
    if only_client():
        return [
            Line("Python", True, platform.python_version()),
            Line("Tessera", True, f"{__version__}, the client"),
            Line(
                "Farm on this machine",
                None,
                "only the client is installed here.",
                'To render on this machine: pip install "tessera[head,worker]"',
            ),
        ]
    from farm.embedded.doctor import checkup

    return [Line(one.name, one.ok, one.what, one.cure) for one in checkup(settings())]


def _farm(url: str | None) -> list[Line]:
    found = find(url)
    if found is None:
        return [Line("Running farm", None, "none runs on this machine.", "Start one with: farm up")]
    try:
        with FarmClient(found) as client:
            pulse = client.farm()
    except TesseraError as error:
        return [Line("Running farm", False, error.what, error.cure)]
    return [Line("Running farm", True, f"{found}, Tessera {pulse.version}, {len(pulse.workers)} workers")]
