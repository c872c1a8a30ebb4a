"""Stored files that people may fetch."""

from __future__ import annotations

from collections.abc import Iterator

from farm.domain.errors import NotFound
from farm.domain.job import Principal
from farm.domain.views import OutputView
from farm.service.context import Farm
from farm.service.describe import describe_output
from farm.store import outputs
from farm.store.outputs import OutputRow


def get(farm: Farm, who: Principal, output_id: int) -> OutputView:
    """What a file is; raises `NotFound`."""
    del who
    return describe_output(_row(farm, output_id))


def stream(farm: Farm, who: Principal, output_id: int, start: int = 0) -> Iterator[bytes]:
    """Its bytes from ``start`` on, in chunks; raises `NotFound`."""
    del who
    return farm.storage.stream(_row(farm, output_id).file.key, start)


def _row(farm: Farm, output_id: int) -> OutputRow:
    with farm.store.read() as connection:
        row = outputs.get(connection, output_id)
    if row is None:
        raise NotFound(
            f"There is no file {output_id} on this farm.",
            "Tiles are deleted once their frame is done; open the job again to see what there is.",
        )
    return row
