"""Renders the templates. Everything put into one is escaped; undefined names fail loudly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from farm.domain import telling
from farm.domain.proved import outcome, renderer
from web.pages import bars, doing, words

_HERE = Path(__file__).parent

TEMPLATES = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {
    "ago": words.ago,
    "count": words.count,
    "duration": words.duration,
    "iso": words.iso,
    "moments": words.moments,
    "money": telling.money,
    "memory": telling.memory,
    "quoted": telling.quoted,
    "size": words.size,
    "within": telling.within,
}
TEMPLATES.globals |= {
    "can_cancel": doing.can_cancel,
    "can_pause": doing.can_pause,
    "can_retry": doing.can_retry,
    "outcome": outcome,
    "costs_of": telling.costs,
    "held": telling.held,
    "price_of": telling.price,
    "priced": telling.priced,
    "renderer": renderer,
    "segments": bars.segments,
    "standing": telling.standing,
    "told": bars.told,
    "wishes": lambda control, now: telling.wishes(control, now, words.utc),
}


def html(
    template: str, status: int = 200, headers: dict[str, str] | None = None, **context: Any
) -> HTMLResponse:
    """``template`` filled with ``context``, as an answer."""
    return HTMLResponse(TEMPLATES.get_template(template).render(context), status, headers)
