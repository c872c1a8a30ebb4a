"""What a worker does for an order, one file a kind of task. A step makes files and stores them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from farm.domain.task import TaskKind
from farm.domain.work import Result
from workers.attempt import Attempt
from workers.steps.encode import encode
from workers.steps.finish import finish
from workers.steps.frame import frame
from workers.steps.inspection import inspect
from workers.steps.tile import tile
from workers.steps.verify import verify

Step = Callable[[Attempt], Awaitable[Result]]

STEPS: Mapping[TaskKind, Step] = {
    TaskKind.INSPECT: inspect,
    TaskKind.FRAME: frame,
    TaskKind.TILE: tile,
    TaskKind.FINISH: finish,
    TaskKind.VERIFY: verify,
    TaskKind.ENCODE: encode,
}

__all__ = ["STEPS", "Step"]
