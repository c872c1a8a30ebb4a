"""Jobs: submit, look, cancel."""

from __future__ import annotations

from farm.domain.errors import BadInput, Conflict, UsageError
from farm.domain.events import EventKind
from farm.domain.job import JobSpec, Principal, new_id
from farm.domain.states import JOB_ENDED
from farm.domain.views import JobView, RecutView
from farm.service import additions, dependencies, notes, wishes
from farm.service.context import Farm
from farm.service.describe import describe_jobs, found
from farm.store import events, jobs, scenes
from farm.store.events import IntentKind

#: Frames that were cut again of which a job tells, the latest.
_RECUTS = 20


def submit(farm: Farm, who: Principal, spec: JobSpec) -> JobView:
    """Accept a job; raises `BadInput` where its scene is not here, and as the checks of
    `additions` and `dependencies` do.
    """
    if spec.proves is not None:  # its plan comes from the job that it proves
        raise UsageError(
            "A proof cannot be submitted as a job.", f"Ask for it with: farm verify {spec.proves}"
        )
    job_id = new_id()
    with farm.store.write() as connection:
        if not scenes.is_known(connection, spec.scene_id):
            raise BadInput("The farm does not have this scene.", "Send the scene first, then submit the job.")
        additions.check(connection, spec)
        dependencies.check(connection, spec.control, wishes.asked(connection))
        jobs.add(connection, job_id, who, spec, farm.now())
        view = describe_jobs(connection, [found(connection, job_id)])[0]
        return view.model_copy(
            update={"notes": notes.of(connection, spec.control, spec.settings.device, farm.now())}
        )


def listed(farm: Farm, who: Principal, limit: int = 100, before: str | None = None) -> list[JobView]:
    """Jobs, newest first; ``before`` is the id of the last one seen."""
    del who
    with farm.store.read() as connection:
        last_seen = None if before is None else found(connection, before)
        return describe_jobs(connection, jobs.listed(connection, limit, last_seen))


def get(farm: Farm, who: Principal, job_id: str) -> JobView:
    """One job, with what was cut again of its frames; raises `NotFound`."""
    del who
    with farm.store.read() as connection:
        view = describe_jobs(connection, [found(connection, job_id)])[0]
        told = events.of_kind(connection, EventKind.FRAME_RECUT, job_id, _RECUTS)
        recuts = tuple(
            RecutView.model_validate({"frame": one.data["frame"], "time": one.time, "why": one.data["why"]})
            for one in told
        )
        return view.model_copy(update={"recuts": recuts})


def cancel(farm: Farm, who: Principal, job_id: str) -> JobView:
    """Ask the dispatcher to stop a job. Raises `Conflict` where it has ended; asking twice is fine."""
    del who
    with farm.store.write() as connection:
        job = found(connection, job_id)
        waiting = wishes.asked(connection, job_id)
        if job.state in JOB_ENDED and job_id not in waiting.retrying:
            raise Conflict(f"Job {job_id} is {job.state} already.", "There is nothing left to cancel.")
        if job_id not in waiting.cancelling:
            events.leave_intent(connection, farm.now(), job_id, IntentKind.CANCEL)
        return describe_jobs(connection, [job])[0]
