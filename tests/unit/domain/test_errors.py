from __future__ import annotations

import pytest

from farm.domain.errors import (
    BadInput,
    Conflict,
    NotFound,
    ProblemDetails,
    StorageFull,
    TesseraError,
    Unavailable,
    UsageError,
    error_from_problem,
    in_one_line,
)

ALL = [
    (TesseraError, 500, 1, False),
    (BadInput, 422, 1, False),
    (UsageError, 400, 2, False),
    (NotFound, 404, 1, False),
    (Conflict, 409, 1, False),
    (StorageFull, 507, 1, False),
    (Unavailable, 503, 1, True),
]
each = pytest.mark.parametrize(("kind", "status", "exit_code", "retryable"), ALL)


@each
def test_an_error_says_what_it_means_for_http_for_the_cli_and_for_a_retry(
    kind: type[TesseraError], status: int, exit_code: int, retryable: bool
) -> None:
    assert (kind.status, kind.exit_code, kind.retryable) == (status, exit_code, retryable)
    assert kind.title


@each
def test_an_error_survives_the_way_through_the_api(
    kind: type[TesseraError], status: int, exit_code: int, retryable: bool
) -> None:
    sent = kind("What happened.", "What to do.").problem().model_dump_json()
    error = error_from_problem(ProblemDetails.model_validate_json(sent))

    assert type(error) is kind
    assert (error.what, error.cure, str(error)) == ("What happened.", "What to do.", "What happened.")


def test_every_error_has_a_code_of_its_own() -> None:
    assert len({kind.code for kind, *_ in ALL}) == len(ALL)


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    assert {kind for kind, *_ in ALL} == {TesseraError, *_below(TesseraError)}


def _below(kind: type[TesseraError]) -> set[type[TesseraError]]:
    """Subclasses in this module: other rooms may have their own."""
    found = {sub for sub in kind.__subclasses__() if sub.__module__ == TesseraError.__module__}
    return found.union(*(_below(sub) for sub in found))


def test_a_problem_is_written_as_rfc_9457_asks() -> None:
    assert NotFound("There is no job “x”.", "farm jobs lists them.").problem().model_dump() == {
        "type": "urn:tessera:problem:not-found",
        "title": "Not found",
        "status": 404,
        "detail": "There is no job “x”.",
        "cure": "farm jobs lists them.",
        "code": "not-found",
    }


def test_a_problem_of_an_unknown_code_is_an_error_all_the_same() -> None:
    error = error_from_problem(ProblemDetails(title="Teapot", status=418, detail="Short.", code="teapot"))

    assert type(error) is TesseraError
    assert error.what == "Short."


def test_of_which_one_line_is_left_tells_the_cure_in_it() -> None:
    with pytest.raises(Unavailable) as told, in_one_line():
        raise Unavailable("No Blender is here.", "Run: make setup")
    assert (told.value.what, told.value.cure) == ("No Blender is here. Run: make setup", "")
    with pytest.raises(UsageError) as usage, in_one_line():
        raise UsageError("FARM_WORKER_PRICE is “x”.")
    assert usage.value.in_a_line == "FARM_WORKER_PRICE is “x”."
