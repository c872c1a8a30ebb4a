"""The kinds of faults, by name, and how often each is drawn."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import psutil

from tests.chaos.faults import (
    Victims,
    behave,
    cut,
    fill,
    kill,
    lock,
    part,
    replace,
    restart,
    second,
    stop,
    stop_database,
    supervisor,
)
from tests.chaos.machine import Machine
from tests.chaos.proxy import Manner
from tests.chaos.site import Site, Sort

_RENDER, _IMAGING = "workers.inside_blender", "workers.imaging"

#: Does it, for so many seconds where it lasts; gives what was hit, or None where nothing was there.
type Deed = Callable[[Site, random.Random, float], str | None]


@dataclass(frozen=True)
class Kind:
    """A kind of fault, lasting from ``seconds[0]`` to ``seconds[1]``; ``weight``: how often it is drawn."""

    deed: Deed
    seconds: tuple[float, float] = (0.0, 0.0)
    weight: int = 2
    of: str = ""  # farms of this sort alone


def _storage(site: Site) -> Machine:
    return site.store.machine


def _node(site: Site) -> Machine | None:
    return site.cluster.node if site.cluster else None


def _node_raylet(site: Site) -> list[psutil.Process]:
    return site.cluster.node.processes("raylet") if site.cluster else []


_PARTS: dict[str, Victims] = {
    "dispatcher": part("dispatcher"),
    "web": part("web"),
    "raylet": lambda site: site.ray("raylet"),
    "gcs": lambda site: site.ray("gcs_server"),
    "worker": lambda site: site.workers(),
    "render": lambda site: site.children(_RENDER),
    "imaging": lambda site: site.children(_IMAGING),
    "storage": lambda site: site.store.processes(),
}

KINDS: dict[str, Kind] = {
    "kill dispatcher": Kind(partial(kill, _PARTS["dispatcher"]), weight=6),
    "kill web": Kind(partial(kill, _PARTS["web"])),
    "kill raylet": Kind(partial(kill, _PARTS["raylet"]), weight=3),
    "kill gcs": Kind(partial(kill, _PARTS["gcs"]), weight=1),
    "kill worker": Kind(partial(kill, _PARTS["worker"]), weight=4),
    "kill render": Kind(partial(kill, _PARTS["render"]), weight=4),
    "kill imaging": Kind(partial(kill, _PARTS["imaging"]), weight=3),
    "kill storage": Kind(partial(kill, _PARTS["storage"]), weight=4),
    "kill supervisor": Kind(supervisor),
    "stop dispatcher": Kind(partial(stop, _PARTS["dispatcher"]), (2, 8), weight=3),
    "stop web": Kind(partial(stop, _PARTS["web"]), (2, 8), weight=1),
    "stop raylet": Kind(partial(stop, _PARTS["raylet"]), (2, 10)),
    "stop worker": Kind(partial(stop, _PARTS["worker"]), (2, 12), weight=3),
    "stop render": Kind(partial(stop, _PARTS["render"]), (2, 12)),
    "stop imaging": Kind(partial(stop, _PARTS["imaging"]), (2, 12), weight=1),
    "stop storage": Kind(partial(stop, _PARTS["storage"]), (2, 12)),
    "hang render": Kind(partial(stop, _PARTS["render"]), (40, 45), weight=1),
    "replace dispatcher": Kind(replace, (12, 20), weight=2),
    "second dispatcher": Kind(second, (4, 10), weight=2),
    "cut network": Kind(partial(cut, _storage), (2, 15), weight=3),
    "cut network long": Kind(partial(cut, _storage), (30, 50), weight=1),
    "cut node": Kind(partial(cut, _node), (2, 15), weight=5, of="spread"),
    "cut node long": Kind(partial(cut, _node), (45, 60), weight=2, of="spread"),
    "kill node": Kind(partial(kill, _node_raylet), weight=5, of="spread"),
    "stop node": Kind(partial(stop, _node_raylet), (2, 15), weight=2, of="spread"),
    "slow storage": Kind(partial(behave, Manner.SLOW), (3, 10)),
    "truncating storage": Kind(partial(behave, Manner.CUT), (3, 10)),
    "resetting storage": Kind(partial(behave, Manner.RESET), (3, 10)),
    "holding storage": Kind(partial(behave, Manner.HOLD), (3, 15)),
    "full storage": Kind(partial(fill, "storage"), (3, 10), weight=1),
    "full scratch": Kind(partial(fill, "scratch"), (3, 10), weight=2),
    "full home": Kind(partial(fill, "home"), (3, 10), weight=2),
    "locked database": Kind(lock, (2, 20), weight=2, of="sqlite"),
    "restart database": Kind(partial(restart, signal.SIGINT), (0, 6), weight=6, of="postgres"),
    "kill database": Kind(partial(restart, signal.SIGQUIT), (0, 6), weight=6, of="postgres"),
    "stop database": Kind(stop_database, (2, 15), weight=4, of="postgres"),
}


def kinds_for(sort: Sort) -> tuple[str, ...]:
    """All that can be done to a farm of this sort."""
    sorts = ("", "postgres") if sort is Sort.POSTGRES else ("", "sqlite", sort.value)
    return tuple(name for name, kind in KINDS.items() if kind.of in sorts)
