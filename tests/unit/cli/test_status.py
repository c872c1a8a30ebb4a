"""farm status: what a person sees of a farm that is not well."""

import time
from types import SimpleNamespace

import pytest

from farm.embedded.state import Part, Phase


@pytest.fixture
def here(farm, monkeypatch, tmp_path):
    """A farm on this machine whose page is the fake; its parts are for the test to say."""
    import os

    found = SimpleNamespace(url=os.environ["FARM_URL"], pid=42, home=tmp_path / "home", ready=True, parts=())
    monkeypatch.setattr("farm.cli.status.running", lambda: found)
    return found


def part(name: str, phase: Phase = Phase.READY, **more) -> Part:
    return Part(name=name, phase=phase, log=f"/home/logs/{name}.log", **more)


def test_each_part_is_told_with_its_phase_and_restarts(cli, here):
    here.parts = (part("storage"), part("web", restarts=2))
    lines = cli("status").out.splitlines()
    assert "  storage     ready" in lines
    assert "  web         ready, started again 2 times" in lines


@pytest.mark.parametrize(
    ("phase", "restarts", "since"),
    [(Phase.FAILING, 4, 0), (Phase.STARTING, 1, 0), (Phase.READY, 2, 1e12)],
    ids=["between two starts", "coming back", "just back again"],
)
def test_a_part_that_keeps_failing_says_its_last_words_and_the_cure(cli, here, phase, restarts, since):
    last = (
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in <module>',
        "2026-01-02 03:04:05,678 ERROR farm.dispatch The database does not answer.",
        "Look whether it runs.",
    )
    here.parts = (part("storage"), part("dispatcher", phase, restarts=restarts, since=since, last=last))
    lines = [line.strip() for line in cli("status").out.splitlines()]
    told = lines[lines.index("storage     ready") + 1 :]
    assert told[0].startswith("dispatcher  keeps failing, started again")
    assert told[1:] == [
        "The database does not answer.",
        "Look whether it runs.",
        "The whole log is in /home/logs/dispatcher.log; “farm doctor” checks this machine.",
    ]


def test_of_a_traceback_only_its_last_line_is_told(cli, here):
    last = ("Traceback (most recent call last):", '  File "x.py", line 1', "    boom()", "KeyError: 'x'")
    here.parts = (part("web", Phase.FAILING, restarts=1, last=last),)
    said = cli("status").out  # the fixture refuses any “Traceback”
    assert "KeyError: 'x'" in said
    assert "x.py" not in said


def test_the_parts_are_told_also_where_the_page_is_away(cli, here, farm):
    farm.away = 10**6
    here.parts = (part("web", Phase.FAILING, restarts=3, last=("No room.",)),)
    said = cli("status")
    assert said.code == 1
    assert "web         keeps failing, started again 3 times" in said.out
    assert cli("status", "--json").json["parts"][0]["restarts"] == 3


def test_json_has_url_workers_and_parts(cli, here):
    here.parts = (part("storage"), part("web", restarts=1, last=("bye",)))
    told = cli("status", "--json").json
    assert (told["running"], told["url"], told["pid"], told["workers"]) == (True, here.url, 42, [])
    assert [(one["name"], one["phase"], one["restarts"], one["last"]) for one in told["parts"]] == [
        ("storage", "ready", 0, []),
        ("web", "ready", 1, ["bye"]),
    ]


def test_a_farm_elsewhere_has_no_parts_to_tell(cli, farm):
    assert cli("status", "--json").json["parts"] == []


def test_a_part_that_settled_is_well_again():
    assert not part("ray", restarts=9).ails(time.time())
    assert not part("dispatcher", Phase.WAITING, restarts=9).ails(time.time())
