"""Tiny traces, whose runs can be told beforehand."""

from __future__ import annotations

from farm.simulate.scenario import Scenario, scenario
from farm.simulate.trace import Failures, Jobs, Kind, Trace


def tiny(*jobs: Jobs, workers: int = 1, speed: float = 1.0, failures: Failures | None = None) -> Scenario:
    """These jobs on workers of one speed."""
    fleet = (Kind(name="gpu", share=1, speed=speed),)
    trace = Trace(name="tiny", about="Tiny", jobs=jobs, fleet=fleet, failures=failures or Failures())
    return scenario(trace, 1, workers)


def group(name: str = "film", **values: object) -> Jobs:
    """Jobs of frames of 2 s sync, 8 s render and 1 s besides, in scenes that open in 4 s."""
    given: dict[str, object] = {
        "name": name, "user": "anna", "load": 4, "sync": 2, "render": 8, "rest": 1, "finish": 2,
        "width": 640, "height": 360,
    }  # fmt: skip
    return Jobs.model_validate(given | values)
