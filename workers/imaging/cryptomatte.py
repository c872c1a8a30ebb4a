"""Cryptomatte of sample ranges: (id, coverage) pairs of each pixel, added up by id.

Cycles fills a pixel's slots in the order in which the samples meet ids; what comes when all slots are taken
goes to the last one (`film/cryptomatte_passes.h`). When all samples are done it sorts the slots by
coverage, of the first kind alone (measured with 5.2.3: Object sorted, Material and Asset beside it not).

Ids are compared as the bits they are: a float comparison would take some of them for others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workers.imaging.exr import Array


def merged_slots(
    ids: Sequence[Array], coverages: Sequence[Array], counts: Sequence[int], *, ordered: bool
) -> tuple[Array, Array]:
    """Ids (uint32) and coverages (float32) of all ranges together, as (slots, pixels).

    Of each range, in the order of its samples, ``ids`` and ``coverages`` are the same, and ``counts`` is its
    number of samples. Ids of 0 are empty. ``ordered`` sorts by coverage, the largest first; among
    equals, the one that came first.
    """
    slots, pixels = ids[0].shape
    found = [np.flatnonzero(each) for each in ids]
    place = np.concatenate([each % pixels for each in found])
    every_id = np.concatenate([each.ravel()[at] for each, at in zip(ids, found, strict=True)])
    weight = np.concatenate(
        [
            each.ravel()[at].astype(np.float64) * count
            for each, at, count in zip(coverages, found, counts, strict=True)
        ]
    )
    if not place.size:
        return np.zeros((slots, pixels), np.uint32), np.zeros((slots, pixels), np.float32)

    key = (place.astype(np.uint64) << np.uint64(32)) | every_id
    by_key = np.argsort(key, kind="stable")  # of equal keys, the one that came first leads
    starts = np.flatnonzero(_begins(key[by_key]))
    sums = np.add.reduceat(weight[by_key], starts)
    first = by_key[starts]  # where each id of each pixel was met first

    arrival = np.lexsort((first, place[first]))
    first, sums = first[arrival], sums[arrival]
    place, every_id = place[first], every_id[first]
    heads = np.flatnonzero(_begins(place))
    slot = np.arange(place.size) - np.repeat(heads, np.diff(np.append(heads, place.size)))
    fits = slot < slots
    out_ids = np.zeros((slots, pixels), np.uint32)
    out_ids[slot[fits], place[fits]] = every_id[fits]
    where = np.minimum(slot, slots - 1) * pixels + place
    out = np.bincount(where, sums, slots * pixels).reshape(slots, pixels) / sum(counts)
    if ordered:
        wrong = np.flatnonzero((out[1:] > out[:-1]).any(axis=0))
        order = np.argsort(-out[:, wrong], axis=0, kind="stable")
        out[:, wrong] = np.take_along_axis(out[:, wrong], order, axis=0)
        out_ids[:, wrong] = np.take_along_axis(out_ids[:, wrong], order, axis=0)
    return out_ids, out.astype(np.float32)


def _begins(values: Array) -> Array:
    """Where a run of equal values begins."""
    return np.concatenate([[True], values[1:] != values[:-1]])
