"""What every page has: the farm's pulse, the event to listen after, and the time it was made."""

from __future__ import annotations

import time
from typing import Any

from farm.domain.job import Principal
from web.services import Services


def shared(farm: Services, who: Principal, here: str) -> dict[str, Any]:
    """The context of the base template; ``here`` is the rail's current entry.

    The event's number is read before anything else: what happens while the page is made comes live.
    """
    return {"after": farm.latest_event(), "pulse": farm.pulse(who), "here": here, "now": time.time()}
