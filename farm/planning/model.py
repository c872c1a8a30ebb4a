"""What a frame takes, whole and in pieces: ``sync + render / K``, and what a cut costs besides.

Each worker that renders some of a frame has to prepare all of it (``sync``); only the pixels are shared.
Seconds are of a worker of speed 1 that has the scene open, unless said otherwise.
"""

from __future__ import annotations

from functools import lru_cache

from farm.domain.costs import Costs
from farm.domain.plan import Plan


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
    return pieces * (costs.sync + costs.rest) + share * costs.render + costs.finish


@lru_cache(maxsize=256)  # asked for all the time, and it looks at each tile
def _pieces_and_share(plan: Plan) -> tuple[int, float]:
    """Pieces of a frame that are rendered, and what they are of its pixels and samples."""
    if plan.ranges:
        missing = plan.ranges[plan.taken :]
        return len(missing), sum(part.count / part.total for part in missing)
    tiles = [plan.piece(index).tile.rendered for index in range(plan.pieces_per_frame)]
    area = plan.area.width * plan.area.height
    return len(tiles), sum(tile.width * tile.height for tile in tiles) / area
