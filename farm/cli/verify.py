"""`farm verify`: prove that frames rendered in pieces are the frames rendered whole."""

from __future__ import annotations

from typing import Annotated

import typer

from farm.cli.cancel import cancel_and_wait
from farm.cli.connect import reached
from farm.cli.follow import Follower
from farm.cli.options import AsJson, FarmUrl, JobId
from farm.cli.progress import Display
from farm.cli.proving import alike, sentence, table
from farm.cli.speaker import Speaker, problem
from farm.cli.wishes import OtherPriority
from farm.cli.words import number
from farm.client.client import FarmClient
from farm.domain.errors import BadInput, Conflict, TesseraError
from farm.domain.proved import uncompared, unnumbered
from farm.domain.views import JobView, ProofView

Some = Annotated[
    str | None,
    typer.Option(metavar="RANGE", help="Frames to verify, such as 7 or 1-10. Without it: all that are done."),
]


def verify(
    job_id: JobId,
    frames: Some = None,
    priority: OtherPriority = None,
    as_json: AsJson = False,
    farm: FarmUrl = None,
) -> None:
    """Prove that a job's frames are those that one Blender renders whole.

    Each frame is rendered once more, whole, in plain Blender on one worker of the same kind, by code
    that knows nothing of pieces; then every pass and every file is compared. Ends with 0 where all are
    the same, and with 1 on any difference, or where a frame could not be verified.

    Of one frame, and of each that differs, all that was compared is listed. Frames that were never cut
    have nothing to prove. Ctrl-C cancels the verification, not the job.

    \b
    Examples:
      farm verify k3m9x2ab
      farm verify k3m9x2ab --frames 1,12

    With --json: job, proof (the id of the job that verified), state, exact, and frames (each with
    frame, exact, render_class, seconds, tolerance and rows: kind, name, part, same, pixels,
    differing, largest, note); error, cure and code too where it is not all the same.
    """
    speaker = Speaker(as_json)
    with reached(farm) as client:
        asked = client.verify(job_id, frames, priority)
        if asked.job is None:
            if as_json:
                speaker.give({"job": job_id, "proof": None, "state": None, "exact": True, "frames": []})
            speaker.say(asked.reason)
            return
        job, failure = _followed(client, asked.job, speaker)
        proofs = list(client.proofs(job.id))
        kept = client.job(job_id).settings.keep_exr
    failure = failure or _verdict(job, proofs, kept)
    if as_json:
        told = {
            "job": job_id,
            "proof": job.id,
            "state": job.state.value,
            "exact": failure is None,
            "frames": [_as_json(one) for one in proofs],
        }
        speaker.give(told | (problem(failure) if failure is not None else {}))
    for group in alike(one.proof for one in proofs):
        if len(proofs) == 1 or not group[0].exact:
            speaker.draw(table(group[0]))
        speaker.say(sentence(group))
    if not kept and any(row.kind == "pass" for one in proofs for row in uncompared(one.proof)):
        speaker.note("Submit with --keep-exr to have every pass compared.")
    if failure is not None:
        speaker.fail(failure)
        raise typer.Exit(130 if isinstance(failure, _Interrupted) else failure.exit_code)


class _Interrupted(Conflict):
    """Ctrl-C came before all was verified."""


def _followed(client: FarmClient, job: JobView, speaker: Speaker) -> tuple[JobView, TesseraError | None]:
    """The verification at its end, and what kept it from one."""
    speaker.say(f"Job {job.id} verifies {number(job.frames.total, 'frame')} of job {job.proves}")
    follower = Follower(client, job, speaker, done="verified")
    try:
        with Display(speaker) as display:
            outcome = follower.to_the_end(display)
    except KeyboardInterrupt:
        speaker.note(f"Cancelling job {job.id} …")
        ended = cancel_and_wait(client, job)
        what = f"Interrupted. {number(len(follower.outcome.delivered), 'frame')} verified."
        return ended, _Interrupted(what, f"Verify again with: farm verify {job.proves}")
    return outcome.job, outcome.problem()


def _verdict(job: JobView, proofs: list[ProofView], kept: bool) -> TesseraError | None:
    """The error where frames differ, or where not all that was asked for was proved."""
    differing = [one for one in proofs if not one.proof.exact]
    if not differing:
        lacking = job.frames.total - len(proofs)
        return None if not lacking else _replaced(job, lacking)
    verb = "differs" if len(differing) == 1 else "differ"
    what = f"{len(differing)} of {number(len(proofs), 'frame')} {verb} from what is rendered whole."
    if not kept and any(unnumbered(one.proof) for one in differing):
        return BadInput(what, "Submit with --keep-exr to have the differences of passes in numbers.")
    return BadInput(
        what, f"“farm show {job.proves}” lists what may break exactness; where it lists nothing, report this."
    )


def _replaced(job: JobView, lacking: int) -> TesseraError:
    return Conflict(
        f"{number(lacking, 'frame')} of job {job.proves} got another proof meanwhile.",
        f"Verify again with: farm verify {job.proves}",
    )


def _as_json(one: ProofView) -> dict[str, object]:
    return one.proof.model_dump(mode="json") | {"exact": one.proof.exact}
