"""Events: what happened, as a long poll and as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from farm.domain.views import EventView
from web.needs import Events, Farm, Who
from web.problems import documented

router = APIRouter(prefix="/events", tags=["events"], responses=documented(422, 503))

#: Milliseconds until a browser connects again after the stream broke.
RETRY = 1000

_LARGEST = (1 << 63) - 1
Job = Annotated[str | None, Query(description="Only events of this job.", max_length=40)]


def _known(farm: Farm, who: Who, job: Job = None) -> None:
    """Raise `NotFound` before the stream begins; afterwards there is no way to say it."""
    if job is not None:
        farm.job(who, job)


@router.get("", summary="Events after a sequence number", responses=documented(404))
async def list_events(
    live: Events,
    after: Annotated[int, Query(ge=0, le=_LARGEST)] = 0,
    job: Job = None,
    wait: Annotated[float, Query(ge=0, le=30, description="Seconds to wait for the first.")] = 0,
) -> list[EventView]:
    """At most 500, oldest first. With ``wait`` a long poll: empty where nothing happened until then."""
    return await live.wait(after, job, wait)


@router.get(
    "/stream",
    summary="Events as they happen",
    response_class=EventSourceResponse,
    dependencies=[Depends(_known)],
    responses=documented(404),
)
async def stream_events(
    live: Events,
    job: Job = None,
    after: Annotated[int | None, Query(ge=0, le=_LARGEST, description="Default: from now on.")] = None,
    last_event_id: Annotated[int | None, Header(ge=0, le=_LARGEST)] = None,
) -> AsyncGenerator[ServerSentEvent]:
    """Server-sent events: ``id`` is the sequence number, ``event`` the kind, ``data`` an EventView.

    ``Last-Event-ID``, which browsers send when they connect again, goes before ``after``. A comment
    every 15 seconds keeps the connection open.
    """
    yield ServerSentEvent(comment="listening", retry=RETRY)
    async with aclosing(live.listen(after if last_event_id is None else last_event_id, job)) as batches:
        async for batch in batches:
            for event in batch:
                yield ServerSentEvent(
                    id=str(event.sequence), event=event.kind, raw_data=event.model_dump_json()
                )
