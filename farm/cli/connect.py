"""Which farm a command speaks to, and a farm of its own where none runs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pydantic import ValidationError

from farm.cli.speaker import Speaker
from farm.client.client import FarmClient
from farm.domain.errors import BadInput, TesseraError, Unavailable
from farm.domain.states import JOB_ENDED
from farm.settings import Settings, farm_home

if TYPE_CHECKING:
    from types import ModuleType

    from farm.embedded.stack import RunningFarm


#: Packages of the head; a machine with none of them is a client.
_HEAD = ("ray", "fastapi", "sqlalchemy", "boto3")


def settings(**given: object) -> Settings:
    """The settings, flags first; raises `BadInput` where the environment or the file is wrong."""
    cure = f"Correct the environment variable, or {farm_home() / 'config.toml'}."
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        where = "FARM_" + "__".join(str(part) for part in first["loc"]).upper()
        raise BadInput(f"The setting {where} is wrong: {first['msg']}.", cure) from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"The farm's config.toml cannot be read: {error}.", cure) from None


def only_client() -> bool:
    """Whether nothing of the head is installed here, as on an artist's machine."""
    return all(find_spec(name) is None for name in _HEAD)


def stack() -> ModuleType:
    """The room that runs a farm on this machine; raises `BadInput` where it cannot run one."""
    if only_client():
        raise BadInput(
            "Only the client is installed here, and it cannot run a farm.",
            'Install the whole: pip install "tessera[head,worker]", or name a farm with --farm URL.',
        )
    try:
        from farm.embedded import stack as module
    except ImportError as error:
        raise BadInput(
            f"This machine cannot run a farm: {error.name} is missing.",
            "A farm runs on Linux; name one elsewhere with --farm URL, or FARM_URL.",
        ) from None
    return module


def running() -> RunningFarm | None:
    """The farm that runs in `FARM_HOME`, if any."""
    try:
        module = stack()
    except BadInput:
        return None
    found: RunningFarm | None = module.running(settings().home)
    return found


def find(url: str | None) -> str | None:
    """The address of the farm meant: flag, `FARM_URL` or config.toml, or the one running here."""
    if chosen := url or settings().url:
        return chosen
    here = running()
    if here is not None and not here.ready:  # it is starting: this waits for it
        here = stack().start(settings())
    return here.url if here else None


@contextmanager
def reached(url: str | None) -> Iterator[FarmClient]:
    """A client of the farm meant; raises `Unavailable` where there is none."""
    found = find(url)
    if found is None:
        raise Unavailable(
            "No farm runs on this machine.", "Start one with: farm up, or name one with --farm URL."
        )
    with FarmClient(found) as client:
        yield client


@contextmanager
def reached_or_started(url: str | None, speaker: Speaker) -> Iterator[tuple[FarmClient, bool]]:
    """As `reached`, but starts a farm on this machine where none runs, and ends it afterwards.

    Gives the client and whether the farm is such a one. It is left up where somebody else's job
    came to it meanwhile.
    """
    if found := find(url):
        with FarmClient(found) as client:
            yield client, False
        return
    module, chosen = stack(), settings()
    speaker.say("Starting a farm for this render …")
    used = False
    try:
        own: RunningFarm = module.start(chosen)
        try:
            with FarmClient(own.url) as client:
                yield client, True
        finally:
            used = _still_used(own.url)
    finally:
        if used:
            speaker.note("Another job uses the farm that was started, so it stays up. End it with: farm down")
        else:
            module.stop(chosen.home)


def _still_used(url: str) -> bool:
    with suppress(TesseraError), FarmClient(url, patience=1) as client:
        return any(job.state not in JOB_ENDED and not job.cancelling for job in client.jobs())
    return False
