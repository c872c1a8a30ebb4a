"""The farm's verbs, over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Self
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter

from farm.client.again import Again, again
from farm.client.connection import PATIENCE, Connection
from farm.client.delivery import is_there, save, taken
from farm.client.upload import Progress, send_lacking
from farm.domain.control import ControlChange
from farm.domain.errors import Unavailable
from farm.domain.events import EventKind
from farm.domain.job import JobSpec
from farm.domain.scene import SceneManifest
from farm.domain.states import JOB_ENDED
from farm.domain.views import (
    AttemptView,
    EventView,
    FarmView,
    FramesRequest,
    FrameView,
    JobView,
    LimitRequest,
    OutputView,
    ProofView,
    Provenance,
    SceneRef,
    UserView,
    Verification,
    VerifyRequest,
)

#: Frames that the API gives at once, at most, and proofs.
FRAMES_AT_ONCE = 1000
PROOFS_AT_ONCE = 200

_BREATH = 0.2
_TRIES = 3
_MANY = 100  # events in a bunch that say there are more

_JOBS = TypeAdapter(list[JobView])
_FRAMES = TypeAdapter(list[FrameView])
_ATTEMPTS = TypeAdapter(list[AttemptView])
_EVENTS = TypeAdapter(list[EventView])
_PROOFS = TypeAdapter(list[ProofView])
_USERS = TypeAdapter(list[UserView])


class FarmClient:
    """A client of the farm at ``url``; safe to share between threads, to be closed after use.

    Every method raises an error of `farm.domain.errors`: `Unavailable` where the farm is away,
    and whatever the farm itself answers. See `Connection` for when calls are repeated.
    """

    def __init__(
        self,
        url: str,
        *,
        patience: float = PATIENCE,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._sleep = sleep
        self._line = Connection(url, patience=patience, transport=transport, clock=clock, sleep=sleep)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._line.close()

    @property
    def url(self) -> str:
        return str(self._line.url)

    def farm(self) -> FarmView:
        """The farm's pulse."""
        return self._line.ask(FarmView, "GET", "/api/farm")

    def upload_scene(
        self,
        manifest: SceneManifest,
        root: Path,
        progress: Progress | None = None,
        elsewhere: Mapping[str, Path] | None = None,
    ) -> SceneRef:
        """Send the files of ``manifest`` that the farm lacks, then register it.

        They lie under ``root``, but for those whose place ``elsewhere`` tells by their name.
        """
        send_lacking(self._line, manifest, root, progress, elsewhere)
        return self._line.ask(SceneRef, "POST", "/api/scenes", json=manifest.model_dump(mode="json"))

    def submit(self, spec: JobSpec) -> JobView:
        """Start a job. Not repeated once sent: a lost answer must not become a second job."""
        return self._line.ask(JobView, "POST", "/api/jobs", again=False, json=spec.model_dump(mode="json"))

    def jobs(self, limit: int = 100, before: str | None = None) -> list[JobView]:
        """The newest jobs first; ``before`` is a job id to go on from."""
        params = {"limit": limit} | ({} if before is None else {"before": before})
        return self._line.ask(_JOBS, "GET", "/api/jobs", params=params)

    def job(self, job_id: str) -> JobView:
        return self._line.ask(JobView, "GET", f"/api/jobs/{_part(job_id)}")

    def cancel(self, job_id: str) -> JobView:
        return self._line.ask(JobView, "POST", f"/api/jobs/{_part(job_id)}/cancel")

    def change(self, job_id: str, asked: ControlChange) -> JobView:
        """Have a job dispatched otherwise from now on: priority, pause, start, limit, needs, dependencies."""
        body = asked.model_dump(mode="json", exclude_none=True)
        return self._line.ask(JobView, "PATCH", f"/api/jobs/{_part(job_id)}", json=body)

    def retry(self, job_id: str) -> JobView:
        """Go on with what is missing of a job that came to nothing; of an open one, with what failed."""
        return self._line.ask(JobView, "POST", f"/api/jobs/{_part(job_id)}/retry")

    def requeue(self, job_id: str, frames: str | None = None) -> JobView:
        """Begin frames of an open job again: those of ``frames`` that run or failed; None: all that failed.

        Not repeated once sent: what has begun again by then would begin once more.
        """
        body = FramesRequest(frames=frames).model_dump(mode="json")
        path = f"/api/jobs/{_part(job_id)}/requeue"
        return self._line.ask(JobView, "POST", path, again=False, json=body)

    def limits(self) -> list[UserView]:
        """All users, and how many workers each may have at once."""
        return self._line.ask(_USERS, "GET", "/api/limits")

    def limit(self, user_id: str, workers: int | None) -> UserView:
        """Let all jobs of a user have so many workers at once; None: as many as there are."""
        body = LimitRequest(workers=workers).model_dump(mode="json")
        return self._line.ask(UserView, "PUT", f"/api/limits/{_part(user_id)}", json=body)

    def rerender(
        self,
        job_id: str,
        *,
        samples: int | None = None,
        frames: str | None = None,
        tiles: str | None = None,
        priority: int | None = None,
    ) -> tuple[JobView, Again]:
        """Start a job as `again` makes it of this one, with what is not None changed."""
        asked = again(self.job(job_id), samples, frames, tiles, priority)
        return self.submit(asked.spec), asked

    def verify(self, job_id: str, frames: str | None = None, priority: int | None = None) -> Verification:
        """Start a job that proves frames of this one; without ``frames`` all that are done.

        Its `job` is None where there is nothing to prove. Not repeated once sent, as `submit`.
        """
        return self._line.ask(
            Verification,
            "POST",
            f"/api/jobs/{_part(job_id)}/verify",
            again=False,
            json=VerifyRequest(frames=frames, priority=priority).model_dump(mode="json"),
        )

    def proofs(self, job_id: str) -> Iterator[ProofView]:
        """The latest proof of each verified frame, or those that a verification made, by frame."""
        return self._pages(_PROOFS, f"/api/jobs/{_part(job_id)}/proofs", PROOFS_AT_ONCE)

    def frames(self, job_id: str) -> Iterator[FrameView]:
        """All frames in ascending order, without their tiles, fetched page by page."""
        return self._pages(_FRAMES, f"/api/jobs/{_part(job_id)}/frames", FRAMES_AT_ONCE)

    def _pages[T](self, kind: TypeAdapter[list[T]], path: str, count: int) -> Iterator[T]:
        first = 0
        while True:
            page = self._line.ask(kind, "GET", path, params={"first": first, "count": count})
            yield from page
            first += len(page)
            if len(page) < count:
                return

    def frame(self, job_id: str, frame: int) -> FrameView:
        """One frame, with its tiles."""
        return self._line.ask(FrameView, "GET", f"/api/jobs/{_part(job_id)}/frames/{frame}")

    def provenance(self, job_id: str, frame: int) -> Provenance:
        """How a frame was made: each try, by what, and of which files."""
        return self._line.ask(Provenance, "GET", f"/api/jobs/{_part(job_id)}/frames/{frame}/provenance")

    def attempts(self, job_id: str, *, failed: bool = True) -> list[AttemptView]:
        return self._line.ask(
            _ATTEMPTS,
            "GET",
            f"/api/jobs/{_part(job_id)}/attempts",
            params={"failed": "true" if failed else "false"},
        )

    def events(self, after: int = 0, job_id: str | None = None, wait: float = 0) -> list[EventView]:
        """Events with a sequence above ``after``; waits up to ``wait`` seconds (≤ 30) for the first."""
        params: dict[str, str | int | float] = {"after": after, "wait": wait}
        if job_id is not None:
            params["job"] = job_id
        return self._line.ask(_EVENTS, "GET", "/api/events", params=params, timeout=wait + 30)

    def follow(self, job_id: str, wait: float = 15) -> Iterator[list[EventView]]:
        """The job's events from its first on, in bunches, until it has ended and all are told.

        An empty bunch comes every ``wait`` seconds without news, so that a watcher can look up.
        Bunches come no closer than `_BREATH` seconds while the job goes on.
        """
        after, ended = 0, False
        while True:
            events = self.events(after, job_id, wait=0 if ended else wait)
            yield events
            if ended and not events:
                return
            if events:
                after = events[-1].sequence
            if ended:
                continue
            # Asked after the events, so that what came before the end is told by one more call.
            if not events or any(event.kind == EventKind.JOB_STATE for event in events):
                ended = self.job(job_id).state in JOB_ENDED
            if not ended and len(events) < _MANY:
                self._sleep(_BREATH)

    def download(self, output: OutputView, path: Path, *, overwrite: bool = False) -> bool:
        """Bring ``output`` to ``path``, whole and verified; False where it lay there already.

        Raises `Conflict` where something else lies there and ``overwrite`` is False. A transfer that
        breaks or arrives damaged is tried again, `_TRIES` times in all.
        """
        if is_there(output, path):
            return False
        if not overwrite and (path.exists() or path.is_symlink()):
            raise taken(path)
        for last in (*(False,) * (_TRIES - 1), True):
            try:
                with self._line.stream(f"/api/outputs/{output.id}") as pieces:
                    save(pieces, output, path, overwrite)
                break
            except Unavailable:
                if last:
                    raise
        return True


def _part(job_id: str) -> str:
    """A job id as one part of a URL, whatever a person typed."""
    return quote(job_id, safe="")
