"""The API of the farm that renders nothing."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from pydantic import TypeAdapter, ValidationError

from farm import __version__
from farm.client.testing.farm import Call, FakeFarm
from farm.domain.control import Control, ControlChange
from farm.domain.errors import BadInput, Conflict, NotFound, TesseraError, Unavailable
from farm.domain.events import EventKind
from farm.domain.frames import FrameRange
from farm.domain.job import JobSpec
from farm.domain.scene import Blob, SceneManifest
from farm.domain.states import JOB_ENDED, AttemptState, JobState, TaskState
from farm.domain.views import (
    BlobQuery,
    EventView,
    FarmView,
    FramesRequest,
    FrameView,
    JobView,
    LimitRequest,
    Provenance,
    SceneRef,
    Verification,
    VerifyRequest,
)

type Answer = tuple[int, str, bytes]  # status, media type, body


class Api:
    """Answers calls from a `FakeFarm`, as the web process does from the real one."""

    def __init__(self, farm: FakeFarm) -> None:
        self._farm = farm

    def answer(self, call: Call) -> Answer:
        """Status, media type and body for a call."""
        self._farm.calls.append(call)
        try:
            if self._farm.away > 0:
                self._farm.away -= 1
                raise Unavailable("The database does not answer.", "Wait a moment.")
            for method, pattern, handler in self._routes():
                found = re.fullmatch(pattern, call.path)
                if found and method == call.method:
                    return handler(call, *map(unquote, found.groups()))
            raise NotFound(f"There is nothing at {call.path}.")
        except TesseraError as error:
            return error.status, "application/problem+json", error.problem().model_dump_json().encode()
        except ValidationError as error:
            told = BadInput(str(error))
            return told.status, "application/problem+json", told.problem().model_dump_json().encode()

    def _routes(self) -> list[tuple[str, str, Callable[..., Answer]]]:
        job = "/api/jobs/([^/]+)"
        return [
            ("GET", "/api/farm", self._pulse),
            ("POST", "/api/blobs/missing", self._missing),
            ("PUT", "/api/blobs/([^/]+)", self._put),
            ("POST", "/api/scenes", self._register),
            ("POST", "/api/jobs", self._submit),
            ("GET", "/api/jobs", self._listed),
            ("GET", job, lambda _, job_id: _json(self._found(job_id))),
            ("PATCH", job, self._change),
            ("POST", f"{job}/cancel", self._cancel),
            ("POST", f"{job}/retry", self._retry),
            ("POST", f"{job}/requeue", self._requeue),
            ("GET", "/api/limits", lambda _: _json(list(self._farm.users.values()))),
            ("PUT", "/api/limits/([^/]+)", self._limit),
            ("POST", f"{job}/verify", self._verify),
            ("GET", f"{job}/proofs", self._proofs),
            ("GET", f"{job}/frames", self._frames),
            ("GET", f"{job}/frames/(-?[0-9]+)", self._frame),
            ("GET", f"{job}/frames/(-?[0-9]+)/provenance", self._provenance),
            ("GET", f"{job}/attempts", self._attempts),
            ("GET", "/api/outputs/([0-9]+)", self._output),
            ("GET", "/api/events", self._after),
        ]

    def _pulse(self, call: Call) -> Answer:
        del call
        workers, failed = tuple(self._farm.workers), tuple(self._farm.failed)
        return _json(FarmView(version=__version__, dispatcher="alive", workers=workers, failed=failed))

    def _found(self, job_id: str) -> JobView:
        if job_id not in self._farm.jobs:
            raise NotFound(f"There is no job {job_id} on this farm.", "“farm jobs” lists the jobs there are.")
        return self._farm.jobs[job_id]

    def _missing(self, call: Call) -> Answer:
        asked = BlobQuery.model_validate_json(call.body)
        return _json(BlobQuery(sha256=tuple(one for one in asked.sha256 if one not in self._farm.blobs)))

    def _put(self, call: Call, sha256: str) -> Answer:
        if hashlib.sha256(call.body).hexdigest() != sha256:
            raise BadInput("The bytes are not those that were announced.", "Send them again.")
        self._farm.blobs[sha256] = call.body
        return _json(Blob(sha256=sha256, bytes=len(call.body)), 201)

    def _register(self, call: Call) -> Answer:
        manifest = SceneManifest.model_validate_json(call.body)
        if any(blob.sha256 not in self._farm.blobs for blob in manifest.files.values()):
            raise BadInput("Files of this scene are missing.", "Send them first.")
        self._farm.scenes[manifest.scene_id] = manifest
        return _json(SceneRef(scene_id=manifest.scene_id))

    def _submit(self, call: Call) -> Answer:
        spec = JobSpec.model_validate_json(call.body)
        if spec.scene_id not in self._farm.scenes:
            raise BadInput("The farm does not have this scene.", "Send the scene first.")
        if spec.adds_to is not None:
            self._found(spec.adds_to)
        self._check_after(spec.control)
        return _json(self._begun(spec).model_copy(update={"notes": tuple(self._farm.notes)}), 201)

    def _begun(self, spec: JobSpec) -> JobView:
        job = JobView(
            id=f"job{len(self._farm.jobs) + 1}",
            name=spec.name,
            owner="local",
            state=JobState.WAITING,
            scene_id=spec.scene_id,
            settings=spec.settings,
            control=spec.control,
            created=time.time(),
            proves=spec.proves,
            adds_to=spec.adds_to,
        )
        self._farm.jobs[job.id] = job
        if spec.proves is not None:
            self._farm.plan(job.id, str(spec.settings.frames))
        threading.Thread(target=self._farm.on_submit, args=(job.id,), daemon=True).start()
        return self._farm.jobs[job.id]

    def _verify(self, call: Call, job_id: str) -> Answer:
        asked, job = VerifyRequest.model_validate_json(call.body), self._found(job_id)
        if job.state not in JOB_ENDED:
            raise Conflict(f"Job {job_id} has not ended yet: it is {job.state}.", "Wait for its end.")
        if job.plan is None or job.plan.pieces_per_frame == 0:
            return _json(Verification(reason=f"Nothing to prove: the frames of job {job_id} were never cut."))
        settings = job.settings.model_copy(update={"frames": asked.frames or job.plan.frames})
        control = Control() if asked.priority is None else Control(priority=asked.priority)
        spec = JobSpec(
            name=f"proof of {job.name}",
            scene_id=job.scene_id,
            settings=settings,
            control=control,
            proves=job.id,
        )
        return _json(Verification(job=self._begun(spec)), 201)

    def _proofs(self, call: Call, job_id: str) -> Answer:
        job = self._found(job_id)
        of = self._farm.proofs.get(job.proves or job_id, {})
        found = [of[frame] for frame in sorted(of) if job.proves is None or of[frame].by_job == job_id]
        first = int(call.query.get("first", 0))
        return _json(found[first : first + int(call.query.get("count", 200))])

    def _listed(self, call: Call) -> Answer:
        found = list(reversed(self._farm.jobs.values()))
        return _json(found[: int(call.query.get("limit", 100))])

    def _cancel(self, call: Call, job_id: str) -> Answer:
        del call
        job = self._found(job_id)
        if job.state in JOB_ENDED:
            raise Conflict(f"Job {job_id} is {job.state} already.", "There is nothing left to cancel.")
        self._farm.change(job_id, cancelling=True)
        if self._farm.cancels:
            self._farm.end(job_id, JobState.CANCELLED)
        return _json(self._farm.jobs[job_id])

    def _check_after(self, control: Control) -> None:
        for name in control.after:
            if name not in self._farm.jobs:
                raise BadInput(
                    f"There is no job {name} on this farm to wait for.",
                    "“farm jobs” lists the jobs there are.",
                )

    def _change(self, call: Call, job_id: str) -> Answer:
        asked, job = ControlChange.model_validate_json(call.body), self._found(job_id)
        if job.state in JOB_ENDED:
            raise Conflict(f"Job {job_id} is {job.state} already.", "Render it once more.")
        control = asked.applied(job.control)
        self._check_after(control)
        self._farm.change(job_id, control=control)
        self._farm.tell(EventKind.JOB_CONTROL, job_id, control=control.model_dump(mode="json"))
        return _json(self._farm.jobs[job_id].model_copy(update={"notes": tuple(self._farm.notes)}))

    def _retry(self, call: Call, job_id: str) -> Answer:
        del call
        job = self._found(job_id)
        if job.state is JobState.DONE:
            raise Conflict(
                f"Job {job_id} is done: nothing of it is missing.",
                f"Render it once more with: farm rerender {job_id}",
            )
        if job.state in JOB_ENDED:
            self._farm.change(job_id, retrying=True)
        else:
            self._again(job_id, None)
        return _json(self._farm.jobs[job_id])

    def _requeue(self, call: Call, job_id: str) -> Answer:
        asked, job = FramesRequest.model_validate_json(call.body), self._found(job_id)
        if job.state in JOB_ENDED:
            raise Conflict(f"Job {job_id} has ended: it is {job.state}.", f"farm retry {job_id}")
        self._again(job_id, asked.frames)
        return _json(self._farm.jobs[job_id])

    def _again(self, job_id: str, asked: str | None) -> None:
        wanted = None if asked is None else FrameRange.parse(asked)
        states = {TaskState.FAILED} if wanted is None else {TaskState.FAILED, TaskState.RUNNING}
        frames = self._farm.frames.get(job_id, {})
        again = [
            n for n, frame in frames.items() if frame.state in states and (wanted is None or n in wanted)
        ]
        if not again:
            raise Conflict(f"No frame of job {job_id} has failed.", "Name frames that render.")
        for number in again:
            frames[number] = FrameView(frame=number, state=TaskState.WAITING)
        self._farm.change(job_id)

    def _limit(self, call: Call, user_id: str) -> Answer:
        asked = LimitRequest.model_validate_json(call.body)
        if user_id not in self._farm.users:
            raise NotFound(
                f"There is no user {user_id} on this farm.", "“farm limits” lists the users there are."
            )
        user = self._farm.users[user_id].model_copy(update={"workers": asked.workers})
        self._farm.users[user_id] = user
        return _json(user)

    def _provenance(self, call: Call, job_id: str, frame: str) -> Answer:
        self._frame(call, job_id, frame)
        tries = [one for one in self._farm.attempts.get(job_id, []) if one.task.split("/")[1] == frame]
        job = self._farm.jobs[job_id]
        manifest = self._farm.scenes[job.scene_id]
        told = Provenance(
            job_id=job_id,
            frame=int(frame),
            state=self._farm.frames[job_id][int(frame)].state,
            scene_id=job.scene_id,
            files={name: blob.sha256 for name, blob in manifest.files.items()},
            adds_to=job.adds_to,
            attempts=tuple(tries),
            counts=tuple(one.id for one in tries if one.state is AttemptState.DONE),
        )
        return _json(told)

    def _frames(self, call: Call, job_id: str) -> Answer:
        self._found(job_id)
        found = list(self._farm.frames.get(job_id, {}).values())
        first = int(call.query.get("first", 0))
        return _json(found[first : first + int(call.query.get("count", 200))])

    def _frame(self, call: Call, job_id: str, frame: str) -> Answer:
        del call
        if self._found(job_id).plan is None:
            raise Conflict(f"Job {job_id} has no frames yet.", "Wait until its scene was read.")
        if int(frame) not in self._farm.frames.get(job_id, {}):
            raise NotFound(f"Job {job_id} has no frame {frame}.")
        return _json(self._farm.frames[job_id][int(frame)])

    def _attempts(self, call: Call, job_id: str) -> Answer:
        del call
        self._found(job_id)
        return _json(self._farm.attempts.get(job_id, []))

    def _output(self, call: Call, output_id: str) -> Answer:
        del call
        if int(output_id) not in self._farm.outputs:
            raise NotFound(f"There is no output {output_id}.")
        output, data = self._farm.outputs[int(output_id)]
        if self._farm.damaged > 0:
            self._farm.damaged -= 1
            data = bytes([data[0] ^ 1]) + data[1:]
        return 200, output.media_type, data

    def _after(self, call: Call) -> Answer:
        after, job_id = int(call.query.get("after", 0)), call.query.get("job")

        def found() -> list[EventView]:
            return [one for one in self._farm.events[after:] if job_id in (None, one.job_id)][:500]

        with self._farm.news:
            self._farm.news.wait_for(found, timeout=float(call.query.get("wait", 0)))
            return _json(found())


def _json(value: object, status: int = 200) -> Answer:
    return status, "application/json", TypeAdapter(Any).dump_json(value)
