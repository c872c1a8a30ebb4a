"""Before which others, when and where a job is rendered: options of a submit, and verbs for later."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from farm.cli import when
from farm.client.client import FarmClient
from farm.domain.control import Control, Needs
from farm.domain.costs import Costs, Span
from farm.domain.errors import UsageError
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.views import AttemptView, FailedWorker, FrameView, Made, RecutView, WorkerView
from farm.domain.work import Cause, RenderClass, WorkerInfo

CLASS = RenderClass(blender="5.2.3 e13b728c6880", device="OPTIX", kernel="sm_90")


@pytest.fixture
def job(cli, farm, blend) -> str:
    """A submitted job that nothing happens to by itself."""
    return cli("submit", blend).out.strip()


def test_a_submit_says_before_which_others_when_and_where(cli, farm, job, blend):
    said = cli(
        "submit", blend, "--priority", 80, "--after", job, "--frame-wise", "--start", "2099-12-24T18:00Z",
        "--max-workers", 4, "--memory", "24GiB", "--tag", "rtx", "--tag", "linux", "--order", "every:10",
        "--other-class", "--paused",
    )  # fmt: skip
    assert (said.code, said.out) == (0, "job2\n")
    assert farm.jobs["job2"].control == Control(
        priority=80,
        paused=True,
        start=datetime.fromisoformat("2099-12-24T18:00+00:00").timestamp(),
        workers=4,
        needs=Needs(memory=24 << 30, tags=("linux", "rtx")),
        after=(job,),
        frame_wise=True,
        order="every:10",
        other_class=True,
    )


def test_a_submit_without_a_wish_has_none(cli, farm, job):
    assert farm.jobs[job].control == Control()


def test_what_may_surprise_is_a_note_beside_the_id(cli, farm, blend):
    farm.notes = ["No worker of the farm has the tag “rtx” now: the job waits for one that does."]
    said = cli("submit", blend, "--tag", "rtx")
    assert (said.out, said.err) == ("job1\n", f"Note: {farm.notes[0]}\n")
    assert cli("submit", blend, "--tag", "rtx", "--json").json["notes"] == farm.notes


def test_a_render_takes_the_same_wishes(cli, farm, blend, renders):
    renders(1)
    assert cli("render", blend, "--priority", 70, "--out", "o").code == 0
    assert farm.jobs["job1"].control.priority == 70


@pytest.mark.parametrize(
    ("options", "what", "cure"),
    [
        (["--priority", "101"], "There is no priority 101.", "Choose one from 0 (last) to 100 (first)."),
        (["--start", "soon"], "“soon” is not a time to start at.", "Write 22:00, “in 2h”, or a date"),
        (["--start", "9999-06-01"], "“9999-06-01” is not a time to start at.", "Write 22:00"),
        (["--start", "25:00"], "“25:00” is not a time to start at.", "Write 22:00"),
        (["--start", "in"], "“in” is not a time to start at.", "Write 22:00"),
        (["--memory", "lots"], "“lots” is not an amount of memory.", "Write 24GiB, or 24GB."),
        (["--tag", "My GPU"], "“My GPU” is not a tag.", "Tags are short words"),
        (["--order", "backwards"], "“backwards” is not an order of frames.", "Write preview, turn, or every"),
        (["--frame-wise"], "--frame-wise says how to wait for another job", "Name it with --after JOB"),
    ],
)
def test_a_wish_that_cannot_be_read_is_2_and_makes_no_job(cli, farm, blend, options, what, cure):
    said = cli("submit", blend, *options)
    assert said.code == 2
    first, second = said.err.splitlines()
    assert first.startswith(what)
    assert second.startswith(cure)
    assert farm.jobs == {}


def test_to_wait_for_a_job_that_is_not_there_is_1(cli, farm, blend):
    said = cli("submit", blend, "--after", "nosuch")
    assert (said.code, said.err.splitlines()[0]) == (
        1,
        "There is no job nosuch on this farm to wait for.",
    )


def test_times_are_read_as_people_write_them():
    now = datetime(2026, 12, 1, 21, 30).astimezone()
    for text, later in (("in 2h", 7200), ("in 1h30m", 5400), ("in 90 min", 5400), ("in 1d", 86400)):
        assert when.moment(text, now) == now.timestamp() + later
    assert when.moment("22:00", now) == now.timestamp() + 1800
    assert when.moment("21:30", now) == (now + timedelta(days=1)).timestamp()  # the next one
    assert when.moment("2026-12-01 08:00", now) == datetime(2026, 12, 1, 8).astimezone().timestamp()
    with pytest.raises(UsageError):
        when.moment("in 99999999999d", now)


# --- verbs ---


def test_pause_and_resume_take_several_jobs(cli, farm, job, blend):
    cli("submit", blend)
    farm.plan("job2", "1-3")
    farm.frames["job2"][1] = FrameView(frame=1, state=TaskState.RUNNING)
    farm.change("job2")
    said = cli("pause", job, "job2")
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == [
        "Job job1 is paused: nothing of it is begun.",
        "Job job2 is paused: nothing new is begun. What renders now, of 1 frame, goes on to its end.",
    ]
    assert [farm.jobs[one].control.paused for one in (job, "job2")] == [True, True]
    assert cli("resume", "job2").out == "Job job2 goes on when it is its turn.\n"
    assert not farm.jobs["job2"].control.paused


def test_of_several_jobs_one_that_has_ended_does_not_keep_the_others(cli, farm, job, blend):
    cli("submit", blend)
    farm.end(job, JobState.DONE)
    said = cli("pause", job, "job2", "--json")
    assert said.code == 1
    assert said.err.splitlines()[0] == "Job job1 is done already."
    assert [one["job"] for one in said.json["jobs"]] == ["job2"]
    assert said.json["jobs"][0]["control"]["paused"] is True
    assert (said.json["error"], said.json["code"]) == ("Job job1 is done already.", "conflict")


def test_priority_says_what_it_is_now(cli, farm, job):
    assert cli("priority", job, 80).out == "Job job1 has priority 80.\n"
    assert cli("priority", job, 50).out == "Job job1 has priority 50, as jobs have by default.\n"
    said = cli("priority", job, 200)
    assert (said.code, said.err.splitlines()[0]) == (2, "There is no priority 200.")


def test_set_changes_what_is_given_and_leaves_the_rest(cli, farm, job, blend):
    cli("submit", blend)
    assert cli("set", "job2", "--memory", "8GiB", "--after", job, "--max-workers", 2).code == 0
    said = cli("set", "job2", "--tag", "rtx", "--frame-wise")
    assert said.out == (
        "Job job2: after its frame of the same number of job job1, workers 2 at once, at most, "
        "needs 8 GiB of memory, “rtx”.\n"
    )
    control = farm.jobs["job2"].control
    assert control.needs == Needs(memory=8 << 30, tags=("rtx",))
    assert (control.after, control.frame_wise, control.workers) == ((job,), True, 2)
    said = cli("set", "job2", "--memory", "none", "--tag", "none", "--after", "none", "--max-workers", "none",
               "--start", "now", "--whole")  # fmt: skip
    assert said.out == "Job job2: nothing but its turn is waited for.\n"
    assert farm.jobs["job2"].control == Control()


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ([], "Nothing is to be changed."),
        (["--max-workers", "0"], "“0” is no number of workers."),
        (["--max-workers", "many"], "“many” is no number of workers."),
        (["--tag", "none", "--tag", "rtx"], "--tag none stands beside others."),
        (["--start", "yesterday"], "“yesterday” is not a time to start at."),
    ],
)
def test_a_change_that_cannot_be_read_is_2_and_asks_nothing(cli, farm, job, options, what):
    farm.calls.clear()
    said = cli("set", job, *options)
    assert (said.code, said.err.splitlines()[0]) == (2, what)
    assert farm.calls == []


def test_retry_goes_on_with_a_job_that_came_to_nothing(cli, farm, job):
    farm.end(job, JobState.FAILED, "A frame failed.")
    said = cli("retry", job)
    assert (said.code, said.out) == (0, "Job job1 goes on with what is missing of it.\n")
    assert farm.jobs[job].retrying
    assert "retrying" in cli("jobs").out


def test_retry_of_a_job_that_is_done_names_rerender(cli, farm, job):
    farm.end(job, JobState.DONE)
    said = cli("retry", job)
    assert (said.code, said.err) == (
        1,
        "Job job1 is done: nothing of it is missing.\nRender it once more with: farm rerender job1\n",
    )


def test_retry_of_a_running_job_takes_failed_frames_or_those_that_are_named(cli, farm, job):
    farm.plan(job, "1-4")
    assert cli("retry", job).code == 1
    farm.fail(job, 2, "It broke.")
    farm.frames[job][3] = FrameView(frame=3, state=TaskState.RUNNING)
    assert cli("retry", job).out == "Frames that failed of job job1 are begun again.\n"
    assert farm.frames[job][2].state is TaskState.WAITING
    assert farm.frames[job][3].state is TaskState.RUNNING
    said = cli("retry", job, "--frames", "3-4")
    assert said.out == "Frames of 3-4 that render or failed of job job1 are begun again.\n"
    assert farm.frames[job][3].state is TaskState.WAITING


def test_limits_are_listed_changed_and_taken_back(cli, farm):
    assert cli("limits").out == "local  as many workers as there are\n"
    assert cli("limits", "local", 4).out == "local  4 workers at once, at most\n"
    assert cli("limits", "local", "--json").json == {
        "users": [{"id": "local", "name": "local", "workers": 4}]
    }
    assert cli("limits", "local", "none").out == "local  as many workers as there are\n"
    assert cli("limits", "nobody", 4).err.splitlines()[0] == "There is no user nobody on this farm."
    assert cli("limits", "nobody").code == 1
    assert cli("limits", "local", "0").code == 2


@pytest.mark.parametrize("verb", [["pause"], ["resume"], ["priority"], ["set"], ["retry"]])
def test_an_unknown_job_is_1_with_a_cure(cli, farm, verb):
    more = {"priority": ["80"], "set": ["--start", "now"]}.get(verb[0], [])
    said = cli(*verb, "nosuch", *more)
    assert said.code == 1
    assert said.err == "There is no job nosuch on this farm.\n“farm jobs” lists the jobs there are.\n"


def test_rerender_and_verify_take_a_priority_and_a_rerender_waits_for_nothing_anew(cli, farm, job):
    cli("set", job, "--priority", 30, "--max-workers", 2, "--start", "in 2h")
    farm.plan(job, "1-2", grid="2x2")
    farm.end(job)
    cli("rerender", job)
    assert farm.jobs["job2"].control == Control(priority=30, workers=2)
    cli("rerender", job, "--priority", 90)
    assert farm.jobs["job3"].control == Control(priority=90, workers=2)
    farm.on_submit = lambda job_id: farm.end(job_id, JobState.CANCELLED)
    cli("verify", job, "--priority", 90)
    assert farm.jobs["job4"].control == Control(priority=90)


# --- what is shown ---


def test_jobs_tell_why_nothing_goes_on_and_priorities_where_any_differs(cli, farm, job, blend):
    assert "priority" not in cli("jobs").out
    cli("submit", blend, "--priority", 80, "--paused")
    farm.change(job, waits="It waits for job k3m9x2ab. Have it done.")
    lines = {line.split()[0]: line for line in cli("jobs").out.splitlines()}
    assert "priority" in lines["job"]
    assert "paused" in lines["job2"]
    assert " 80 " in lines["job2"]
    assert "  waits for job k3m9x2ab  " in lines["job1"]
    assert max(map(len, lines.values())) <= 80


def test_where_there_is_little_room_ids_and_numbers_stay_whole(cli, farm, job, blend):
    cli("submit", blend, "--priority", 80, "--start", "2099-12-24T18:00")
    farm.plan(job, "1-10000")
    farm.change(
        job,
        price=Span(low=1000.9, likely=1200.0, high=1300.1),
        left=Span(low=240, likely=300, high=360),
        waits="All workers that could take it are away or set aside: w1 (lent from 19:00).",
    )
    lines = {line.split()[0]: line for line in cli("jobs").out.splitlines()}
    assert max(map(len, lines.values())) <= 80
    assert lines["job1"].rstrip().endswith("4–6 min left")
    assert "0/10000" in lines["job1"]
    assert lines["job"].split() == ["job", "name", "state", "priority", "frames", "time"]


@pytest.fixture
def new_york() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as here:
        here.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("new_york")
def test_moments_are_told_by_the_readers_clock(cli, farm, job):
    farm.change(job, waits="It starts at 2099-12-24 19:00 UTC.")
    assert "  starts at Thu 24 Dec 2099…  " in cli("jobs").out
    assert "waits    It starts at Thu 24 Dec 2099, 14:00." in cli("show", job).out.splitlines()


def test_time_left_is_a_range_and_price_a_column_where_there_is_one(cli, farm, job):
    farm.plan(job, "1-24")
    farm.change(job, left=Span(low=240, likely=300, high=360), seconds_left=300.0)
    out = cli("jobs").out
    assert "4–6 min left" in out
    assert "price" not in out
    farm.change(
        job, price=Span(low=0.9, likely=1.0, high=1.1), costs=Costs(seen=4, sync=12, render=48, paid=0.42)
    )
    assert "0.90–1.10" in cli("jobs").out
    shown = cli("show", job).out.splitlines()
    assert "left     4–6 min" in shown
    assert "costs    sync 12 s, render 48 s a frame" in shown
    assert "price    0.42 so far, 0.90–1.10 in all" in shown


def test_show_tells_the_wishes_and_what_was_cut_again(cli, farm, job):
    later = time.time() + 2 * 86400
    farm.plan(job, "1-24")
    farm.change(
        job,
        control=Control(priority=20, start=later, after=("jobx",)),
        waits="It waits for job jobx.",
        recuts=(RecutView(frame=23, time=1.0, why="its worker is slow: cut in 4"),),
    )
    shown = cli("show", job).out.splitlines()
    assert "state    rendering" in shown
    assert "waits    It waits for job jobx." in shown
    assert "priority 20" in shown
    assert "after    job jobx" in shown
    assert any(line.startswith("start    not before ") for line in shown)
    assert "cut      frame 23: its worker is slow: cut in 4" in shown


def test_a_watch_says_that_a_job_is_paused(farm, cli, job):
    from farm.cli.tally import Tally

    farm.plan(job, "1-2")
    farm.change(job, control=Control(paused=True))
    assert Tally(farm.jobs[job]).told == "paused"
    farm.change(job, control=Control(), left=Span(low=30, likely=40, high=58))
    assert Tally(farm.jobs[job]).told == "30–60 s left"


def attempt(name: str, state: AttemptState, **more: object) -> AttemptView:
    told = {"id": name, "task": "job1/1/whole", "words": "frame 1", "state": state, "worker_id": "gpu-0"}
    return AttemptView.model_validate(told | {"started": 10.0, "ended": 17.0} | more)


def test_show_of_a_frame_tells_who_made_it_of_what(cli, farm, job):
    farm.plan(job, "1-2")
    farm.attempts[job] = [
        attempt("a1", AttemptState.FAILED, cause=Cause.CRASH, what="Blender crashed.", cure="Look here."),
        attempt(
            "a2",
            AttemptState.DONE,
            seconds={"load": 1.0, "sync": 2.0, "render": 3.0, "save": 0.5, "total": 6.5},
            made=Made(
                render_class=CLASS, device_name="NVIDIA H200", driver="575.51", seed=7, peak_memory=3 << 30
            ),
        ),
    ]
    scene = farm.jobs[job].scene_id
    sha = next(iter(farm.scenes[scene].files.values())).sha256
    assert cli("show", job, "--frame", 1).out.splitlines() == [
        "Frame 1 of job job1: waiting",
        "failed    frame 1 on gpu-0 after 7.0 s",
        "          crash: Blender crashed.",
        "          Look here.",
        "done      frame 1 on gpu-0 after 7.0 s",
        "          Blender 5.2.3 e13b728c6880, OPTIX sm_90, NVIDIA H200, driver 575.51, seed 7",
        "          load 1.0 s, sync 2.0 s, render 3.0 s, save 0.5 s, at most 3 GiB of memory",
        f"scene     {scene[:16]}…",
        f"          {sha[:16]}…  {next(iter(farm.scenes[scene].files))}",
    ]
    told = cli("show", job, "--frame", 1, "--json").json
    assert (told["counts"], told["attempts"][1]["made"]["driver"]) == (["a2"], "575.51")
    assert told["files"] == {name: blob.sha256 for name, blob in farm.scenes[scene].files.items()}
    assert cli("show", job, "--frame", 2).out.splitlines()[1] == "Nobody has tried it yet."
    assert cli("show", job, "--frame", 9).code == 1


def test_status_tells_what_workers_are_and_why_they_get_nothing(cli, farm):
    def worker(name: str, state: str, why: str = "", **info: object) -> WorkerView:
        told = {"worker_id": name, "host": "n", "pid": 1, "device": "OPTIX", "device_name": "NVIDIA H200"}
        rest = {"threads": 8, "memory": 1 << 37, "render_class": CLASS, "sandboxed": True}
        return WorkerView(info=WorkerInfo.model_validate(told | rest | info), state=state, why=why)

    farm.workers = [
        worker("w1", "idle", tags=("rtx",), price=3.5, gpu_memory=141 << 30),
        worker("w2", "aside", "3 tasks failed on it."),
        worker("w3", "away", "lent from 19:00 to 8:00"),
    ]
    assert cli("status").out.splitlines()[-3:] == [
        "  w1  NVIDIA H200, 141 GiB, “rtx”, 3.50 an hour: idle",
        "  w2  NVIDIA H200: set aside: 3 tasks failed on it.",
        "  w3  NVIDIA H200: away: lent from 19:00 to 8:00",
    ]


def test_status_names_workers_that_cannot_start(cli, farm):
    farm.failed = [FailedWorker(worker_id="w4", why="FARM_WORKER_PRICE is “-1”. Correct it.", since=1.0)]
    said = cli("status")
    assert said.out.splitlines()[-1] == "  w4  cannot start: FARM_WORKER_PRICE is “-1”. Correct it."
    assert "no workers yet" not in said.out
    assert cli("status", "--json").json["failed"][0]["worker_id"] == "w4"


def test_a_watch_in_a_pipe_says_once_for_what_the_job_waits_when_that_lasts(cli, farm, job, monkeypatch):
    bunches = 0
    answers = FarmClient.events

    def at_once(self, after=0, job_id=None, wait=0):
        nonlocal bunches
        bunches += 1
        if bunches == 4:
            farm.change(job, waits="", control=Control(paused=True))
        elif bunches == 6:
            farm.end(job)
        return answers(self, after, job_id)

    monkeypatch.setattr(FarmClient, "events", at_once)
    farm.plan(job, "1-2")
    farm.change(job, waits="It waits for job k3m9x2ab.")
    said = cli("watch", job)
    assert said.err == "It waits for job k3m9x2ab.\nJob job1 is paused.\n"
