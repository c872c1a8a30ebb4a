import random

import pytest

from farm.domain.errors import BadInput, NotFound
from farm.domain.tiles import Box, Size, TileGrid
from farm.simulate.draw import Lognormal, draw, draw_whole
from farm.simulate.scenario import scenario
from farm.simulate.trace import Failures, Jobs, Kind, Trace, mix, mixes, parse, read
from tests.unit.simulate.traces import group, tiny


def test_the_traces_that_come_with_it_can_be_read_and_drawn() -> None:
    assert mixes() == ["animation", "bursts", "heavy-sync", "spot", "stills", "studio-day"]
    for name in mixes():
        drawn = scenario(mix(name), 1)
        assert mix(name).name == name
        assert len(drawn.machines) == mix(name).workers
        assert len({job.id for job in drawn.jobs}) == len(drawn.jobs)


def test_a_seed_draws_the_same_and_another_seed_something_else() -> None:
    trace = mix("spot")
    assert scenario(trace, 7) == scenario(trace, 7)
    assert scenario(trace, 7) != scenario(trace, 8)
    assert scenario(trace, 7).jobs[0].work == scenario(trace, 7).jobs[0].work


def test_more_workers_leave_the_work_as_it_is() -> None:
    few, many = scenario(mix("stills"), 3, 10), scenario(mix("stills"), 3, 20)
    assert few.jobs == many.jobs
    assert few.machines == many.machines[:10]


def test_a_trace_of_ones_own_is_read_from_a_file(tmp_path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text(
        'name = "ours"\nabout = "Two films"\nworkers = 3\n'
        '[[jobs]]\nname = "film"\nuser = "anna"\ncount = 2\nframes = [5, 9]\n'
        "render = { median = 60, sigma = 0.5 }\n",
        encoding="utf-8",
    )
    trace = read(path)
    assert trace == Trace(
        name="ours",
        about="Two films",
        workers=3,
        jobs=(
            Jobs(name="film", user="anna", count=2, frames=(5, 9), render=Lognormal(median=60, sigma=0.5)),
        ),
    )
    drawn = scenario(trace, 1)
    assert [job.id for job in drawn.jobs] == ["filmx1", "filmx2"]
    assert all(5 <= job.frames <= 9 for job in drawn.jobs)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = ", "is no TOML"),
        ('name = "a"\nabout = "b"\njobs = []', "wrong at “jobs”"),
        ('name = "a"\nabout = "b"\n[[jobs]]\nname = "x"\nuser = "u"\nframs = 3', "wrong at “jobs.0.frams”"),
        ('name = "a"\nabout = "b"\n[[jobs]]\nname = "A-1"\nuser = "u"', "wrong at “jobs.0.name”"),
        (
            'name = "a"\nabout = "b"\n[[jobs]]\nname = "x"\nuser = "u"\n[[jobs]]\nname = "x"\nuser = "u"',
            "two groups of jobs have one name",
        ),
        (
            'name = "a"\nabout = "b"\n[[jobs]]\nname = "x"\nuser = "u"\npriority = 101',
            "wrong at “jobs.0.priority”",
        ),
    ],
)
def test_a_trace_that_is_wrong_says_where(text: str, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse(text, "ours.toml")
    assert says in refused.value.what
    assert refused.value.cure


def test_traces_that_are_not_there_name_those_that_are(tmp_path) -> None:
    with pytest.raises(NotFound, match="There is no mix “quiet”") as refused:
        mix("quiet")
    assert "studio-day" in refused.value.cure
    with pytest.raises(NotFound, match="There is no trace"):
        read(tmp_path / "none.toml")


def test_numbers_are_drawn_as_they_are_written() -> None:
    dice = random.Random(1)  # noqa: S311  a seed repeats it
    assert draw(12, dice) == 12.0
    assert {draw_whole((2, 4), dice) for _ in range(100)} == {2, 3, 4}
    between = [draw((5, 20), dice) for _ in range(1000)]
    assert 5 <= min(between) < 5.5
    assert 19.5 < max(between) <= 20
    capped = [draw(Lognormal(median=60, sigma=1, most=100), dice) for _ in range(1001)]
    assert max(capped) == 100
    assert 55 < sorted(capped)[500] < 65


def test_workers_are_shared_out_by_kind() -> None:
    fleet = (Kind(name="old", share=3), Kind(name="new", share=1, speed=2))
    trace = Trace(name="t", about="t", jobs=(group(),), fleet=fleet)
    names = [machine.info.device_name for machine in scenario(trace, 1, 8).machines]
    assert (names.count("old"), names.count("new")) == (6, 2)
    assert scenario(trace, 1, 100).machines[:8] == scenario(trace, 1, 8).machines


def test_workers_that_are_taken_back_come_and_go_in_spans() -> None:
    fleet = (Kind(name="spot", share=1, stays=3600, away=600),)
    [machine] = scenario(Trace(name="t", about="t", jobs=(group(),), fleet=fleet), 1, 1).machines
    starts = [start for start, _ in machine.gone]
    assert starts == sorted(starts)
    assert all(start < end for start, end in machine.gone)
    here = sum(start for start, _ in machine.gone) - sum(end for _, end in machine.gone[:-1])
    assert 3000 < here / len(machine.gone) < 4200


def test_the_parts_of_an_uneven_picture_cost_what_the_whole_does() -> None:
    [job] = tiny(group(uneven=0.7, width=641, height=361)).jobs
    size = Size(641, 361)
    assert job.scene.share(size.box) == pytest.approx(1.0)
    shares = [job.scene.share(tile.core) for tile in TileGrid(3, 5).tiles(size.box)]
    assert sum(shares) == pytest.approx(1.0)
    assert max(shares) > 1.2 * min(shares)
    [even] = tiny(group(width=640, height=360)).jobs
    assert even.scene.share(Box(0, 0, 320, 90)) == pytest.approx(1 / 8)


def test_frames_are_spread_around_what_the_job_takes() -> None:
    [job] = tiny(group(frames=500, spread=0.3)).jobs
    renders = sorted(job.scene.frame(number)[1] for number in range(1, 501))
    assert renders[250] == pytest.approx(8, rel=0.1)
    assert renders[0] < 5
    assert renders[-1] > 13
    assert job.scene.frame(3)[0] / job.scene.frame(3)[1] == pytest.approx(2 / 8)
    assert Failures().slow_by == (2.0, 6.0)
