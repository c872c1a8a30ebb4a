"""Retries and errors of the one line to a farm, on a transport that does as it is told."""

import httpx
import pytest

from farm.client.connection import Connection
from farm.domain.errors import NotFound, TesseraError, Unavailable, UsageError
from farm.domain.views import FarmView

PULSE = httpx.Response(200, content=FarmView(version="1").model_dump_json())


class Script:
    """Answers with the next of its steps, the last one for ever; keeps its own clock."""

    def __init__(self, *steps: httpx.Response | Exception) -> None:
        self.steps, self.calls, self.now = list(steps), 0, 0.0
        self.pauses: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        step = self.steps[min(self.calls, len(self.steps) - 1)]
        self.calls += 1
        if isinstance(step, Exception):
            raise step
        return httpx.Response(step.status_code, content=step.content, headers=step.headers)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def line(self, patience: float = 10) -> Connection:
        return Connection(
            "http://127.0.0.1:1",
            patience=patience,
            transport=httpx.MockTransport(self),
            clock=lambda: self.now,
            sleep=self.sleep,
        )


def ask(line: Connection, again: bool = True) -> FarmView:
    return line.ask(FarmView, "GET", "/api/farm", again=again)


def problem(error: TesseraError) -> httpx.Response:
    return httpx.Response(error.status, content=error.problem().model_dump_json())


def test_a_farm_that_never_answered_fails_at_once_with_the_cure():
    script = Script(httpx.ConnectError("refused"))
    with pytest.raises(Unavailable) as caught:
        ask(script.line())
    assert caught.value.what == "No farm answers at http://127.0.0.1:1."
    assert caught.value.cure == "Start one with: farm up, or name one with --farm URL."
    assert script.calls == 1


def test_a_farm_that_restarts_is_waited_for_with_growing_pauses():
    script = Script(PULSE, httpx.ConnectError("x"), httpx.ReadError("x"), httpx.Response(502), PULSE)
    line = script.line()
    ask(line)
    assert ask(line).version == "1"
    assert script.pauses == [0.25, 0.5, 1.0]


def test_patience_ends():
    script = Script(PULSE, httpx.ConnectError("refused"))
    line = script.line(patience=5)
    ask(line)
    with pytest.raises(Unavailable):
        ask(line)
    assert sum(script.pauses) <= 5
    assert script.calls > 3


def test_what_may_have_been_sent_is_not_sent_again_where_that_would_count_twice():
    script = Script(PULSE, httpx.ReadError("broke"), PULSE)
    line = script.line()
    ask(line)
    with pytest.raises(Unavailable):
        ask(line, again=False)
    assert script.calls == 2


def test_what_was_surely_not_sent_is_sent_again_always():
    script = Script(PULSE, httpx.ConnectError("refused"), PULSE)
    line = script.line()
    ask(line)
    assert ask(line, again=False).version == "1"


def test_the_farms_own_error_arrives_as_it_was_raised():
    with pytest.raises(NotFound) as caught:
        ask(Script(problem(NotFound("There is no job x.", "Look."))).line())
    assert (caught.value.what, caught.value.cure) == ("There is no job x.", "Look.")


def test_a_malformed_call_stays_a_usage_error_with_exit_code_2():
    with pytest.raises(UsageError) as caught:
        ask(Script(problem(UsageError("“5-1” runs backwards.", "Write 1-5."))).line())
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "answer",
    [httpx.Response(200, content=b"<html>router</html>"), httpx.Response(404, content=b"nginx")],
)
def test_something_else_on_the_port_is_named_as_such(answer):
    with pytest.raises(TesseraError, match="does not speak as a Tessera"):
        ask(Script(answer).line())


def test_a_bare_503_says_that_the_farm_is_not_ready():
    with pytest.raises(Unavailable, match="not ready"):
        ask(Script(httpx.Response(503, content=b"")).line())


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://x", "http://", "http://[::1", "nonsense"])
def test_what_is_no_address_is_a_usage_error(url):
    with pytest.raises(UsageError, match="is not the address of a farm"):
        Connection(url)


def test_proxies_of_the_environment_do_not_catch_loopback(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    for url in ("http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "http://127.8.0.1:1"):
        line = Connection(url)
        assert line._client.trust_env is False
        assert line._client._mounts == {}
    assert Connection("http://farm.example:1")._client._mounts != {}
