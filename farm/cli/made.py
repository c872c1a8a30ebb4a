"""How a frame was made: who tried what, what came of it, and of which bytes."""

from __future__ import annotations

from farm.cli.speaker import Speaker
from farm.cli.words import duration, number
from farm.domain.states import AttemptState
from farm.domain.telling import memory
from farm.domain.views import AttemptView, Provenance

_HASH = 16  # digits of a SHA-256 that tell files apart; --json has all
_FILES = 20
_PARTS = ("fetch", "load", "sync", "render", "save", "store")


def tell_made(speaker: Speaker, told: Provenance) -> None:
    """For people, or with --json as it is."""
    if speaker.as_json:
        speaker.give(told.model_dump(mode="json"))
        return
    speaker.say(f"Frame {told.frame} of job {told.job_id}: {told.state}")
    for attempt in told.attempts:
        _tell(speaker, attempt, attempt.id in told.counts)
    if not told.attempts:
        speaker.say("Nobody has tried it yet.")
    if told.adds_to is not None:
        speaker.say(f"{'adds to':<10}job {told.adds_to}, which made the samples before")
    speaker.say(f"{'scene':<10}{told.scene_id[:_HASH]}…")
    for name, sha256 in list(told.files.items())[:_FILES]:
        speaker.say(f"{'':<10}{sha256[:_HASH]}…  {name}")
    if (more := len(told.files) - _FILES) > 0:
        speaker.say(f"{'':<10}and {number(more, 'file')} more; --json lists all")


def _tell(speaker: Speaker, attempt: AttemptView, counts: bool) -> None:
    took = "" if attempt.ended is None else f" after {duration(attempt.ended - attempt.started)}"
    beside = attempt.state is AttemptState.DONE and not counts
    word = "not used" if beside else attempt.state.value
    speaker.say(f"{word:<10}{attempt.words} on {attempt.worker_id}{took}")
    lines = _failed(attempt) if attempt.what else _made(attempt)
    for line in lines:
        speaker.say(f"{'':<10}{line}")


def _failed(attempt: AttemptView) -> list[str]:
    cause = "" if attempt.cause is None else f"{attempt.cause.value}: "
    return [f"{cause}{attempt.what}", *([attempt.cure] if attempt.cure else [])]


def _made(attempt: AttemptView) -> list[str]:
    made = attempt.made
    if made is None:
        return []
    by = [str(made.render_class)] if made.render_class is not None else []
    by += [made.device_name] if made.device_name else []
    by += [f"driver {made.driver}"] if made.driver else []
    by += [f"seed {made.seed}"] if made.seed is not None else []
    parts = [f"{part} {duration(attempt.seconds[part])}" for part in _PARTS if attempt.seconds.get(part)]
    parts += [f"at most {memory(made.peak_memory)} of memory"] if made.peak_memory else []
    return [", ".join(line) for line in (by, parts) if line] + list(made.notes)
