"""Where workers go: pure arithmetic on a node's resources."""

from __future__ import annotations

from farm.cluster.base import Slot


def slots_of_node(host: str, node_id: str, cpus: int, gpus: int, wanted: int) -> list[Slot]:
    """Slots of one node.

    One worker a GPU; without GPUs one for the whole CPU. ``wanted`` > 0 asks for so many instead:
    the first ones get the GPUs, the others share the CPU. A node that offers neither (a head of its
    own) gets none.
    """
    if cpus < 1 and gpus < 1:
        return []
    count = wanted or max(gpus, 1)
    on_cpu = max(0, count - gpus)
    threads = max(1, cpus // on_cpu) if on_cpu > 1 else 0
    name = f"{host}-{node_id[:4]}"
    return [
        Slot(
            worker_id=name if count == 1 else f"{name}-{index + 1}",
            node_id=node_id,
            gpu=index < gpus,
            threads=0 if index < gpus else threads,
        )
        for index in range(count)
    ]
