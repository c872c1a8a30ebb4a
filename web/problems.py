"""Errors as people meet them: problem details (RFC 9457) under ``/api``, a page elsewhere."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from farm.domain.errors import ProblemDetails, TesseraError
from farm.domain.job import new_id
from web.html import html

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
_HTTP = {
    405: "{method} is not possible at {path}.",
    413: "The request is larger than this call takes.",
    416: "The file ends before the part that was asked for.",
}
_LISTED = 3  # faults of one request that are told; the rest is counted


def answer(request: Request, problem: ProblemDetails, headers: dict[str, str] | None = None) -> Response:
    """The problem as JSON for programs, as a page for people."""
    if request.url.path.startswith("/api/"):
        return JSONResponse(problem.model_dump(), problem.status, headers, MEDIA_TYPE)
    return html("problem.html", problem.status, headers, problem=problem)


def install(app: FastAPI) -> None:
    """Turn every error of ``app`` into a problem."""
    app.add_exception_handler(TesseraError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_middleware(Unexpected)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """``responses=`` of a route that may answer with these problems."""
    said = {
        400: "The request could not be read.",
        404: "There is no such thing.",
        409: "Not possible now.",
        422: "This cannot work as given.",
        503: "A part of the farm does not answer; a retry can help.",
        507: "No room left.",
    }
    return {status: {"model": ProblemDetails, "description": said[status]} for status in statuses}


class Unexpected:
    """ASGI middleware: a fault of ours becomes a 500 without its traceback, which goes to the log."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            if scope["type"] != "http":
                raise
            reference = new_id()
            log.exception("%s %s failed (reference %s)", scope["method"], scope["path"], reference)
            if begun:  # too late for words: cutting the connection tells that the body is not whole
                raise
            problem = ProblemDetails(
                type="urn:tessera:problem:error",
                title="The farm failed",
                status=500,
                detail=f"Something in the farm broke while it answered (reference {reference}).",
                cure="Try again. If it stays, look for the reference in the farm's web log and report it.",
            )
            await answer(Request(scope, receive), problem)(scope, receive, send)


async def _known(request: Request, error: Exception) -> Response:
    assert isinstance(error, TesseraError)  # noqa: S101 (registered for this class only)
    if error.status >= 500:
        log.warning("%s %s: %s", request.method, request.url.path, error.what)
    return answer(request, error.problem(), {"Retry-After": "2"} if error.retryable else None)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    faults = error.errors()
    told = [_sentence(fault) for fault in faults[:_LISTED]]
    if len(faults) > _LISTED:
        told.append(f"And {len(faults) - _LISTED} more.")
    problem = ProblemDetails(
        type="urn:tessera:problem:invalid",
        title="The request could not be read",
        status=422,
        detail=" ".join(told),
        cure="The page /api/docs says what this call takes.",
        code="bad-input",
    )
    if not request.url.path.startswith("/api/"):  # a mistyped address, not a malformed call
        problem = _unknown_page(request)
    return answer(request, problem)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    if error.status_code == 404:
        return answer(request, _unknown_page(request))
    allowed = (error.headers or {}).get("Allow", "")
    problem = ProblemDetails(
        type=f"urn:tessera:problem:http-{error.status_code}",
        title=HTTPStatus(error.status_code).phrase,
        status=error.status_code,
        detail=_HTTP.get(error.status_code, "{said}.").format(
            method=request.method, path=request.url.path, said=error.detail.rstrip(".")
        ),
        cure=f"Use {allowed}; /api/docs lists every call."
        if allowed
        else "The page /api/docs lists every call.",
        code="usage",
    )
    return answer(request, problem, dict(error.headers or {}))


async def _gone(request: Request, error: Exception) -> Response:
    """The client hung up while it sent; nobody reads this answer, but the log shows the status."""
    del error
    log.info("%s %s: the client went away while sending", request.method, request.url.path)
    return Response(status_code=400)


def _unknown_page(request: Request) -> ProblemDetails:
    return ProblemDetails(
        type="urn:tessera:problem:not-found",
        title="Nothing here",
        status=404,
        detail=f"There is nothing at {request.url.path[:200]}.",
        cure="Jobs are at /, the farm at /farm and the description of the API at /api/docs.",
        code="not-found",
    )


def _sentence(fault: Any) -> str:
    """One fault that pydantic found, for people: “settings.samples” is wrong: …"""
    where = ".".join(str(part) for part in fault["loc"] if part not in ("body", "query", "path", "header"))
    said = str(fault["msg"]).removeprefix("Value error, ").rstrip(".")
    match fault["type"]:
        case "json_invalid":
            return "The body is not JSON."
        case "model_attributes_type" if not where:
            return "The body is not a JSON object, or was not sent as Content-Type: application/json."
        case "missing":
            return f"“{where or 'the body'}” is missing."
        case "extra_forbidden":
            return f"“{where[:80]}” is not known here."
        case _ if where:
            return f"“{where[:80]}” is wrong: {said[:1].lower()}{said[1:]}."
        case _:
            return f"{said}."
