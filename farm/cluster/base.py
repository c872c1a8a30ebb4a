"""The seam: what the dispatcher needs of a cluster.

`farm.cluster.rays.RayCluster` is the real one; the tests' fake keeps its workers in their process.
Both pass the same contract tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from farm.domain.work import Order, Report, WorkerInfo


class WorkerGone(Exception):
    """The worker is dead or out of reach; what it was doing is lost."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for one worker: a GPU of a node, or a share of its CPU."""

    worker_id: str
    node_id: str
    gpu: bool
    threads: int  # of the CPU; 0: all


class WorkerHandle(Protocol):
    """A live worker. Every method raises `WorkerGone` once it is not."""

    async def info(self) -> WorkerInfo: ...

    async def attempts(self) -> tuple[str, ...]:
        """What it runs, or has not been told to forget."""
        ...

    async def start(self, order: Order) -> None:
        """Begin; raises ValueError where it is busy.

        One whose machine is its owner's reports the attempt as preempted; one that is probed begins after.
        """
        ...

    async def cancel(self, attempt_id: str) -> None: ...

    async def reports(self, after: int, wait: float, order: Order | None = None) -> list[Report]:
        """Reports numbered above ``after``, waiting up to ``wait`` seconds for the first.

        Forgets those up to ``after``: they were committed. An ``order`` is begun first, as by `start`, in the
        same call; raises ValueError where it is refused, and then nothing is forgotten.
        """
        ...

    async def probe(self) -> str:
        """Have it render a small scene of ours; why it is not well, empty where it is.

        Takes seconds, minutes where a GPU compiles its kernels first, and ends by itself. Raises ValueError
        while it runs an attempt, and while its machine is its owner's or becomes so: then nothing is known.
        """
        ...

    async def kill(self) -> None:
        """End it at once."""
        ...


class Cluster(Protocol):
    """The machines that work for this farm, now."""

    async def slots(self) -> list[Slot]:
        """Where workers should be, on the nodes that live now. Raises OSError where the cluster is away."""
        ...

    async def worker(self, slot: Slot) -> WorkerHandle:
        """The worker at ``slot``: the one that is there, else a new one. Raises `WorkerGone`."""
        ...
