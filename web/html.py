"""Renders the templates. Everything put into one is escaped; undefined names fail loudly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from farm.domain.proved import outcome, renderer
from web.pages import bars, words

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
    "left": words.left,
    "size": words.size,
}
TEMPLATES.globals |= {
    "outcome": outcome,
    "renderer": renderer,
    "segments": bars.segments,
    "told": bars.told,
}


def html(
    template: str, status: int = 200, headers: dict[str, str] | None = None, **context: Any
) -> HTMLResponse:
    """``template`` filled with ``context``, as an answer."""
    return HTMLResponse(TEMPLATES.get_template(template).render(context), status, headers)
