"""Cutting by samples: which ranges of a frame's samples, and adding to those that are there.

Ranges of one total are parts of one picture: averaged in float64 they are within 1e-6 of what rendering
them at once gives. Samples of another total are an independent picture of their own, with a seed that
no other range of the frame has; the average with it is a good picture, and not the one of the sum.
"""

from __future__ import annotations

from collections.abc import Sequence

from farm.domain.errors import BadInput
from farm.domain.job import RenderSettings
from farm.domain.plan import SampleRange
from farm.domain.scene import SceneReport
from farm.domain.tiles import MOST_TILES
from farm.planning.cutting import Cutting, counted, may_differ

#: Fewer samples than this are not worth the trip to another worker.
_FEWEST_SAMPLES = 16
_EXACT = "; averaged within 1e-6 of rendering them at once"


def cut_by_samples(
    settings: RenderSettings, report: SceneReport, workers: int, there: Sequence[SampleRange] | None
) -> Cutting:
    """Ranges of the samples asked for; with ``there``, these ranges and what is missing beside them.

    Raises `BadInput` where there are not so many samples, or where nothing is left to add.
    """
    total = max(1, settings.samples or report.samples)
    if settings.first is not None and settings.first > total:
        raise BadInput(
            f"The first {settings.first} samples were asked for, and the picture has {total}.",
            f"Choose --first {total} at most, or more --samples.",
        )
    missing = SampleRange(first=0, count=settings.first or total, total=total)
    if there is not None:
        missing = _missing(there, missing)
    number = _number(settings, missing.count, workers, adding=there is not None)
    if number == 1 and settings.first is None and there is None:
        return Cutting(_why_whole(settings, missing.count, workers))
    ranges = (*(there or ()), *_parts(missing, number))
    why = [_what(settings, total, there, missing)]
    if number > 1:
        for_whom = "as asked" if settings.ranges else "so that every worker has a piece"
        sizes = sorted({part.count for part in ranges[-number:]})
        counts = " or ".join(map(str, sizes))
        why.append(f"each frame cut in {number} ranges of {counts} samples, {for_whom}")
    breaks = report.breaks_ranges if len(ranges) > 1 else ()
    return Cutting(
        ", ".join(filter(None, why)) + _how_exact(ranges, report) + may_differ(breaks),
        ranges=ranges,
        taken=len(there or ()),
        exact=not breaks and not any(part.seed for part in ranges),
    )


def _missing(there: Sequence[SampleRange], wanted: SampleRange) -> SampleRange:
    """What is to be rendered beside ``there`` for as many samples as ``wanted`` has."""
    have = sum(part.count for part in there)
    if not have:
        raise BadInput(
            "The earlier job kept no samples that could be added to.",
            "Only jobs with --first, and those that add to them, keep their samples.",
        )
    if wanted.count <= have:
        raise BadInput(
            f"{have} samples are there already, and {wanted.count} were asked for.",
            f"Ask for more than {have} with --samples.",
        )
    count = wanted.count - have
    if all(part.total == wanted.total and part.seed == 0 for part in there):
        return SampleRange(first=have, count=count, total=wanted.total)
    return SampleRange(first=0, count=count, total=count, seed=1 + max(part.seed for part in there))


def _number(settings: RenderSettings, samples: int, workers: int, *, adding: bool) -> int:
    """In how many ranges ``samples`` are rendered.

    Where they are added to others, so many ranges were asked for of those: fewer samples have fewer.
    """
    if not settings.by_samples:
        return 1
    if settings.ranges is None:
        return max(1, min(workers, samples // _FEWEST_SAMPLES, MOST_TILES))
    if settings.ranges > samples and adding:
        return samples
    if settings.ranges > samples:
        raise BadInput(
            f"{samples} samples cannot be cut in {settings.ranges} ranges.",
            f"Choose --split samples:{samples} at most, or let the farm choose: --split samples.",
        )
    if settings.ranges > MOST_TILES:
        raise BadInput(
            f"{settings.ranges:,} sample ranges were asked for; a frame is cut in {MOST_TILES:,} at most.",
            "Choose fewer, or let the farm choose: --split samples.",
        )
    return settings.ranges


def _parts(whole: SampleRange, number: int) -> tuple[SampleRange, ...]:
    """``whole`` in ``number`` ranges that differ by one sample at most."""
    edges = [whole.first + whole.count * i // number for i in range(number + 1)]
    return tuple(
        whole.model_copy(update={"first": edges[i], "count": edges[i + 1] - edges[i]}) for i in range(number)
    )


def _what(
    settings: RenderSettings, total: int, there: Sequence[SampleRange] | None, missing: SampleRange
) -> str:
    """Which samples are rendered, where it is not simply all of them."""
    if there is None:
        return f"the first {settings.first} of {total} samples" if settings.first is not None else ""
    have = sum(part.count for part in there)
    if missing.seed:
        return (
            f"{have} samples are there already, and {missing.count} independent samples are added: "
            f"not identical to a render with {have + missing.count} samples"
        )
    return f"{have} of {total} samples are there already, and {missing.count} are added"


def _how_exact(ranges: Sequence[SampleRange], report: SceneReport) -> str:
    if len(ranges) < 2 or any(part.seed for part in ranges):
        return ""
    return _EXACT + (", before denoising" if report.denoise else "")


def _why_whole(settings: RenderSettings, samples: int, workers: int) -> str:
    if settings.ranges == 1:
        return "whole frames, as asked"
    if workers < 2:
        return "whole frames"
    return f"whole frames: {counted(samples, 'sample')} are too few to cut"
