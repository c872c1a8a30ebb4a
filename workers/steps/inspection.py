"""Inspect: open the scene and describe it."""

from __future__ import annotations

import json

from farm.domain.scene import SceneReport
from farm.domain.work import Cause, Result
from workers.attempt import Attempt
from workers.failures import AttemptFailed
from workers.protocol import Inspect
from workers.steps.blender import warm

_COUNTS = ("frame_step", "full_width", "full_height", "percentage", "samples", "file_output_nodes")
_MOST = 1 << 24  # Cycles' most samples; all else stays far below


async def inspect(attempt: Attempt) -> Result:
    """The scene's report. Its process stays warm: the job's first frame finds the scene loaded."""
    child = await warm(attempt)
    settings = attempt.order.settings
    request = Inspect(settings.scene, settings.camera, settings.engine.value, settings.samples)
    done = await child.ask(request, attempt.count)
    attempt.heed(done)
    return attempt.result(()).model_copy(update={"report": _report(done.report)})


def _report(body: object) -> SceneReport:
    """``body``, from a child, as a report with nothing in it that others could stumble over.

    A scene may hold numbers that JSON has no word for, and names that are no text.
    """
    try:
        text = json.dumps(body, allow_nan=False, ensure_ascii=False).encode(errors="replace")
        report = SceneReport.model_validate_json(text)
        if not all(0 <= getattr(report, name) <= _MOST for name in _COUNTS):
            raise ValueError("a number is out of all bounds")
        return report
    except (ValueError, RecursionError) as error:
        raise AttemptFailed(
            Cause.BAD_RESULT,
            "Blender's description of the scene cannot be read.",
            "This is a fault of the farm; please report it with the scene.",
        ) from error
