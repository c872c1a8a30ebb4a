"""Plays a farm against the core: applies instructions to a model of the database and checks it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import count

from farm.dispatch import events as told
from farm.dispatch import instructions as do
from farm.dispatch.core import Core
from farm.dispatch.ladder import MAX_FAILURES
from farm.dispatch.policy import unknown_ahead
from farm.dispatch.state import Earlier, Job, State
from farm.domain.control import Control
from farm.domain.job import Device, RenderSettings
from farm.domain.plan import Plan, Recut, SampleRange
from farm.domain.scene import Blob, LayerReport, SceneManifest, SceneReport
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import (
    Cause,
    Failure,
    Order,
    PieceRef,
    Proof,
    RenderClass,
    Result,
    Role,
    Row,
    Seconds,
    StoredFile,
    WorkerInfo,
)
from tests.unit.dispatch.invariants import check_choice, check_counts

AVX2 = RenderClass(blender="5.2.3 abc", device="CPU", kernel="avx2")
SSE = RenderClass(blender="5.2.3 abc", device="CPU", kernel="sse42")
#: Frames as they come, so that tests are easy to read.
TURN = Control(order="turn")
MANIFEST = SceneManifest(main="a.blend", files={"a.blend": Blob(sha256="0" * 64, bytes=1)})


def report(**changes: object) -> SceneReport:
    """A plain Cycles scene of 24 frames at 640×360."""
    values: dict[str, object] = {
        "scene": "Scene",
        "scenes": ("Scene",),
        "camera": "Camera",
        "cameras": ("Camera",),
        "frame_start": 1,
        "frame_end": 24,
        "full_width": 640,
        "full_height": 360,
        "percentage": 100,
        "engine": "CYCLES",
        "samples": 64,
        "file_format": "PNG",
        "layers": (LayerReport(name="ViewLayer", passes=("Combined",)),),
    }
    return SceneReport.model_validate(values | changes)


def worker(name: str, device: str = "CPU", render_class: RenderClass = AVX2, **more: object) -> WorkerInfo:
    values: dict[str, object] = {
        "worker_id": name,
        "host": "host",
        "pid": 1,
        "device": device,
        "device_name": device,
        "threads": 1,
        "memory": 1,
        "render_class": render_class,
        "sandboxed": True,
    }
    return WorkerInfo.model_validate(values | more)


def stored(role: Role, name: str) -> StoredFile:
    return StoredFile(role=role, name=name, key=f"key/{name}", blob=Blob(sha256="1" * 64, bytes=1))


def piece_at(tile: int, key: str, render_class: RenderClass = AVX2) -> PieceRef:
    return PieceRef(tile=tile, key=key, blob=stored(Role.PIECE, "x").blob, render_class=render_class)


_ROLES = {TaskKind.TILE: Role.PIECE, TaskKind.ENCODE: Role.VIDEO}


def good_result(order: Order, render_class: RenderClass, differing: int = 0) -> Result:
    """What a worker of this class makes of an order, if all goes well; stored where the order says."""
    if order.kind is TaskKind.INSPECT:
        return Result(report=report(), render_class=render_class, seconds=Seconds(total=2.0))
    frame = TaskKey.parse(order.task).frame or 0
    settled = order.render_class if order.kind is TaskKind.FINISH else None
    if order.kind is TaskKind.VERIFY:
        row = Row(kind="pass", name="ViewLayer.Combined", same=not differing, pixels=9, differing=differing)
        proof = Proof(frame=frame, render_class=render_class, rows=(row,))
        return Result(proof=proof, render_class=render_class, seconds=Seconds(total=2.0))
    # As of a scene whose pictures lie in no folder: those in folders are of File Output nodes.
    file = stored(_ROLES.get(order.kind, Role.OUTPUT), order.task.replace("/", "-"))
    return Result(
        files=(file.model_copy(update={"key": f"{order.prefix}file"}),),
        render_class=settled or render_class,
        seconds=Seconds(total=2.0),
        digests={"ViewLayer.Combined": order.attempt_id} if order.kind is TaskKind.FINISH else {},
    )


@dataclass
class Play:
    """The core, and what its instructions have made of the world so far."""

    core: Core = field(init=False)
    now: float = 1000.0
    jobs: dict[str, do.JobChanged] = field(default_factory=dict)
    frames: dict[tuple[str, int], do.FrameChanged] = field(default_factory=dict)
    tasks: dict[TaskKey, TaskState] = field(default_factory=dict)
    attempts: dict[str, AttemptState] = field(default_factory=dict)
    commits: Counter[TaskKey] = field(default_factory=Counter)
    sent: dict[str, Order] = field(default_factory=dict)  # by attempt, not yet answered
    where: dict[str, str] = field(default_factory=dict)  # worker by attempt
    cancelled: list[str] = field(default_factory=list)
    aside: dict[tuple[str, str | None], tuple[str, int]] = field(default_factory=dict)
    unstarted: dict[str, str] = field(default_factory=dict)  # workers that cannot start, and why
    probed: list[str] = field(default_factory=list)  # and not answered yet
    failures: list[do.AttemptEnded] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    anew: list[int] = field(default_factory=list)  # frames that left their render class
    keys: dict[str, TaskKey] = field(default_factory=dict)  # task by attempt
    faults: Counter[TaskKey] = field(default_factory=Counter)  # pieces that were rendered again
    plans: dict[str, Plan] = field(default_factory=dict)
    recuts: dict[tuple[str, int], tuple[Recut, ...]] = field(default_factory=dict)  # by frame
    proofs: list[do.FrameVerified] = field(default_factory=list)
    #: What other jobs can use of a job's frames: filled as frames are done, or by a test.
    left: dict[tuple[str, int], Earlier] = field(default_factory=dict)
    known: dict[tuple[str, int], Earlier] = field(default_factory=dict)  # what a job was told of the other
    pieces: dict[tuple[str, int], dict[int, PieceRef]] = field(default_factory=dict)  # by frame and number
    renders: Counter[TaskKey] = field(default_factory=Counter)  # of pieces that were found at fault
    jobs_seen: dict[str, Job] = field(default_factory=dict)
    last_in_order: dict[str, int] = field(default_factory=dict)  # the newest frame that was begun, by job
    controls: dict[str, Control] = field(default_factory=dict)
    waits: dict[str, str] = field(default_factory=dict)  # for what jobs wait, as they say
    rows: dict[tuple[str, int], TaskState] = field(default_factory=dict)  # of frames that were opened
    classes: dict[tuple[str, int], RenderClass] = field(default_factory=dict)
    devices: dict[tuple[str, int], Device | None] = field(default_factory=dict)
    counts: dict[TaskKey, tuple[int, int, int]] = field(default_factory=dict)  # failures, losses, renders
    reports: dict[str, SceneReport] = field(default_factory=dict)
    begun: list[tuple[str, str]] = field(default_factory=list)  # job and worker, in this step
    held: bool = False  # nothing is given out for now: more happens in the same turn

    def __post_init__(self) -> None:
        numbers = count(1)
        self.new_id = lambda: f"a{next(numbers)}"
        self.core = Core(State(), self.new_id)

    # --- doing ---

    def submit(
        self, job_id: str = "j1", control: Control = TURN, owner: str = "ann", **settings: object
    ) -> None:
        job = Job(job_id, self.now, MANIFEST.scene_id, MANIFEST, RenderSettings.model_validate(settings))
        job.control, job.owner = control, owner
        self.take_up(job)

    def verify(self, proves: str, frames: str, job_id: str = "v1", **settings: object) -> None:
        """Submit a job that verifies frames of another, as the service makes it: with its plan."""
        job = Job(job_id, self.now, MANIFEST.scene_id, MANIFEST, RenderSettings.model_validate(settings))
        job.control, job.proves, job.report = TURN, proves, report()
        job.plan = Plan(frames=frames, width=640, height=360, reason="verified")
        self.take_up(job)

    def add(
        self, adds_to: str, there: tuple[SampleRange, ...], job_id: str = "b1", **settings: object
    ) -> None:
        """Submit a job that adds to the samples of another."""
        job = Job(job_id, self.now, MANIFEST.scene_id, MANIFEST, RenderSettings.model_validate(settings))
        job.control, job.adds_to, job.there = TURN, adds_to, there
        self.take_up(job)

    def take_up(self, job: Job) -> None:
        self.jobs_seen[job.id] = job
        self.controls[job.id] = job.control
        self.apply(self.core.take_up(job))
        if not self.held:
            self.assign()

    def join(self, *infos: WorkerInfo) -> None:
        for info in infos:
            self.tell(told.WorkerJoined(info))

    def tell(self, event: told.Event) -> None:
        self.apply(self.core.handle(event, self.now))
        if not self.held:
            self.assign()

    def assign(self) -> None:
        for job in self.core.state.jobs.values():
            if numbers := unknown_ahead(job):
                found = self.earlier(job, numbers)
                for number, earlier in found.items():
                    self.known[job.id, number] = earlier
                    if (job.id, number) in self.pieces:  # it begins again
                        self.pieces[job.id, number] = self.taken(job.id, number)
                self.apply(self.core.handle(told.EarlierFound(job.id, found), self.now))
        self.begun.clear()
        before = Counter(k.job_id for a, k in self.keys.items() if self.attempts[a] is AttemptState.RUNNING)
        self.apply(self.core.assign(self.now))
        check_choice(self.core, self.begun, before, self.now)

    def taken(self, job_id: str, frame: int) -> dict[int, PieceRef]:
        """The pieces of a frame that are an earlier job's, as the job was told."""
        left = self.known.get((job_id, frame), Earlier())
        return {tile: ref for tile, ref in left.pieces.items() if tile < self.plans[job_id].taken}

    def earlier(self, job: Job, numbers: list[int]) -> dict[int, Earlier]:
        """What an earlier job left of these frames."""
        left = {n: self.left.get((job.proves or job.adds_to or "", n), Earlier()) for n in numbers}
        return {n: Earlier(found.render_class) for n, found in left.items()} if job.proves else left

    def orders(self, kind: TaskKind | None = None) -> list[Order]:
        return [order for order in self.sent.values() if kind is None or order.kind is kind]

    def succeed(self, order: Order, scene: SceneReport | None = None, **changes: object) -> None:
        """The worker of ``order`` reports a good result."""
        render_class = self.core.state.workers[self.where[order.attempt_id]].info.render_class
        values = good_result(order, render_class).model_dump()
        if order.kind is TaskKind.INSPECT and scene is not None:
            values["report"] = scene
        self.sent.pop(order.attempt_id, None)
        self.tell(told.Succeeded(order.attempt_id, Result.model_validate(values | changes)))

    def fail(
        self, order: Order, cause: Cause = Cause.CRASH, what: str = "Blender crashed.", **more: object
    ) -> None:
        self.sent.pop(order.attempt_id, None)
        values = {"cause": cause, "what": what, "cure": "Look."} | more
        self.tell(told.Failed(order.attempt_id, Failure.model_validate(values)))

    def blame(self, finish: Order, *pieces: int, what: str = "Piece 1 is black.") -> None:
        """A finish fails, and says which pieces are at fault."""
        self.sent.pop(finish.attempt_id, None)
        failure = Failure(cause=Cause.BAD_RESULT, what=what, pieces=pieces)
        self.tell(told.Failed(finish.attempt_id, failure))

    def answer_probe(self, worker_id: str, wrong: str | None = "") -> None:
        self.probed.remove(worker_id)
        self.tell(told.WorkerProbed(worker_id, wrong))

    def lose(self, worker_id: str) -> None:
        for attempt_id in [a for a, w in self.where.items() if w == worker_id]:
            self.sent.pop(attempt_id, None)
        self.tell(told.WorkerLost(worker_id))

    def come_back(self, info: WorkerInfo, *orders: Order) -> None:
        """A worker that was given up joins again, and goes on with what it is not told to end."""
        self.sent |= {order.attempt_id: order for order in orders}
        self.tell(told.WorkerJoined(info, tuple(order.attempt_id for order in orders)))

    def finish_all(self) -> None:
        """Every order succeeds until there is none."""
        while self.sent:
            self.succeed(next(iter(self.sent.values())))

    # --- the model ---

    def apply(self, instructions: list[do.Instruction]) -> None:
        for instruction in instructions:
            self._apply(instruction)
        self.check()
        check_counts(self.core)

    def _apply(self, instruction: do.Instruction) -> None:
        match instruction:
            case do.JobChanged():
                before = self.jobs.get(instruction.job_id, instruction).state
                assert before is not JobState.DONE
                if before in (JobState.FAILED, JobState.CANCELLED):
                    assert instruction.state is JobState.WAITING, "a job goes on that has ended"
                    if instruction.job_id not in self.plans:  # it is inspected anew
                        self.commits.pop(TaskKey(instruction.job_id, TaskKind.INSPECT), None)
                self.jobs[instruction.job_id] = instruction
            case do.JobInspected(job_id, scene):
                self.reports[job_id] = scene
            case do.JobPlanned(job_id, plan):
                assert not any(of_job == job_id for of_job, _ in self.rows), "a job is planned anew"
                self.plans[job_id] = plan
            case do.ControlSet(job_id, control):
                self.controls[job_id] = control
            case do.JobWaits(job_id, why):
                assert why != self.waits.get(job_id, ""), "it is told twice for what a job waits"
                self.waits[job_id] = why
            case do.ClassSettled(job_id, frame, render_class):
                self.classes[job_id, frame] = render_class
            case do.FrameOpened(job_id, frame, opened):
                assert (job_id, frame) not in self.rows
                assert frame == self.plans[job_id].frame_at(opened - 1)
                self.rows[job_id, frame] = TaskState.WAITING
                self.pieces[job_id, frame] = self.taken(job_id, frame)
            case do.FrameAnew(job_id, frame, why):
                self.anew.append(frame)
                self._forget_lost(job_id, frame)
                assert why
                self.rows[job_id, frame] = TaskState.WAITING
                self.recuts[job_id, frame] = instruction.recuts
                self.devices[job_id, frame] = instruction.device
                self.classes.pop((job_id, frame), None)
                self.last_in_order.pop(job_id, None)
                for key in [key for key in self.commits if (key.job_id, key.frame) == (job_id, frame)]:
                    self._take_back(key)
                open_tiles = {k.tile for k in self.open_keys(job_id) if k.frame == frame}
                taken = self.taken(job_id, frame).items()
                self.pieces[job_id, frame] = {tile: ref for tile, ref in taken if tile not in open_tiles}
                for key in [key for key in self.faults if (key.job_id, key.frame) == (job_id, frame)]:
                    del self.faults[key], self.renders[key]
            case do.PiecesAnew(job_id, frame, pieces, _):
                self._forget_lost(job_id, frame, pieces)
                for tile in pieces:
                    key = TaskKey(job_id, TaskKind.TILE, frame, tile)
                    self.faults[key] += 1
                    assert self.faults[key] < MAX_FAILURES, f"{key} is rendered for ever"
                    self.renders[key] = self.pieces[job_id, frame].pop(tile).renders
                    if key in self.commits:  # else it is an earlier job's, and stays where it is
                        self._take_back(key)
            case do.FrameRecut(job_id, frame, recuts, why):
                before = self.recuts.get((job_id, frame), ())
                assert recuts[: len(before)] == before, "pieces are numbered anew"
                assert why
                self.recuts[job_id, frame] = recuts
            case do.FrameChanged():
                self.frames[instruction.job_id, instruction.frame] = instruction
                self.rows[instruction.job_id, instruction.frame] = instruction.state
            case do.FrameVerified():
                self.proofs.append(instruction)
            case do.TaskOpened(key):
                assert self.tasks.get(key) not in (TaskState.WAITING, TaskState.RUNNING)
                self.tasks[key] = TaskState.WAITING
                self.counts[key] = 0, 0, 0
                if key.tile is not None:  # an earlier job's counts no more where it is rendered here
                    self.pieces[key.job_id, key.frame or 0].pop(key.tile, None)
            case do.TaskChanged():
                self.tasks[instruction.key] = instruction.state
                self.counts[instruction.key] = instruction.failures, instruction.losses, instruction.renders
                if instruction.state is TaskState.WAITING and instruction.key.tile is not None:
                    of_frame = self.pieces[instruction.key.job_id, instruction.key.frame or 0]
                    of_frame.pop(instruction.key.tile, None)
            case do.WorkerFailed(worker_id, why):
                self.unstarted.pop(worker_id, None)
                if why is not None:
                    self.unstarted[worker_id] = why
            case do.WorkerSetAside(worker_id, job_id, why, probes):
                self.aside.pop((worker_id, job_id), None)
                if why is not None:
                    self.aside[worker_id, job_id] = why, probes
            case do.ProbeWorker(worker_id):
                assert (worker_id, None) in self.aside
                assert self.core.state.workers[worker_id].attempt is None, "a worker at work is probed"
                assert worker_id not in self.probed, "a worker is probed twice at once"
                self.probed.append(worker_id)
            case do.AttemptStarted(attempt_id, key, worker_id):
                assert attempt_id not in self.attempts
                assert not self.aside.keys() & {(worker_id, None), (worker_id, key.job_id)}
                assert worker_id not in self.probed, "a worker that is probed is given something"
                self._check_turn(key)
                self._check_wishes(key)
                self.begun.append((key.job_id, worker_id))
                self.keys[attempt_id] = key
                self.attempts[attempt_id] = AttemptState.RUNNING
                self.where[attempt_id] = worker_id
            case do.AttemptResumed(attempt_id, key, worker_id):
                assert self.attempts[attempt_id] is AttemptState.LOST
                assert (self.keys[attempt_id], self.where[attempt_id]) == (key, worker_id)
                self._check_turn(key)
                self.attempts[attempt_id] = AttemptState.RUNNING
            case do.AttemptEnded():
                before = self.attempts[instruction.attempt_id]
                late = before is AttemptState.LOST and instruction.result is not None
                assert late or before is AttemptState.RUNNING
                self.attempts[instruction.attempt_id] = instruction.state
                if instruction.result:
                    self.commits[instruction.key] += 1
                    self._committed(instruction.key, instruction.result)
                if instruction.failure:
                    self.failures.append(instruction)
            case do.SendOrder(worker_id, order):
                self._check_order(order, self.core.state.workers[worker_id].info)
                self.sent[order.attempt_id] = order
            case do.CancelAttempt(_, attempt_id):
                self.cancelled.append(attempt_id)
                self.sent.pop(attempt_id, None)
            case do.PiecesDropped(job_id, frame):
                self.dropped.append(frame)
                left = self.left.get((job_id, frame), Earlier())
                assert not left.pieces, "pieces to which samples can be added are dropped"

    def _forget_lost(self, job_id: str, frame: int, pieces: tuple[int, ...] | None = None) -> None:
        """What comes late of these attempts counts no more."""
        for attempt_id, key in self.keys.items():
            of_frame = (key.job_id, key.frame) == (job_id, frame)
            of_piece = pieces is None or key.tile in pieces or key.kind is TaskKind.FINISH
            if of_frame and of_piece and self.attempts[attempt_id] is AttemptState.LOST:
                self.attempts[attempt_id] = AttemptState.DROPPED

    def _take_back(self, key: TaskKey) -> None:
        """What was committed counts no more."""
        del self.commits[key]
        [done] = [a for a, k in self.keys.items() if k == key and self.attempts[a] == "done"]
        self.attempts[done] = AttemptState.DROPPED

    def _committed(self, key: TaskKey, result: Result) -> None:
        if key.kind is TaskKind.TILE:
            assert key.tile is not None
            of_frame = self.pieces[key.job_id, key.frame or 0]
            assert key.tile not in of_frame
            assert result.render_class is not None
            made = piece_at(key.tile, result.files[0].key, result.render_class)
            of_frame[key.tile] = made.model_copy(update={"renders": self.renders[key] + 1})
        elif key.kind in (TaskKind.FINISH, TaskKind.FRAME):
            assert key.frame is not None
            assert result.render_class is not None
            made = [k for k in self.commits if (k.job_id, k.frame) == (key.job_id, key.frame)]
            assert [k.kind for k in made if k.kind is not TaskKind.TILE] == [key.kind], (
                "a frame is made twice"
            )
            kept = self.jobs_seen[key.job_id].keeps_pieces
            pieces = dict(self.pieces[key.job_id, key.frame]) if kept else {}
            self.left[key.job_id, key.frame] = Earlier(result.render_class, pieces)

    def _check_turn(self, key: TaskKey) -> None:
        """Frames that depend on those before are rendered one at a time, in their order."""
        plan = self.plans.get(key.job_id)
        if plan is None or not plan.in_order:
            return
        running = [k for a, k in self.keys.items() if self.attempts[a] is AttemptState.RUNNING]
        assert all(k.job_id != key.job_id for k in running), "something runs beside a frame in order"
        if key.frame is not None:
            assert key.frame >= self.last_in_order.get(key.job_id, key.frame), "a frame is out of order"
            self.last_in_order[key.job_id] = key.frame

    def _check_wishes(self, key: TaskKey) -> None:
        """Nothing is begun of a job against its users' wishes."""
        control, state = self.controls[key.job_id], self.core.state
        owner = self.jobs_seen[key.job_id].owner
        running = [k.job_id for a, k in self.keys.items() if self.attempts[a] is AttemptState.RUNNING]
        of_owner = sum(self.jobs_seen[job_id].owner == owner for job_id in running)
        assert not control.paused, "a paused job begins something"
        assert control.start is None or control.start <= self.now, "a job begins too early"
        assert control.workers is None or running.count(key.job_id) < control.workers
        assert of_owner < state.limits.get(owner, of_owner + 1)
        for other in control.after:
            if not control.frame_wise:
                assert self.jobs[other].state is JobState.DONE, "a job begins before one that it comes after"
            elif key.frame is not None:
                plan = self.plans.get(other, self.jobs_seen[other].plan)
                assert plan is not None, "a frame begins before it is known which the other job has"
                assert key.frame not in plan.frame_range or self.rows[other, key.frame] is TaskState.DONE

    def _check_order(self, order: Order, info: WorkerInfo) -> None:
        """Pieces of a frame come from one class, and a finish has them all; a proof is of that class."""
        key = TaskKey.parse(order.task)
        assert {piece.render_class for piece in order.pieces} <= {order.render_class}
        if order.kind is TaskKind.FINISH:
            assert order.plan is not None
            assert order.render_class is not None
            assert order.plan == self.plan_of(key.job_id, key.frame or 0)
            there = self.pieces[key.job_id, key.frame or 0]
            cover = order.plan.cover(there)
            assert cover is not None, "a frame is finished that has not all of its pixels"
            assert {p.tile: p for p in order.pieces} == {tile: there[tile] for tile in cover}
            self._check_pixels(order.plan, cover)
            assert order.render_class.blender == info.render_class.blender
        elif order.kind is TaskKind.TILE and info.device == "CPU":
            assert order.render_class == info.render_class
        elif order.kind is TaskKind.VERIFY:
            proves = self.jobs_seen[key.job_id].proves
            assert proves is not None
            assert order.render_class == self.left[proves, key.frame or 0].render_class
            if order.settings.device.value.upper() in ("AUTO", info.device):
                assert order.render_class == info.render_class
        elif order.kind is TaskKind.ENCODE:
            plan = self.plans[key.job_id]
            states = [self.frames[key.job_id, number].state for number in plan.frame_range]
            assert set(states) == {TaskState.DONE}, "a movie is made of frames that are not there"

    def plan_of(self, job_id: str, frame: int) -> Plan:
        """The plan of a frame with its revisions."""
        return self.plans[job_id].recut(self.recuts.get((job_id, frame), ()))

    def _check_pixels(self, plan: Plan, cover: tuple[int, ...]) -> None:
        """Each pixel of the area is in one piece, or in one for each sample range."""
        if plan.ranges:
            assert cover == tuple(range(len(plan.ranges)))
            return
        cores = [plan.piece(tile).tile.core for tile in cover]
        pixels = {(x, y) for box in cores for x in (box.x, box.x + box.width - 1) for y in (box.y,)}
        assert sum(box.width * box.height for box in cores) == plan.area.width * plan.area.height
        for x, y in pixels:
            holders = [b for b in cores if b.x <= x < b.x + b.width and b.y <= y < b.y + b.height]
            assert len(holders) == 1, "a pixel is in two pieces"

    def open_keys(self, job_id: str) -> list[TaskKey]:
        """Tasks of a job that have not ended."""
        ended = (TaskState.DONE, TaskState.FAILED, TaskState.CANCELLED)
        return [key for key, state in self.tasks.items() if key.job_id == job_id and state not in ended]

    def check(self) -> None:
        """What must hold after every step."""
        state = self.core.state
        assert {key: (a.why, a.probes) for key, a in state.aside.items()} == self.aside
        assert state.failed == self.unstarted
        assert not state.failed.keys() & state.workers.keys(), "a worker is here that cannot start"
        running = Counter(attempt.key for attempt in state.attempts.values())
        assert all(n == 1 for n in running.values()), "a task has two attempts"
        assert all(n == 1 for n in self.commits.values()), "a result was committed twice"
        owners = Counter(worker.attempt for worker in state.workers.values() if worker.attempt)
        assert all(n == 1 for n in owners.values()), "an attempt has two workers"
        for job in state.jobs.values():
            assert self.jobs[job.id].state is job.state
            for frame in job.frames.values():
                there = {tile: piece.ref for tile, piece in frame.pieces.items()}
                assert there == self.pieces[job.id, frame.number]
                waiting = {k.tile for k in job.tasks if k.frame == frame.number and k.kind is TaskKind.TILE}
                assert not waiting & there.keys(), "a piece that is there is rendered again"
                assert frame.recuts == self.recuts.get((job.id, frame.number), ())
                plan = self.plan_of(job.id, frame.number)
                coming = {tile for tile in waiting if tile is not None} | there.keys()
                whole = any(k.frame == frame.number and k.kind is TaskKind.FRAME for k in job.tasks)
                if coming and not frame.recuts:
                    assert coming == set(range(plan.pieces_per_frame)), "a piece is nobody's task"
                elif coming and not whole:
                    assert plan.cover(coming) is not None, "a piece is nobody's task"
            for key, task in job.tasks.items():
                assert key == task.key
                assert self.tasks[key] is task.state
                assert (task.state is TaskState.RUNNING) == (task.attempt is not None)
                assert task.attempt is None or state.attempts[task.attempt].key == key
        for attempt in state.attempts.values():
            assert self.attempts[attempt.id] is AttemptState.RUNNING
            assert state.jobs[attempt.key.job_id].tasks[attempt.key].attempt == attempt.id
        for attempt_id, attempt_state in self.attempts.items():
            assert (attempt_state is AttemptState.RUNNING) == (attempt_id in state.attempts)
        for job_id, change in self.jobs.items():
            if job_id not in state.jobs:
                assert not self.open_keys(job_id), f"{job_id} is {change.state} with open tasks"
