"""A Ray cluster. Workers are detached, named actors, so that they outlive the dispatcher.

Ray's own retries and restarts are off: when something is tried again is decided by the dispatcher.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from farm.cluster.base import Slot, WorkerGone
from farm.cluster.places import slots_of_node
from farm.domain.errors import TesseraError
from farm.domain.work import Order, Report, WorkerInfo
from farm.settings import Settings
from workers.worker import Worker

NAMESPACE = "tessera"


class RayCluster:
    """The nodes of a running Ray cluster."""

    def __init__(self, settings: Settings) -> None:
        """Connect; raises OSError where there is no cluster at ``settings.ray_address``."""
        self._settings = settings
        try:
            ray.init(
                address=settings.ray_address or "auto",
                namespace=NAMESPACE,
                log_to_driver=False,
                configure_logging=False,
                logging_level=logging.WARNING,
            )
        except (RayError, RuntimeError, OSError) as error:
            raise ConnectionError(
                f"no Ray cluster at {settings.ray_address or 'this machine'}: {error}"
            ) from error

    async def slots(self) -> list[Slot]:
        try:
            nodes = await asyncio.to_thread(ray.nodes)
        except (RayError, RuntimeError) as error:
            raise ConnectionError(f"the Ray cluster does not answer: {error}") from error
        found: list[Slot] = []
        for node in nodes:
            if node["Alive"]:
                resources = node["Resources"]
                cpus, gpus = int(resources.get("CPU", 0)), int(resources.get("GPU", 0))
                host = node["NodeManagerHostname"]
                found += slots_of_node(host, node["NodeID"], cpus, gpus, self._settings.workers)
        return found

    async def worker(self, slot: Slot) -> RayWorker:
        # CPUs are shared out by us (threads), so that a Ray node's count never keeps a worker waiting.
        actor = ray.remote(Worker).options(
            name=slot.worker_id,
            namespace=NAMESPACE,
            lifetime="detached",
            get_if_exists=True,
            num_cpus=0,
            num_gpus=1 if slot.gpu else 0,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(slot.node_id, soft=False),
        )
        try:
            return RayWorker(await asyncio.to_thread(actor.remote, worker_config(self._settings, slot)))
        except (RayError, ValueError) as error:
            raise WorkerGone(f"{slot.worker_id} could not be started: {error}") from error

    def close(self) -> None:
        """Leave the cluster; its workers go on."""
        ray.shutdown()


class RayWorker:
    """A worker behind an actor handle."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def info(self) -> WorkerInfo:
        return WorkerInfo.model_validate(await _answer(self._actor.info.remote()))

    async def attempts(self) -> tuple[str, ...]:
        return tuple(await _answer(self._actor.attempts.remote()))

    async def start(self, order: Order) -> None:
        await _answer(self._actor.start.remote(order.sent()))

    async def cancel(self, attempt_id: str) -> None:
        await _answer(self._actor.cancel.remote(attempt_id))

    async def reports(self, after: int, wait: float, order: Order | None = None) -> list[Report]:
        sent = None if order is None else order.sent()
        answer = await _answer(self._actor.reports.remote(after, wait, sent))
        return [Report.model_validate(report) for report in answer]

    async def probe(self) -> str:
        return str(await _answer(self._actor.probe.remote()))

    async def kill(self) -> None:
        await asyncio.to_thread(ray.kill, self._actor)


async def _answer(call: Awaitable[Any]) -> Any:
    """What the actor answers; its own exceptions as they are, its death as `WorkerGone`."""
    try:
        return await call
    except RayTaskError as error:
        # Ray wraps what the worker raised in a class of its own that is also an instance of it.
        if isinstance(error, ValueError):
            raise
        said = error.cause.in_a_line if isinstance(error.cause, TesseraError) else f"it failed: {error}"
        raise WorkerGone(said) from error
    except RayError as error:
        raise WorkerGone(_reason(error)) from error


def _reason(error: RayError) -> str:
    """Why an actor is gone; of one that could not begin, what it said, without Ray's words around it."""
    lines = str(error).rstrip().splitlines() or [type(error).__name__]
    if not isinstance(error, RayActorError) or not error.actor_init_failed:
        return lines[0]  # what follows are ids of Ray's
    return re.sub(r"^[\w.]+: ", "", lines[-1])  # of a traceback: “farm.domain.errors.UsageError: …”


def worker_config(settings: Settings, slot: Slot) -> dict[str, Any]:
    """What a worker is told at its start, as plain JSON."""
    storage = settings.storage
    return {
        "worker_id": slot.worker_id,
        "device": "AUTO" if slot.gpu else "CPU",
        "threads": slot.threads,
        "scratch": None if settings.scratch is None else str(settings.scratch),
        "storage": {**storage.model_dump(), "secret_key": storage.secret_key.get_secret_value()},
        "sandbox": settings.sandbox,
    }
