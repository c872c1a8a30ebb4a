"""`farm simulate` needs no farm, and says what it does."""

import pytest

TRACE = """
name = "tiny"
about = "Two short films"
workers = 3

[[jobs]]
name = "film"
user = "anna"
count = 2
frames = 6
"""


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TRACE, encoding="utf-8")
    return path


def test_a_trace_is_simulated_under_each_policy(cli, trace):
    said = cli("simulate", "--trace", trace, "--policy", "all")
    assert said.code == 0
    assert "Two short films: 2 jobs of 12 frames for 3 workers, seed 1." in said.out
    assert "ours" in said.out
    assert "whole-fifo" in said.out
    assert "fixed-chunks" in said.out
    assert "× the lower bound" in said.out


def test_programs_are_given_one_object(cli, trace):
    said = cli("simulate", "--trace", trace, "--workers", 2, "--seed", 9, "--json").json
    outcome = said.pop("outcomes")
    assert said == {"trace": "tiny", "seed": 9, "workers": 2, "jobs": 2, "frames": 12}
    assert list(outcome) == ["ours"]
    assert outcome["ours"]["makespan"] >= outcome["ours"]["bound"] > 0
    assert outcome["ours"]["times_bound"] == outcome["ours"]["makespan"] / outcome["ours"]["bound"]
    assert outcome["ours"]["failed"] == {}


def test_the_plot_is_written(cli, trace, tmp_path):
    said = cli("simulate", "--trace", trace, "--plot", tmp_path / "a.svg")
    assert said.code == 0
    assert f"The plot is in {tmp_path / 'a.svg'}" in said.out.replace("\n", "")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "Which work is to be simulated?"),
        (("--mix", "stills", "--trace", "a.toml"), 2, "Which work is to be simulated?"),
        (("--mix", "quiet"), 1, "There is no mix “quiet”."),
        (("--trace", "a.toml"), 1, "There is no trace “a.toml”."),
        (("--mix", "stills", "--policy", "best"), 2, "best"),
        (("--mix", "stills", "--workers", "0"), 2, "--workers"),
    ],
)
def test_a_call_that_cannot_work_says_why(cli, arguments, code, says):
    said = cli("simulate", *arguments)
    assert said.code == code
    assert says in said.err


def test_a_plot_of_another_kind_is_refused_before_anything_is_simulated(cli, trace):
    said = cli("simulate", "--trace", trace, "--plot", "a.png")
    assert said.code == 1
    assert "a.png" in said.err
    assert "lower bound" not in said.out
