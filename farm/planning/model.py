"""What frames take, whole and in pieces: ``sync + render / K``, and what a cut costs besides.

Each worker that renders some of a frame has to prepare all of it (`Costs.sync`); only the pixels are
shared, and those of the overlap are rendered twice. A frame in pieces has to be finished: by a process of
its own, which opens the scene and prepares it once more.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from farm.domain.costs import Costs
from farm.domain.plan import Plan

#: Seconds of a finish beyond opening and preparing, where none was measured: starting Blender (0.5 s), the
#: merge, and saving.
_FINISH = 1.2
#: A cut has to end a job sooner by this share, and by so many seconds: estimates are not better than that.
_CLEARLY = 0.07
_AT_LEAST = 0.5


@dataclass(frozen=True, slots=True)
class Hand:
    """A worker, as far as the model needs it. Seconds are its own."""

    free: float = 0.0  # until it can begin something
    speed: float = 1.0
    scene: bool = True  # it has it open, and has rendered some of it


@dataclass(frozen=True, slots=True)
class Way:
    """A frame in ``pieces`` pieces (1: whole) that overlap in ``extra`` of its pixels, as a share."""

    pieces: int = 1
    extra: float = 0.0


@dataclass(frozen=True, slots=True)
class Choice:
    """How to render frames, and the seconds until all are done, so and whole."""

    way: Way
    seconds: float
    whole: float


def finish_seconds(costs: Costs) -> float:
    """Of a frame that was cut, on a worker of speed 1."""
    return costs.finish or costs.load + costs.sync + _FINISH


def frame_seconds(costs: Costs, plan: Plan) -> float:
    """Seconds of workers, all together, of one frame as ``plan`` cuts it.

    >>> costs = Costs(seen=1, sync=4, render=20, rest=1, finish=3)
    >>> frame_seconds(costs, Plan(frames="1", width=64, height=64, reason=""))
    25.0
    >>> frame_seconds(costs, Plan(frames="1", width=64, height=64, grid="2x2", reason=""))
    43.0
    """
    pieces, share = _pieces_and_share(plan)
    if not pieces:
        return costs.whole
    return pieces * (costs.sync + costs.rest) + share * costs.render + finish_seconds(costs)


def makespan(costs: Costs, frames: int, way: Way, hands: Sequence[Hand], *, finishing: bool = True) -> float:
    """Seconds until ``frames`` more frames are done, each given out in turn to whoever is free first.

    Without ``finishing``: until their pieces are there.

    >>> costs = Costs(seen=1, sync=4, render=20, rest=1, finish=3)
    >>> makespan(costs, 3, Way(), [Hand(), Hand()])
    50.0
    >>> makespan(costs, 1, Way(2), [Hand(), Hand(free=2)])
    20.0
    """
    free = [hand.free for hand in hands]
    cold = [not hand.scene for hand in hands]
    queue = [(at, worker) for worker, at in enumerate(free)]
    heapq.heapify(queue)
    render = costs.render * (1 + way.extra) / way.pieces
    end = 0.0
    for _ in range(frames):
        at_it: set[int] = set()
        for _ in range(way.pieces):
            worker = _first_free(queue, free)
            seconds = render + costs.rest + (0.0 if worker in at_it else costs.sync)
            if cold[worker]:
                seconds += costs.load
                cold[worker] = False
            at_it.add(worker)
            free[worker] += seconds / hands[worker].speed
            heapq.heappush(queue, (free[worker], worker))
        last = max(at_it, key=lambda worker: free[worker])
        if (
            finishing and way.pieces > 1
        ):  # the one that ended last goes on with it; its old place in the queue is stale
            free[last] += finish_seconds(costs) / hands[last].speed
            heapq.heappush(queue, (free[last], last))
        end = max(end, free[last])
    return end


def _first_free(queue: list[tuple[float, int]], free: Sequence[float]) -> int:
    while True:
        at, worker = heapq.heappop(queue)
        if at == free[worker]:
            return worker


def best_way(costs: Costs, frames: int, ways: Iterable[Way], hands: Sequence[Hand]) -> Choice:
    """The coarsest way that ends ``frames`` frames about as soon as any; whole where none is clearly better.

    >>> hands = [Hand()] * 4
    >>> best_way(Costs(seen=1, render=100), 1, [Way(2), Way(4)], hands).way
    Way(pieces=4, extra=0.0)
    >>> best_way(Costs(seen=1, sync=9, render=1), 1, [Way(2), Way(4)], hands).way
    Way(pieces=1, extra=0.0)
    """
    whole = makespan(costs, frames, Way(), hands)
    best = Choice(Way(), whole, whole)
    for way in sorted(ways, key=lambda way: way.pieces):
        seconds = makespan(costs, frames, way, hands)
        if seconds < best.seconds * (1 - _CLEARLY) and seconds < best.seconds - _AT_LEAST:
            best = Choice(way, seconds, whole)
    return best


def share_of(plan: Plan, piece: int) -> float:
    """What a piece renders of the pixels and samples of its frame."""
    cut = plan.piece(piece)
    if cut.samples is not None:
        return cut.samples.count / cut.samples.total
    rendered = cut.tile.rendered
    return rendered.width * rendered.height / (plan.area.width * plan.area.height)


def begun(plan: Plan, done: Mapping[int | None, float]) -> float:
    """How much of a frame is there, as a share of what there is to render of it.

    ``plan`` is the frame's own, with its revisions; ``done`` tells of each piece (None: of the whole frame)
    how much of it is, from 0 to 1. Of several ways to the same pixels the one that is furthest counts.

    >>> from farm.domain.plan import Recut
    >>> cut = Plan(frames="1", width=64, height=64, grid="2x1", reason="")
    >>> begun(cut, {0: 1.0, 1: 0.5})
    0.75
    >>> begun(cut.recut((Recut(of=1, grid="1x2"),)), {0: 1.0, 1: 0.25, 2: 1.0})
    0.75
    """

    def of(piece: int | None) -> float:
        ways = [n for n, recut in zip(plan.parts, plan.recuts, strict=True) if recut.of == piece]
        if piece is None and plan.pieces_per_frame:
            ways.append(range(plan.pieces_per_frame))
        weight = 1.0 if piece is None else _weight(plan, piece)
        return max([done.get(piece, 0.0) * weight, *(sum(map(of, parts)) for parts in ways)])

    return of(None)


def _weight(plan: Plan, piece: int) -> float:
    """What a piece is of its frame, without overlap; of sample ranges those count that are rendered here."""
    cut = plan.piece(piece)
    if cut.samples is None:
        return cut.tile.core.width * cut.tile.core.height / (plan.area.width * plan.area.height)
    missing = sum(part.count for part in plan.ranges[plan.taken :])
    return 0.0 if piece < plan.taken else cut.samples.count / missing


@lru_cache(maxsize=256)  # asked for all the time, and it looks at each tile
def _pieces_and_share(plan: Plan) -> tuple[int, float]:
    """Pieces of a frame that are rendered, and what they are of its pixels and samples."""
    if plan.ranges:
        missing = plan.ranges[plan.taken :]
        return len(missing), sum(part.count / part.total for part in missing)
    tiles = [plan.piece(index).tile.rendered for index in range(plan.pieces_per_frame)]
    area = plan.area.width * plan.area.height
    return len(tiles), sum(tile.width * tile.height for tile in tiles) / area
