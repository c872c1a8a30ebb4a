"""The FastAPI application: API, pages, live events, behind one guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles

from web import problems
from web.api import blobs, events, farm, frames, jobs, limits, outputs, scenes
from web.guard import Guard
from web.head import Head
from web.limit import Limit
from web.live import Live
from web.pages import addon_page, docs_page, farm_page, job_page, jobs_page
from web.services import Services

_STATIC = Path(__file__).parent / "static"

_ABOUT = """The API of a Tessera render farm; its own pages, the `farm` command and the add-on use it too.

Uploads are content-addressed: ask which blobs are missing, put those, register the scene, submit a job.
Every error is a problem detail (RFC 9457) with a sentence for people and, in `cure`, what to do.
"""

_TAGS = [
    {"name": "jobs", "description": "Requests to render frames of a scene."},
    {"name": "frames", "description": "Pictures of a job, with their tiles while they render."},
    {"name": "outputs", "description": "Stored files: frames, previews, logs."},
    {"name": "scenes", "description": "A .blend with its assets, named by the hash of its content."},
    {"name": "events", "description": "What happened, live."},
    {"name": "farm", "description": "The farm itself."},
]


class Described(FastAPI):
    """A FastAPI app whose description says that errors are ``application/problem+json``."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            schema = super().openapi()
            operations = [operation for path in schema["paths"].values() for operation in path.values()]
            for operation in operations:
                for status, response in operation["responses"].items():
                    if response["description"] == "Successful Response":
                        response["description"] = "The answer."
                    if status >= "400":  # FastAPI says that a model comes as plain JSON
                        (content,) = response["content"].values()
                        response["content"] = {problems.MEDIA_TYPE: content}
        return super().openapi()


def create_app(services: Services, host: str = "127.0.0.1") -> FastAPI:
    """The app on ``services``; ``host`` is the name that it is bound to besides this machine's own."""
    live = Live(services)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        del app
        yield
        live.close()

    app = Described(
        title="Tessera",
        version=version("tessera"),
        description=_ABOUT,
        openapi_tags=_TAGS,
        openapi_url="/api/openapi.json",
        docs_url=None,  # Swagger and ReDoc come from a CDN; ours is a page of its own
        redoc_url=None,
        generate_unique_id_function=_operation,
        lifespan=lifespan,
    )
    app.state.services = services
    app.state.live = live
    app.state.uploads = anyio.CapacityLimiter(blobs.UPLOADS)
    for api in (farm, limits, jobs, frames, outputs, scenes, blobs, events):
        app.include_router(api.router, prefix="/api")
    for page in (jobs_page, job_page, farm_page, addon_page, docs_page):
        app.include_router(page.router, include_in_schema=False)
    app.get("/healthz", include_in_schema=False)(_healthy)
    app.mount("/static", StaticFiles(directory=_STATIC))
    problems.install(app)
    app.add_middleware(Limit)
    app.add_middleware(Head)
    app.add_middleware(Guard, hosts=[host])
    return app


def _operation(route: APIRoute) -> str:
    return route.name


def _healthy() -> dict[str, str]:
    """The process answers; what else answers is told by ``/api/farm``."""
    return {"status": "ok"}
