"""The worker: takes an order, has its children carry it out, stores what they made, and reports.

A plain asyncio class. `farm.cluster` wraps it as a Ray actor; tests and small tools use it as it is.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Sequence
from typing import Any

from farm.domain.errors import in_one_line
from farm.domain.work import Cause, Failure, Order, Result
from farm.storage import Storage, open_storage
from workers import runtimes, scene_folder, telemetry
from workers.attempt import Attempt
from workers.blob_cache import BlobCache
from workers.config import WorkerConfig
from workers.devices import (
    device_for,
    gpu_memory,
    worker_device,
)
from workers.failures import AttemptFailed, understood
from workers.home import WorkerHome
from workers.identity import Identity
from workers.lender import Lender, Senses
from workers.lending import Away
from workers.logs import AttemptLog
from workers.machine import Machine, this_machine
from workers.memory import Room, of_host, worded
from workers.outbox import Outbox
from workers.probing import probed
from workers.runtimes import Runtime
from workers.sandbox import sandbox_status
from workers.session import Ground, Modules, Session
from workers.steps import STEPS

_log = logging.getLogger(__name__)


class Worker:
    """One GPU, or a share of the CPU, and the processes that render on it.

    Arguments and results are plain JSON values. Guarantees:

    - One attempt runs at a time. Every attempt that was started ends in exactly one report with a
      result or a failure, and that report is given on every call of `reports` until it is
      acknowledged: at least once, never lost while this process lives.
    - A child that crashes, hangs or lies costs one attempt, never the worker.
    - After `cancel` and `close` no process of the attempt is left.
    - Where its owner lends the machine (`workers.lending`) and takes it back, what runs is ended within two
      seconds, to be tried elsewhere for free, and no process is left.

    What it stores lies under the order's prefix and counts only once the head commits it, so an
    attempt that ends twice, or half, does no harm. To be used from one event loop.
    """

    def __init__(
        self,
        config: dict[str, Any],
        *,
        storage: Storage | None = None,
        modules: Modules | None = None,
        blenders: Sequence[Runtime] | None = None,
        machine: Machine | None = None,
        senses: Senses | None = None,
    ) -> None:
        """``machine`` None: what this machine's own settings say.

        Raises `Unavailable` where there is no Blender, and where the worker's id is in use here; `UsageError`
        where the machine's settings say something that cannot be.
        """
        self._config = WorkerConfig.model_validate(config)
        with in_one_line():
            self._machine = this_machine() if machine is None else machine
            self._runtimes = tuple(blenders) if blenders is not None else (runtimes.own(),)
            self._home = WorkerHome(self._config.scratch_root, self._config.worker_id)
        self._storage = open_storage(self._config.storage_settings) if storage is None else storage
        works, cure = sandbox_status()
        if self._config.sandbox and not works:
            _log.warning("Scenes are rendered without a sandbox. %s", cure)
        self._ground = Ground(
            config=self._config,
            modules=modules or Modules(),
            cache=BlobCache(self._home.blobs, self._storage, self._config.cache_bytes),
            sandbox=self._config.sandbox and works,
            driver_cache=self._home.driver_cache,
        )
        self._identity = Identity(self._ground, self._runtimes[0], self._machine, self._home.folder)
        self._outbox = Outbox()
        self._numbers = itertools.count(1)
        self._session: Session | None = None
        self._running: tuple[str, asyncio.Task[None]] | None = None
        self._last: asyncio.Task[None] | None = None
        self._probing: asyncio.Task[str] | None = None
        self._lender: Lender | None = None
        if not self._machine.lending.always:
            self._lender = Lender(self._machine.lending, senses or Senses(), self._lent)
        self._taken_back = ""  # why the running attempt is being ended, where its owner wants the machine
        self._leaving: asyncio.Task[None] | None = None

    async def info(self) -> dict[str, Any]:
        """A `WorkerInfo`. The first call starts a render process to ask what it is.

        Raises `Unavailable` with a cure where that fails, or the GPU that the worker is for is not there.
        """
        info = await self._identity.info()
        if self._lender is not None:
            await self._lender.looked()
        return info.model_copy(update={"away": self._away.why if self._away else ""}).model_dump(mode="json")

    async def start(self, order: dict[str, Any]) -> None:
        """Begin an attempt, an `Order`. Raises ValueError while one is running.

        While the machine is its owner's, the attempt is reported as preempted at once. While it is probed,
        the attempt begins after that.
        """
        if self._lender is not None:
            await self._lender.looked()
        if self._running is not None:
            raise ValueError(f"attempt {self._running[0]} is running; a worker does one at a time")
        parsed = Order.model_validate(order)
        if self._away is not None:
            self._outbox.end(parsed.attempt_id, _preempted(self._away.why))
            return
        # Eager: a task that is cancelled before its first step never runs, and would report nothing.
        loop = asyncio.get_running_loop()
        name = f"attempt {parsed.attempt_id}"
        self._last = asyncio.Task(self._run(parsed), loop=loop, name=name, eager_start=True)

    async def cancel(self, attempt_id: str) -> None:
        """End an attempt now; it reports that it was cancelled. One that has ended is left alone."""
        if self._running is None or self._running[0] != attempt_id:
            return
        await self._end_running()

    async def _end_running(self) -> None:
        if self._running is None:
            return
        task = self._running[1]
        if self._session is not None:
            self._session.strike()
        if not task.cancelling():  # a second blow would hit the tidying up after the first
            task.cancel()
        await asyncio.wait([task])

    async def reports(
        self, after: int, wait: float, order: dict[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """`Report` values numbered above ``after``, waiting up to ``wait`` seconds for the first.

        Those up to ``after`` are acknowledged, and forgotten. An ``order`` is begun first, as by `start`.
        """
        if order is not None:
            await self.start(order)
        found = await self._outbox.read(after, wait)
        return [report.model_dump(mode="json") for report in found]

    async def attempts(self) -> list[str]:
        """The attempts that the head has to hear of: running, or ended and not acknowledged."""
        running = [self._running[0]] if self._running is not None else []
        return [*self._outbox.ended(), *running]

    async def probe(self) -> str:
        """Render a small scene of ours in a process of its own: why that went wrong, empty where it did not.

        Raises ValueError while an attempt runs, and while the machine is its owner's or becomes so.
        """
        if self._lender is not None:
            await self._lender.looked()
        if self._running is not None:
            raise ValueError(f"attempt {self._running[0]} is running; only an idle worker is probed")
        if self._away is not None:
            raise ValueError(f"the worker is away: {self._away.why}")
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probed(), name="probe")
        return await asyncio.shield(self._probing)

    async def close(self) -> None:
        """End everything that this worker started and delete its files; the machine's cache stays."""
        if self._lender is not None:
            await self._lender.close()
        await self._end_running()
        for task in (self._identity.asking, self._probing):
            if task is not None:
                task.cancel()
        ours = (self._last, self._identity.asking, self._probing, self._leaving)
        if going_on := [task for task in ours if task is not None]:
            await asyncio.wait(going_on)
        await self._drop_session()
        self._outbox.close()
        await asyncio.to_thread(self._home.close)

    async def _run(self, order: Order) -> None:
        """Carry out an order to its one report, whatever happens."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  it is `start` that runs this, as a task
        self._running = (order.attempt_id, task)
        number = next(self._numbers)
        log = AttemptLog(self._home.folder / "logs" / f"{number}.txt")
        outcome: Result | Failure
        try:
            if self._probing is not None:
                await asyncio.wait([self._probing])
            outcome = await self._outcome(order, log, number)
        except asyncio.CancelledError:
            outcome = Failure(cause=Cause.CANCELLED, what="The attempt was cancelled.")
            if self._taken_back:
                outcome = _preempted(self._taken_back)
            await self._after_failure()
        except Exception as error:  # noqa: BLE001  of the tidying up: the head must hear of it all the same
            outcome = _told(understood(error), order, self._room)
        log.finish()
        self._running, self._taken_back = None, ""
        self._outbox.end(order.attempt_id, outcome)
        if self._away is not None and self._session is not None:  # it was finished in its owner's time
            await self._session.end_processes()
        await asyncio.to_thread(self._tidy, f"attempt-{number}", self._session, log)

    @property
    def _away(self) -> Away | None:
        return None if self._lender is None else self._lender.away

    def _lent(self, away: Away | None) -> None:
        """The machine was taken back by its owner, or is lent again."""
        self._outbox.away("" if away is None else away.why)
        if away is not None and (self._leaving is None or self._leaving.done()):
            self._leaving = asyncio.create_task(self._leave(), name="giving the machine back")

    async def _leave(self) -> None:
        """Leave the machine to its owner: end what runs, if it may not be finished, and what is warm."""
        if self._probing is not None:
            self._probing.cancel()
        while self._running is not None and self._away is not None and self._away.at_once:
            self._taken_back = self._away.why
            await self._end_running()
        if self._running is None and self._away is not None and self._session is not None:
            await self._session.end_processes()

    async def _probed(self) -> str:
        """Why a probe went wrong; what nobody foresaw is told too. ValueError where its owner ended it."""
        try:
            device = worker_device(self._config.device, await self._identity.known())
            await probed(self._ground, self._runtimes[0], device, self._home.folder)
        except asyncio.CancelledError:
            if self._away is None:
                raise
            raise ValueError(f"the machine was taken back: {self._away.why}") from None
        except Exception as error:  # noqa: BLE001  whatever it is, the worker is not well
            return worded(understood(error), self._room)
        return ""

    async def _outcome(self, order: Order, log: AttemptLog, number: int) -> Result | Failure:
        loop = asyncio.get_running_loop()
        began = loop.time()
        attempt: Attempt | None = None
        try:
            attempt = await self._prepared(order, log, f"attempt-{number}")
            result = await STEPS[order.kind](attempt)
            stored = (*result.files, *await attempt.store_log())
            seconds = result.seconds.model_copy(update={"total": loop.time() - began})
            return result.model_copy(update={"files": stored, "seconds": seconds})
        except Exception as error:  # noqa: BLE001  whatever it is, it costs one attempt and not the worker
            failed = understood(error)
        if attempt is None:  # it came to nothing: what is warm has no part in that
            return _told(failed, order, self._room)
        await self._after_failure()
        told = _told(failed, order, self._room, log.telling())
        return told.model_copy(update={"files": await attempt.store_log()})

    async def _prepared(self, order: Order, log: AttemptLog, name: str) -> Attempt:
        """The attempt with its session and folders; an order that is not for this worker stops here."""
        if self._identity.ready is not None:
            device_for(order, self._config, self._identity.ready)
        session = await self._session_for(order)
        session.patience = self._ground.patience.learned(order.patience)
        attempt = Attempt(
            order=order,
            session=session,
            storage=self._storage,
            log=log,
            tell=lambda progress: self._outbox.progress(order.attempt_id, progress),
            work=session.scratch / name,
            inputs=session.inputs / name,
            kept=self._home.folder / "kept" / name,
        )
        for folder in (attempt.work, attempt.inputs, attempt.kept):
            folder.mkdir(parents=True)
        session.waiting = attempt.waiting
        return attempt

    async def _session_for(self, order: Order) -> Session:
        runtime = runtimes.serving(order.report, self._runtimes)
        if self._session is not None and not self._session.serves(order.manifest, runtime):
            await self._drop_session()
        if self._session is None:
            root = self._home.folder / "sessions" / str(next(self._numbers))
            self._session = Session(self._ground, order.manifest, runtime, root)
        return self._session

    async def _after_failure(self) -> None:
        """No process that was part of a failure sees another attempt."""
        session = self._session
        if session is not None:
            await session.end_processes()
            if not session.usable:
                await self._drop_session()

    @property
    def _room(self) -> Room:
        """The memory of this worker, as far as it is known yet."""
        return Room(host=telemetry.host().memory, gpu=gpu_memory(self._config.device))

    async def _drop_session(self) -> None:
        """Close the session, also where the caller is cancelled meanwhile."""
        session, self._session = self._session, None
        if session is not None:
            await asyncio.shield(asyncio.ensure_future(session.close()))

    def _tidy(self, name: str, session: Session | None, log: AttemptLog) -> None:
        """Delete an attempt's files; runs in a thread, and nobody waits for it."""
        log.path.unlink(missing_ok=True)
        scene_folder.remove(self._home.folder / "kept" / name)
        if session is not None:
            scene_folder.remove(session.scratch / name)
            scene_folder.remove(session.inputs / name)


def _told(failed: AttemptFailed, order: Order, room: Room, log_tail: str = "") -> Failure:
    """The failure for the head. A child may blame any piece; those that it was given count, each once."""
    given = {piece.tile for piece in order.pieces}
    return Failure(
        cause=failed.cause,
        what=worded(failed, room),
        cure=failed.cure,
        host=of_host(failed),
        log_tail=log_tail,
        pieces=tuple(sorted(given.intersection(failed.pieces))),
    )


def _preempted(why: str) -> Failure:
    return Failure(
        cause=Cause.PREEMPTED,
        what=f"The worker's owner took it back: {why}.",
        cure="Nothing needs to be done: the farm tries again elsewhere.",
    )
