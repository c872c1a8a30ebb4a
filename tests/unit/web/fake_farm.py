"""A farm in memory: `web.services.Services` with jobs that tests move on step by step."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from farm.domain.control import ControlChange
from farm.domain.errors import BadInput, Conflict, NotFound, TesseraError
from farm.domain.events import EventKind
from farm.domain.frames import FrameRange
from farm.domain.job import LOCAL_OWNER, JobSpec, Principal, RenderSettings
from farm.domain.plan import Plan
from farm.domain.scene import Blob, Finding, LayerReport, SceneManifest, SceneReport
from farm.domain.states import JOB_ENDED, AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.views import (
    AttemptView,
    BlobQuery,
    EventView,
    FailedWorker,
    FarmView,
    FrameCounts,
    FramesRequest,
    FrameView,
    JobView,
    LimitRequest,
    OutputView,
    ProofView,
    Provenance,
    SceneRef,
    TileView,
    UserView,
    Verification,
    VerifyRequest,
    WorkerView,
)
from farm.domain.work import Progress, Proof, RenderClass, Role, WorkerInfo

SCENE_ID = "5c" * 32
CLASS = RenderClass(blender="5.2.3 e13b728c6880", device="CPU", kernel="avx2")


def report(**changes: object) -> SceneReport:
    """A scene of 1920 × 1080 pixels and 128 samples, as an inspection tells it."""
    told: dict[str, object] = {
        "scene": "Scene",
        "scenes": ("Scene",),
        "camera": "Camera",
        "cameras": ("Camera",),
        "frame_start": 1,
        "frame_end": 24,
        "full_width": 1920,
        "full_height": 1080,
        "percentage": 100,
        "engine": "CYCLES",
        "samples": 128,
        "layers": (LayerReport(name="ViewLayer", passes=("Combined", "Depth", "CryptoObject00")),),
        "file_format": "PNG",
        "output_name": "shot_####",
        "file_version": "5.2.0",
        "blender": "5.2.3",
        "load_seconds": 1.8,
    }
    return SceneReport.model_validate(told | changes)


@dataclass
class _Job:
    view: JobView
    frames: dict[int, FrameView] = field(default_factory=dict)
    attempts: list[AttemptView] = field(default_factory=list)


class FakeFarm:
    """Reads behave as the service documents; the rest of the methods is the dispatcher's part, by hand."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.all: dict[str, _Job] = {}
        self.proved: dict[str, dict[int, ProofView]] = {}
        self.rows: list[EventView] = []
        self.stored: dict[int, tuple[OutputView, bytes]] = {}
        self.blobs: dict[str, bytes] = {}
        self.scenes: set[str] = {SCENE_ID}
        self.workers: list[WorkerView] = []
        self.failed: list[FailedWorker] = []
        self.users = {"local": UserView(id="local", name="local")}
        self.notes: tuple[str, ...] = ()  # told with the answer to a change
        self.requeued: list[tuple[str, str | None]] = []
        self.dispatcher, self.storage = "alive", "ok"
        self.trouble: Exception | None = None  # raised by every call
        self.storage_trouble: TesseraError | None = None  # raised when bytes are read
        self.reads = 0  # of the event table
        self.chunks: list[int] = []  # sizes of the pieces of the last upload

    # --- the service's verbs ---

    def submit(self, who: Principal, spec: JobSpec) -> JobView:
        self._ready()
        if spec.scene_id not in self.scenes:
            raise NotFound("The farm has no such scene.", "Register the scene first.")
        made = self.add(spec.name, owner=who.name, settings=spec.settings, adds_to=spec.adds_to)
        self._set(self._job(made.id), control=spec.control)
        return self.job(who, made.id)

    def jobs(self, who: Principal, limit: int, before: str | None) -> list[JobView]:
        self._ready()
        with self.lock:
            newest = [self._view(job) for job in reversed(self.all.values())]
        if before is not None:
            ids = [job.id for job in newest]
            if before not in ids:
                raise NotFound(f"There is no job {before}.", "“farm jobs” lists the jobs there are.")
            newest = newest[ids.index(before) + 1 :]
        return newest[:limit]

    def job(self, who: Principal, job_id: str) -> JobView:
        self._ready()
        return self._view(self._job(job_id))

    def cancel(self, who: Principal, job_id: str) -> JobView:
        job = self._job(job_id)
        if job.view.state in JOB_ENDED:
            raise Conflict(f"Job {job_id} is {job.view.state} already.", "There is nothing to cancel.")
        with self.lock:
            job.view = job.view.model_copy(update={"cancelling": True})
            self.event(EventKind.JOB_STATE, job_id, state=job.view.state.value, error="", cure="")
        return self._view(job)

    def change(self, who: Principal, job_id: str, asked: ControlChange) -> JobView:
        job = self._job(job_id)
        if job.view.state in JOB_ENDED:
            raise Conflict(f"Job {job_id} is {job.view.state} already.", "Render it once more.")
        with self.lock:
            self._set(job, control=asked.applied(job.view.control))
            self.event(EventKind.JOB_CONTROL, job_id, control=job.view.control.model_dump(mode="json"))
        return self._view(job).model_copy(update={"notes": self.notes})

    def retry(self, who: Principal, job_id: str) -> JobView:
        job = self._job(job_id)
        if job.view.state is JobState.DONE:
            raise Conflict(f"Job {job_id} is done: nothing of it is missing.", "Render it once more.")
        with self.lock:
            if job.view.state in JOB_ENDED:
                self._set(job, state=JobState.WAITING, error="", cure="", ended=None)
                self.event(EventKind.JOB_STATE, job_id, state="waiting", error="", cure="")
            self.requeued.append((job_id, None))
        return self._view(job)

    def requeue(self, who: Principal, job_id: str, asked: FramesRequest) -> JobView:
        self.requeued.append((job_id, asked.frames))
        return self._view(self._job(job_id))

    def limits(self, who: Principal) -> list[UserView]:
        return list(self.users.values())

    def limit(self, who: Principal, user_id: str, asked: LimitRequest) -> UserView:
        if user_id not in self.users:
            raise NotFound(f"There is no user {user_id}.", "“farm limits” lists the users there are.")
        self.users[user_id] = self.users[user_id].model_copy(update={"workers": asked.workers})
        return self.users[user_id]

    def provenance(self, who: Principal, job_id: str, frame: int) -> Provenance:
        seen = self.frame(who, job_id, frame)
        tries = [one for one in self._job(job_id).attempts if one.task.split("/")[1] == str(frame)]
        return Provenance(
            job_id=job_id,
            frame=frame,
            state=seen.state,
            scene_id=SCENE_ID,
            files={"shot.blend": "ab" * 32},
            attempts=tuple(tries),
            counts=tuple(one.id for one in tries if one.state is AttemptState.DONE),
        )

    def frames(self, who: Principal, job_id: str, first: int, count: int) -> list[FrameView]:
        self._ready()
        with self.lock:
            frames = list(self._job(job_id).frames.values())[first : first + count]
        return [frame.model_copy(update={"tiles": ()}) for frame in frames]

    def frame(self, who: Principal, job_id: str, frame: int) -> FrameView:
        self._ready()
        found = self._job(job_id).frames.get(frame)
        if found is None:
            raise NotFound(f"Job {job_id} has no frame {frame}.", "“farm show” lists its frames.")
        return found

    def attempts(self, who: Principal, job_id: str, failed: bool) -> list[AttemptView]:
        self._ready()
        bad = (AttemptState.FAILED, AttemptState.LOST)
        with self.lock:
            return [tried for tried in self._job(job_id).attempts if not failed or tried.state in bad]

    def verify(self, who: Principal, job_id: str, asked: VerifyRequest) -> Verification:
        job = self._job(job_id).view
        if job.state not in JOB_ENDED:
            raise Conflict(f"Job {job_id} has not ended yet: it is {job.state}.", "Wait for its end.")
        if job.plan is None or job.plan.pieces_per_frame == 0:
            return Verification(reason=f"Nothing to prove: the frames of job {job_id} were never cut.")
        made = self.add(f"proof of {job.name}", proves=job_id)
        self.plan(made.id, asked.frames or job.plan.frames, scene=job.report, reason="compared")
        return Verification(job=self.job(who, made.id))

    def proofs(
        self, who: Principal, job_id: str, first: int, count: int, worst_first: bool = False
    ) -> list[ProofView]:
        job = self._job(job_id).view
        of = self.proved.get(job.proves or job_id, {})
        found = [of[frame] for frame in sorted(of) if job.proves is None or of[frame].by_job == job_id]
        if worst_first:
            found.sort(key=lambda view: view.proof.exact)
        return found[first : first + count]

    def proof(self, who: Principal, job_id: str, frame: int) -> ProofView | None:
        return self.proved.get(self._job(job_id).view.proves or job_id, {}).get(frame)

    def missing_blobs(self, who: Principal, query: BlobQuery) -> BlobQuery:
        return BlobQuery(sha256=tuple(name for name in query.sha256 if name not in self.blobs))

    def put_blob(self, who: Principal, sha256: str, chunks: Iterable[bytes]) -> Blob:
        pieces = list(chunks)
        self.chunks = [len(piece) for piece in pieces]
        content = b"".join(pieces)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise BadInput("The bytes that came are not the ones announced.", "Send the file again.")
        self.blobs[sha256] = content
        return Blob(sha256=sha256, bytes=len(content))

    def register_scene(self, who: Principal, manifest: SceneManifest) -> SceneRef:
        self.scenes.add(manifest.scene_id)
        return SceneRef(scene_id=manifest.scene_id)

    def output(self, who: Principal, output_id: int) -> OutputView:
        self._ready()
        if output_id not in self.stored:
            raise NotFound(f"There is no output {output_id}.", "Look at the job for its outputs.")
        return self.stored[output_id][0]

    def stream_output(self, who: Principal, output_id: int, start: int = 0) -> Iterator[bytes]:
        content = self.stored[output_id][1][start:]
        if self.storage_trouble is not None:
            raise self.storage_trouble
        for start in range(0, len(content), 1 << 16):
            yield content[start : start + (1 << 16)]

    def events_after(self, who: Principal, sequence: int, job_id: str | None, limit: int) -> list[EventView]:
        self._ready()
        self.reads += 1
        if job_id is not None:
            self._job(job_id)
        with self.lock:
            return [row for row in self.rows if row.sequence > sequence and job_id in (None, row.job_id)][
                :limit
            ]

    def latest_event(self) -> int:
        self._ready()
        with self.lock:
            return self.rows[-1].sequence if self.rows else 0

    def pulse(self, who: Principal) -> FarmView:
        self._ready()
        states = [job.view.state for job in list(self.all.values())]
        return FarmView(
            version="0.1.0",
            workers=tuple(self.workers),
            failed=tuple(self.failed),
            rendering=states.count(JobState.RENDERING),
            waiting=states.count(JobState.WAITING),
            dispatcher=self.dispatcher,
            storage=self.storage,
        )

    # --- the dispatcher's part ---

    def add(
        self,
        name: str,
        job_id: str | None = None,
        owner: str = "local",
        settings: RenderSettings | None = None,
        age: float = 0.0,
        proves: str | None = None,
        adds_to: str | None = None,
    ) -> JobView:
        view = JobView(
            id=job_id or f"job{len(self.all) + 1:05d}",
            name=name,
            owner=owner,
            state=JobState.WAITING,
            scene_id=SCENE_ID,
            settings=settings or RenderSettings(),
            created=time.time() - age,
            proves=proves,
            adds_to=adds_to,
        )
        with self.lock:
            self.all[view.id] = _Job(view)
            self.event(EventKind.JOB_STATE, view.id, state="waiting", error="", cure="")
        return view

    def plan(
        self,
        job_id: str,
        frames: str = "1-24",
        grid: str | None = None,
        overlap: int = 0,
        reason: str = "24 frames on 2 workers: whole frames",
        scene: SceneReport | None = None,
        **more: object,
    ) -> None:
        with self.lock:
            job = self._job(job_id)
            size = (scene or report()).size(job.view.settings.scale)
            told = {"frames": frames, "width": size.width, "height": size.height, "grid": grid}
            plan = Plan.model_validate(told | {"overlap": overlap, "reason": reason} | more)
            job.frames = {
                frame: FrameView(frame=frame, state=TaskState.WAITING, tiles=_tiles(plan))
                for frame in FrameRange.parse(frames)
            }
            self._set(
                job,
                state=JobState.RENDERING,
                plan=plan,
                report=scene or report(),
                started=job.view.created + 2,
            )
            self.event(EventKind.JOB_PLANNED, job_id, reason=reason, total=len(job.frames))

    def end(
        self, job_id: str, state: JobState, error: str = "", cure: str = "", after: float = 240.0
    ) -> None:
        with self.lock:
            job = self._job(job_id)
            started = job.view.started or job.view.created
            self._set(
                job,
                state=state,
                error=error,
                cure=cure,
                started=started,
                ended=started + after,
                left=None,
            )
            self.event(EventKind.JOB_STATE, job_id, state=state.value, error=error, cure=cure)

    def set(self, job_id: str, **changes: object) -> None:
        with self.lock:
            job = self._job(job_id)
            self._set(job, **changes)
            self.event(EventKind.JOB_STATE, job_id, state=job.view.state.value, error="", cure="")

    def frame_state(self, job_id: str, frame: int, state: TaskState, **more: object) -> None:
        with self.lock:
            job = self._job(job_id)
            job.frames[frame] = job.frames[frame].model_copy(update={"state": state, **more})
            seen = job.frames[frame]
            self.event(
                EventKind.FRAME_STATE,
                job_id,
                frame=frame,
                state=state.value,
                finishing=seen.finishing,
                seconds=seen.seconds,
            )

    def tile(self, job_id: str, frame: int, index: int, state: TaskState, **more: object) -> None:
        with self.lock:
            job = self._job(job_id)
            old = job.frames[frame]
            tiles = [
                tile.model_copy(update={"state": state, **more}) if tile.index == index else tile
                for tile in old.tiles
            ]
            job.frames[frame] = old.model_copy(update={"tiles": tuple(tiles)})
            self.event(EventKind.TILE_STATE, job_id, frame=frame, tile=index, state=state.value)

    def progress(self, job_id: str, frame: int, sample: int, samples: int, tile: int | None = None) -> None:
        seen = Progress(phase="rendering", sample=sample, samples=samples)
        with self.lock:
            job = self._job(job_id)
            if tile is None:
                job.frames[frame] = job.frames[frame].model_copy(update={"progress": seen})
            else:
                tiles = list(job.frames[frame].tiles)
                tiles[tile] = tiles[tile].model_copy(update={"progress": seen})
                job.frames[frame] = job.frames[frame].model_copy(update={"tiles": tuple(tiles)})
            kind = TaskKind.FRAME if tile is None else TaskKind.TILE
            key = TaskKey(job_id, kind, frame, tile)
            self.event(
                EventKind.ATTEMPT_PROGRESS,
                job_id,
                task=str(key),
                attempt="a1",
                frame=frame,
                tile=tile,
                phase="rendering",
                sample=sample,
                samples=samples,
            )

    def store(
        self,
        name: str,
        content: bytes,
        media_type: str = "image/jpeg",
        role: Role = Role.PREVIEW,
    ) -> OutputView:
        with self.lock:
            view = OutputView(
                id=len(self.stored) + 1,
                role=role,
                name=name,
                bytes=len(content),
                sha256=hashlib.sha256(content).hexdigest(),
                media_type=media_type,
            )
            self.stored[view.id] = (view, content)
        return view

    def finish(self, job_id: str, frame: int, picture: bytes, seconds: float = 12.0) -> None:
        """Commit a frame with its preview and a PNG (here the same bytes)."""
        preview = self.store(f"preview_{frame:04d}.jpg", picture)
        output = self.store(f"shot_{frame:04d}.png", picture, "image/png", Role.OUTPUT)
        with self.lock:
            job = self._job(job_id)
            for stored in (output, preview):
                self.event(
                    EventKind.OUTPUT_COMMITTED,
                    job_id,
                    frame=frame,
                    output_id=stored.id,
                    role=stored.role.value,
                    name=stored.name,
                    bytes=stored.bytes,
                    sha256=stored.sha256,
                )
            self.frame_state(
                job_id,
                frame,
                TaskState.DONE,
                finishing=False,
                progress=None,
                seconds=seconds,
                preview=preview.id,
                outputs=(output, preview),
            )
            self._set(job, preview=preview.id)

    def film(self, job_id: str, name: str, content: bytes, media_type: str = "video/mp4") -> OutputView:
        """Commit a movie of the job's frames."""
        movie = self.store(name, content, media_type, Role.VIDEO)
        with self.lock:
            job = self._job(job_id)
            self._set(job, videos=(*job.view.videos, movie))
            told = movie.model_dump(mode="json", include={"role", "name", "bytes", "sha256"})
            self.event(EventKind.OUTPUT_COMMITTED, job_id, frame=None, output_id=movie.id, **told)
        return movie

    def prove(self, job_id: str, proof: Proof) -> None:
        """The verification ``job_id`` found this of a frame; told to those who look at the job it proves."""
        with self.lock:
            job = self._job(job_id)
            of = job.view.proves or job_id
            view = ProofView(frame=proof.frame, by_job=job_id, time=time.time(), proof=proof)
            self.proved.setdefault(of, {})[proof.frame] = view
            for told in {of, job_id}:
                known = self.proofs(LOCAL_OWNER, told, 0, 1000)
                differing = sum(not one.proof.exact for one in known)
                self._set(self._job(told), verified=len(known), differing=differing)
            if proof.frame in job.frames:
                self.frame_state(job_id, proof.frame, TaskState.DONE, seconds=proof.seconds)
            self.event(EventKind.FRAME_VERIFIED, of, frame=proof.frame, by_job=job_id, exact=proof.exact)

    def fail_attempt(self, job_id: str, task: TaskKey, what: str, cure: str = "", **more: object) -> None:
        told: dict[str, object] = {
            "id": f"try{len(self._job(job_id).attempts) + 1}",
            "task": str(task),
            "words": task.words,
            "state": AttemptState.FAILED,
            "worker_id": "node-4-cpu-0",
            "started": time.time() - 90,
            "ended": time.time() - 60,
            "what": what,
            "cure": cure,
        }
        with self.lock:
            self._job(job_id).attempts.append(AttemptView.model_validate(told | more))
            self.event(
                EventKind.ATTEMPT_FAILED,
                job_id,
                task=str(task),
                words=task.words,
                attempt=str(told["id"]),
                worker="node-4-cpu-0",
                cause="crash",
                what=what,
                cure=cure,
                retry=True,
            )

    def add_worker(self, host: str, state: str = "idle", job_id: str | None = None, **more: object) -> None:
        told: dict[str, object] = {
            "worker_id": f"{host}-cpu-0",
            "host": host,
            "pid": 4242,
            "device": "CPU",
            "device_name": "AMD EPYC 9654 96-Core Processor",
            "threads": 32,
            "memory": 128_000_000_000,
            "render_class": CLASS,
            "sandboxed": True,
        }
        attempt, why = more.pop("attempt", None), more.pop("why", "")
        info = WorkerInfo.model_validate(told | more)
        with self.lock:
            self.workers.append(
                WorkerView.model_validate(
                    {"info": info, "state": state, "why": why, "job_id": job_id, "attempt": attempt}
                )
            )
            self.event(EventKind.WORKER_STATE, None, worker=info.worker_id, state=state)

    def event(self, kind: EventKind, job_id: str | None, **data: object) -> None:
        with self.lock:
            last = self.rows[-1].sequence if self.rows else 0
            self.rows.append(
                EventView(sequence=last + 1, time=time.time(), job_id=job_id, kind=kind.value, data=data)
            )

    # --- inside ---

    def _ready(self) -> None:
        if self.trouble is not None:
            raise self.trouble

    def _job(self, job_id: str) -> _Job:
        self._ready()
        try:
            return self.all[job_id]
        except KeyError:
            raise NotFound(f"There is no job {job_id}.", "“farm jobs” lists the jobs there are.") from None

    def _set(self, job: _Job, **changes: object) -> None:
        job.view = JobView.model_validate(job.view.model_dump() | changes)

    def _view(self, job: _Job) -> JobView:
        states = [frame.state for frame in list(job.frames.values())]
        counts = FrameCounts(
            total=len(states),
            waiting=states.count(TaskState.WAITING),
            running=states.count(TaskState.RUNNING),
            done=states.count(TaskState.DONE),
            failed=states.count(TaskState.FAILED),
            cancelled=states.count(TaskState.CANCELLED),
        )
        return job.view.model_copy(update={"frames": counts})


def finding(code: str, weight: str, what: str, cure: str = "") -> Finding:
    return Finding.model_validate({"code": code, "weight": weight, "what": what, "cure": cure})


def _tiles(plan: Plan) -> tuple[TileView, ...]:
    cuts = [plan.piece(index) for index in range(plan.pieces_per_frame)]
    return tuple(
        TileView(
            index=cut.tile.index,
            state=TaskState.WAITING,
            x=cut.tile.core.x,
            y=cut.tile.core.y,
            width=cut.tile.core.width,
            height=cut.tile.core.height,
            samples=None if (part := cut.samples) is None else (part.first, part.first + part.count),
        )
        for cut in cuts
    )
