"""What was asked of jobs and not taken up yet: answers show it at once, as if it were done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from farm.domain.control import Control
from farm.store import Connection, events
from farm.store.events import IntentKind
from farm.store.jobs import JobRow


@dataclass(frozen=True, slots=True)
class Asked:
    """What waits for the dispatcher, by job."""

    cancelling: set[str] = field(default_factory=set)
    retrying: set[str] = field(default_factory=set)
    controls: dict[str, Control] = field(default_factory=dict)

    def control(self, job: JobRow) -> Control:
        """How the job is dispatched from the moment on that the dispatcher looks."""
        return self.controls.get(job.id, job.control)


def asked(connection: Connection, job_id: str | None = None) -> Asked:
    """Of one job, or of all."""
    return _gathered(events.waiting_intents(connection, job_id))


def _gathered(intents: Sequence[events.Intent]) -> Asked:
    found = Asked()
    for intent in intents:  # oldest first: the last one counts
        match intent.kind:
            case IntentKind.CANCEL:
                found.cancelling.add(intent.job_id)
                found.retrying.discard(intent.job_id)
            case IntentKind.RETRY:
                found.retrying.add(intent.job_id)
            case IntentKind.CONTROL:
                found.controls[intent.job_id] = Control.model_validate(intent.data)
            case IntentKind.REQUEUE:
                pass  # its frames show themselves when they begin again
    return found
