"""Which workers are free, by what they are, and which kinds of workers there are at all.

All of it follows from the workers; the desk keeps it in step with each change of one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from farm.dispatch.fitness import serves, trusts
from farm.dispatch.state import Job, Worker
from farm.domain.work import RenderClass


@dataclass(eq=False, slots=True)
class Kind:
    """Workers of which each can do what another can.

    `serving` are neither away nor set aside; of those, `free` are at nothing, by the scene that they have
    loaded.
    """

    workers: dict[str, Worker] = field(default_factory=dict)
    serving: dict[str, Worker] = field(default_factory=dict)
    free: dict[str | None, dict[str, Worker]] = field(default_factory=dict)

    @property
    def sample(self) -> Worker:
        """One of those that serve, else any."""
        return next(iter((self.serving or self.workers).values()))


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where a worker is written down."""

    kind: Kind
    serves: bool
    free: bool
    scene_id: str | None
    frame: tuple[str, int] | None
    attempt: str | None


class Roster:
    """Workers by kind; `version` grows with each change of which there are, or serve."""

    def __init__(self, workers: Iterable[Worker]) -> None:
        self.version = 0
        self.free = 0
        self._kinds: dict[tuple[RenderClass, str, int, int, tuple[str, ...]], Kind] = {}
        self._entries: dict[str, _Entry] = {}
        self._holders: dict[str, str] = {}  # worker by attempt
        self._at: dict[str, dict[str, Worker]] = {}  # free workers by the job of their last frame
        for worker in workers:
            self.put(worker)

    def kinds(self) -> Iterator[Kind]:
        """Kinds of which a worker serves."""
        return (kind for kind in self._kinds.values() if kind.serving)

    def all_kinds(self) -> list[Kind]:
        """Also those of which no worker serves."""
        return [kind for kind in self._kinds.values() if kind.workers]

    def offering(self, job: Job, but: Collection[str] = ()) -> list[Worker]:
        """One worker of each kind that serves and is trusted with the job; of those not named in ``but``.

        What none of these can do, none of all can that are not in ``but``.
        """
        found = (
            next((w for name, w in kind.serving.items() if name not in but and trusts(job, w)), None)
            for kind in self._kinds.values()
        )
        return [worker for worker in found if worker is not None]

    def free_kinds(self) -> list[Kind]:
        """Kinds of which a worker is free."""
        return [kind for kind in self._kinds.values() if kind.free]

    def kind_of(self, worker_id: str) -> Kind:
        """What a worker is. Raises KeyError where it is not here."""
        return self._entries[worker_id].kind

    def at(self, job_id: str) -> list[Worker]:
        """Free workers that last rendered for this job."""
        return list(self._at.get(job_id, {}).values())

    def holder(self, attempt_id: str) -> str | None:
        """Who is at this attempt, also after it has ended here."""
        return self._holders.get(attempt_id)

    def put(self, worker: Worker) -> None:
        """Write down what a worker is now, and is at."""
        name = worker.info.worker_id
        before = self._strike(name)
        kind = self._kind(worker)
        kind.workers[name] = worker
        at_work = serves(worker)
        free = at_work and worker.attempt is None
        entry = _Entry(kind, at_work, free, worker.scene_id, worker.frame, worker.attempt)
        self._entries[name] = entry
        if at_work:
            kind.serving[name] = worker
        if worker.attempt is not None:
            self._holders[worker.attempt] = name
        if free:
            self.free += 1
            kind.free.setdefault(worker.scene_id, {})[name] = worker
            if worker.frame is not None:
                self._at.setdefault(worker.frame[0], {})[name] = worker
        if before is None or (before.kind, before.serves) != (kind, at_work):
            self.version += 1

    def drop(self, worker_id: str) -> None:
        """A worker is gone."""
        entry = self._strike(worker_id)
        if entry is not None:
            self.version += 1
            if not entry.kind.workers:
                self._kinds = {what: kind for what, kind in self._kinds.items() if kind is not entry.kind}

    def compare(self, workers: Mapping[str, Worker]) -> None:
        """Put right what was changed of a worker without a word here."""
        for name in self._entries.keys() - workers.keys():
            self.drop(name)
        for name, worker in workers.items():
            entry = self._entries.get(name)
            if (
                entry is None
                or entry.attempt != worker.attempt
                or entry.frame != worker.frame
                or entry.scene_id != worker.scene_id
                or entry.serves != serves(worker)
            ):
                self.put(worker)

    def _kind(self, worker: Worker) -> Kind:
        info = worker.info
        what = (info.render_class, info.device, info.memory, info.gpu_memory, info.tags)
        if what not in self._kinds:
            self._kinds[what] = Kind()
        return self._kinds[what]

    def _strike(self, name: str) -> _Entry | None:
        entry = self._entries.pop(name, None)
        if entry is None:
            return None
        del entry.kind.workers[name]
        entry.kind.serving.pop(name, None)
        if entry.attempt is not None:
            self._holders.pop(entry.attempt, None)
        if entry.free:
            self.free -= 1
            _out(entry.kind.free, entry.scene_id, name)
            if entry.frame is not None:
                _out(self._at, entry.frame[0], name)
        return entry


def _out[K](shelf: dict[K, dict[str, Worker]], key: K, name: str) -> None:
    del shelf[key][name]
    if not shelf[key]:
        del shelf[key]
