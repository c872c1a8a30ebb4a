"""Which workers a node gets."""

from __future__ import annotations

import pytest

from farm.cluster.places import slots_of_node


@pytest.mark.parametrize(
    ("cpus", "gpus", "wanted", "slots"),
    [
        (16, 0, 0, [("n-abcd", False, 0)]),  # the whole CPU
        (16, 1, 0, [("n-abcd", True, 0)]),
        (16, 2, 0, [("n-abcd-1", True, 0), ("n-abcd-2", True, 0)]),
        (16, 0, 2, [("n-abcd-1", False, 8), ("n-abcd-2", False, 8)]),
        (16, 1, 2, [("n-abcd-1", True, 0), ("n-abcd-2", False, 0)]),
        (2, 0, 3, [("n-abcd-1", False, 1), ("n-abcd-2", False, 1), ("n-abcd-3", False, 1)]),
        (16, 4, 1, [("n-abcd", True, 0)]),
        (0, 1, 0, [("n-abcd", True, 0)]),
        (0, 0, 4, []),  # a head of its own
    ],
)
def test_a_node_gets_a_worker_for_each_gpu_or_as_many_as_were_asked_for(
    cpus: int, gpus: int, wanted: int, slots: list[tuple[str, bool, int]]
) -> None:
    found = slots_of_node("n", "abcdef", cpus, gpus, wanted)
    assert [(slot.worker_id, slot.gpu, slot.threads) for slot in found] == slots
    assert {slot.node_id for slot in found} <= {"abcdef"}
