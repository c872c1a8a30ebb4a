"""Every error a user can meet, as one small tree.

::

    TesseraError                 what happened, where, and the cure
    ├── BadInput         (422)   the request or the scene is wrong; the same call fails again
    │   └── UsageError   (400)   the call itself is malformed (CLI exit code 2)
    ├── NotFound         (404)
    ├── Conflict         (409)   right call, wrong moment
    ├── StorageFull      (507)
    └── Unavailable      (503)   a part of the farm is away; a retry can help

An error is a sentence for a person: *what* says what happened and to which thing, *cure* says what
to do. The CLI prints the two on two lines; the API sends them as problem details (RFC 9457).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class ProblemDetails(BaseModel):
    """Body of every failed API call: RFC 9457, media type ``application/problem+json``."""

    model_config = ConfigDict(frozen=True)

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    cure: str = ""
    code: str = "error"


class TesseraError(Exception):
    """Base of all errors shown to users."""

    status: ClassVar[int] = 500
    title: ClassVar[str] = "The farm failed"
    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, what: str, cure: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.cure = cure

    @property
    def in_a_line(self) -> str:
        """What happened and the cure, for where there is but one line."""
        return f"{self.what} {self.cure}".rstrip()

    def problem(self) -> ProblemDetails:
        """The error as the body of an API answer."""
        return ProblemDetails(
            type=f"urn:tessera:problem:{self.code}",
            title=self.title,
            status=self.status,
            detail=self.what,
            cure=self.cure,
            code=self.code,
        )


@contextmanager
def in_one_line() -> Iterator[None]:
    """What is raised within tells the cure with what happened: for a process of which one line is left."""
    try:
        yield
    except TesseraError as error:
        raise type(error)(error.in_a_line) from error


class BadInput(TesseraError):
    """The request or the scene cannot work as given."""

    status = 422
    title = "This cannot be rendered as asked"
    code = "bad-input"


class UsageError(BadInput):
    """The call is malformed: a range, a grid or an option that cannot be read."""

    status = 400
    title = "The request could not be read"
    code = "usage"
    exit_code = 2


class NotFound(TesseraError):
    """No such job, frame, scene or output."""

    status = 404
    title = "Not found"
    code = "not-found"


class Conflict(TesseraError):
    """The call is right but comes at the wrong moment, such as cancelling a finished job."""

    status = 409
    title = "Not possible now"
    code = "conflict"


class StorageFull(TesseraError):
    """No room left where the bytes should go."""

    status = 507
    title = "No room left"
    code = "storage-full"


class Unavailable(TesseraError):
    """A part of the farm does not answer."""

    status = 503
    title = "A part of the farm does not answer"
    code = "unavailable"
    retryable = True


_BY_CODE: dict[str, type[TesseraError]] = {
    kind.code: kind for kind in (BadInput, UsageError, NotFound, Conflict, StorageFull, Unavailable)
}


def error_from_problem(problem: ProblemDetails) -> TesseraError:
    """The error that a problem-details body describes; unknown codes become `TesseraError`."""
    return _BY_CODE.get(problem.code, TesseraError)(problem.detail, problem.cure)
