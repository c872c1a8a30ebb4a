import pytest

from farm.domain.costs import Span
from farm.domain.errors import BadInput
from farm.simulate.estimates import Estimates, Said
from farm.simulate.plot import save
from farm.simulate.report import PHASES, jain, over_time, simulate
from farm.simulate.scenario import scenario
from farm.simulate.trace import Kind, Trace
from tests.unit.simulate.traces import group, tiny


def test_fairness_is_one_for_equals_and_falls_to_one_of_n() -> None:
    assert jain([2.0, 2.0, 2.0]) == pytest.approx(1)
    assert jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(1 / 4)
    assert jain([1.0, 3.0]) == pytest.approx(16 / 20)


def test_what_one_worker_did_is_accounted_for() -> None:
    came, measured = simulate(tiny(group(frames=3)), "whole-fifo")
    assert came.utilisation == pytest.approx(1, abs=0.01)
    assert came.useful == 1
    assert came.wasted == 0
    assert (came.loading, came.syncing) == (pytest.approx(4), pytest.approx(6))
    assert came.attempts == 4
    assert came.times_bound == pytest.approx(1, abs=0.01)
    assert came.stretch_mean == pytest.approx(1, abs=0.01)
    rows = over_time(measured, parts=38)
    assert sum(rows["load"]) == pytest.approx(4, abs=0.1)
    assert sum(rows["sync"]) == pytest.approx(6, abs=0.1)
    assert sum(rows["render"]) == pytest.approx(24, abs=0.1)
    assert sum(rows["other"]) == pytest.approx(4, abs=0.1)
    assert sum(rows["in vain"]) == 0
    assert rows["there"] == [pytest.approx(1)] * 38
    assert rows["load"][0] == pytest.approx(1, abs=0.01)


def test_the_price_is_that_of_the_seconds_of_attempts() -> None:
    fleet = (Kind(name="gpu", share=1, price=36.0),)
    drawn = scenario(Trace(name="t", about="t", jobs=(group(frames=3),), fleet=fleet), 1, 1)
    assert simulate(drawn, "whole-fifo")[0].cost == pytest.approx(0.38)


def test_users_who_wait_longer_than_others_are_seen() -> None:
    long, short = group("long", frames=100), group("short", user="boris", arrival=10)
    fifo = simulate(tiny(long, short, workers=2), "whole-fifo")[0]
    ours = simulate(tiny(long, short, workers=2), "ours")[0]
    assert fifo.fairness < 0.6
    assert ours.fairness > fifo.fairness + 0.1


def test_ranges_are_judged_by_what_came() -> None:
    estimates = Estimates(every=10)
    assert estimates.due(0)
    assert not estimates.due(9)
    assert estimates.due(10)
    estimates.said = [
        Said("j1", 0, Span(low=80, likely=100, high=120)),  # 100 left: held
        Said("j1", 60, Span(low=10, likely=20, high=30)),  # 40 left: it took longer
        Said("j1", 80, Span(low=25, likely=30, high=45)),  # 20 left: it took less
        Said("j1", 100, Span(low=0, likely=0, high=0)),  # it is over
    ]
    judged = estimates.judged({"j1": (0.0, 100.0)})
    assert judged is not None
    assert (judged.said, judged.held, judged.early, judged.late) == (3, 1 / 3, 1 / 3, 1 / 3)
    assert judged.widths == (0.4, None, 0.5, 1.0)
    assert Estimates().judged({}) is None


def test_ours_says_what_is_left_and_plain_policies_do_not() -> None:
    drawn = tiny(group(frames=200, spread=0.2, render=60), workers=4)
    ours = simulate(drawn, "ours")[0].honesty
    assert ours is not None
    assert ours.said > 20
    assert 0 < ours.held <= 1
    assert all(width is not None and width > 0 for width in ours.widths)
    assert simulate(drawn, "whole-fifo")[0].honesty is None


def test_a_plot_shows_each_run(tmp_path) -> None:
    drawn = tiny(group(frames=6), workers=2)
    runs = [simulate(drawn, "ours"), simulate(drawn, "whole-fifo")]
    save(tmp_path / "a.svg", "Six <frames>", runs)
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "Six &lt;frames&gt;" in text
    assert text.count("<g ") == 2
    assert all(f">{phase}</text>" in text for phase in PHASES)


def test_a_plot_that_cannot_be_written_says_why(tmp_path) -> None:
    runs = [simulate(tiny(group()), "ours")]
    with pytest.raises(BadInput, match=r"a\.png"):
        save(tmp_path / "a.png", "", runs)
    with pytest.raises(BadInput, match="cannot be written"):
        save(tmp_path / "none" / "a.svg", "", runs)
