"""Inspect: open the scene and describe it."""

from __future__ import annotations

import json

from pydantic import ValidationError

from farm.domain.scene import SceneReport
from farm.domain.work import Cause, Result
from workers.attempt import Attempt
from workers.failures import AttemptFailed
from workers.protocol import Inspect
from workers.steps.blender import warm


async def inspect(attempt: Attempt) -> Result:
    """The scene's report. Its process stays warm: the job's first frame finds the scene loaded."""
    child = await warm(attempt)
    settings = attempt.order.settings
    request = Inspect(settings.scene, settings.camera, settings.engine.value, settings.samples)
    done = await child.ask(request, attempt.count)
    attempt.heed(done)
    return attempt.result(()).model_copy(update={"report": _report(done.report)})


def _report(body: object) -> SceneReport:
    try:
        json.dumps(body, allow_nan=False)  # a scene may hold numbers that JSON has no word for
        return SceneReport.model_validate(body)
    except (ValidationError, ValueError) as error:
        raise AttemptFailed(
            Cause.BAD_RESULT,
            "Blender's description of the scene cannot be read.",
            "This is a fault of the farm; please report it with the scene.",
        ) from error
