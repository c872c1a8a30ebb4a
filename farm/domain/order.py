"""In which order the frames of a job are begun: a permutation that is computed, never listed."""

from __future__ import annotations


def begun_at(order: str, index: int, count: int) -> int:
    """The position, in ascending order, of the frame that is begun as number ``index`` of ``count``.

    ``order`` is "turn", "preview" or "every:N", see `farm.domain.control.Control.order`. Raises IndexError
    outside of the frames.
    """
    if not 0 <= index < count:
        raise IndexError(index)
    if order == "preview":
        return _preview(index, count)
    if order.startswith("every:"):
        return _every(int(order.removeprefix("every:")), index, count)
    return index


def begun_as(order: str, position: int, count: int) -> int:
    """As which number, from 0, the frame at ``position`` is begun: the inverse of `begun_at`.

    Raises IndexError outside of the frames.
    """
    if not 0 <= position < count:
        raise IndexError(position)
    if order == "preview":
        early = _early(count)
        if position in early:
            return early.index(position)
        return len(early) + position - sum(first < position for first in early)
    if order.startswith("every:"):
        return _begun_every(int(order.removeprefix("every:")), position, count)
    return position


def _early(count: int) -> list[int]:
    """First, last, middle, each once."""
    return list(dict.fromkeys((0, count - 1, count // 2)))


def _begun_every(step: int, position: int, count: int) -> int:
    chunk, beside = divmod(position, step)
    if beside == 0:
        return chunk
    return (count + step - 1) // step + chunk * (step - 1) + beside - 1


def _preview(index: int, count: int) -> int:
    """First, last, middle; then those between, ascending."""
    middle = count // 2
    early = _early(count)
    if index < len(early):
        return early[index]
    rest = index - len(early) + 1  # without the first
    return rest if rest < middle else rest + 1


def _every(step: int, index: int, count: int) -> int:
    """Each ``step``-th from the first on; then those between, ascending."""
    early = (count + step - 1) // step
    if index < early:
        return index * step
    between, beside = divmod(index - early, max(step - 1, 1))
    return between * step + 1 + beside
