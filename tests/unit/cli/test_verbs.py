"""Every other verb of the command, against a farm that renders nothing."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from farm.cli import connect, doctor
from farm.cli.main import run
from farm.cli.reference import reference
from farm.domain.states import AttemptState, JobState
from farm.domain.views import AttemptView

DOCS = Path(__file__).resolve().parents[3] / "docs" / "cli.md"


@pytest.fixture
def job(cli, farm, blend) -> str:
    """A submitted job that nothing happens to by itself."""
    return cli("submit", blend).out.strip()


def test_submit_prints_the_job_id_alone(cli, farm, blend):
    said = cli("submit", blend)
    assert (said.code, said.out, said.err) == (0, "job1\n", "")


def test_submit_json_names_job_state_and_scene(cli, farm, blend):
    said = cli("submit", blend, "--json")
    assert said.json == {"job": "job1", "state": "waiting", "scene": next(iter(farm.scenes)), "notes": []}


def test_submit_starts_no_farm_of_its_own(cli, blend):
    said = cli("submit", blend)
    assert said.code == 1
    assert said.err == (
        "No farm runs on this machine.\nStart one with: farm up, or name one with --farm URL.\n"
    )


def test_watch_tells_frames_and_ends_with_the_job(cli, farm, job):
    farm.plan(job, "1-2")
    farm.finish(job, 1, {"a.png": b"1"})
    farm.finish(job, 2, {"b.png": b"2"})
    farm.end(job)
    said = cli("watch", job)
    assert said.code == 0
    assert said.out.splitlines() == [
        "Plan: one worker: whole frames.",
        "Frame 1 done in 1.5 s",
        "Frame 2 done in 1.5 s",
        "Job job1 is done: 2 frames. Bring them here with: farm fetch job1",
    ]
    assert not any("/outputs/" in call.path for call in farm.calls)


def test_watch_of_a_failed_job_is_1(cli, farm, job):
    farm.end(job, JobState.FAILED, "The scene has no camera.", "Add one.")
    assert cli("watch", job).err == "The scene has no camera.\nAdd one.\n"
    said = cli("watch", job, "--json")
    assert (said.code, said.json["state"], said.json["error"]) == (1, "failed", "The scene has no camera.")


def test_an_interrupted_watch_leaves_the_job_alone(cli, farm, job, monkeypatch):
    def interrupt(self, display):
        raise KeyboardInterrupt

    monkeypatch.setattr("farm.cli.follow.Follower.to_the_end", interrupt)
    said = cli("watch", job)
    assert (said.code, said.err) == (130, "Stopped watching. Job job1 goes on.\n")
    assert farm.jobs[job].state is JobState.WAITING


@pytest.mark.parametrize("verb", ["watch", "show", "cancel", "fetch"])
def test_an_unknown_job_is_1_with_a_cure(cli, farm, verb):
    said = cli(verb, "nosuch")
    assert said.code == 1
    assert said.err == "There is no job nosuch on this farm.\n“farm jobs” lists the jobs there are.\n"


def test_jobs_is_a_table_within_80_columns_newest_first(cli, farm, blend):
    for _ in range(3):
        cli("submit", blend)
    farm.jobs["job1"] = farm.jobs["job1"].model_copy(update={"name": "a very long name of a scene " * 4})
    farm.plan("job2", "1-24")
    farm.finish("job2", 1, {})
    said = cli("jobs")
    lines = said.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if "job" in line] == ["job", "job3", "job2", "job1"]
    assert "1/24" in next(line for line in lines if line.startswith("job2"))


def test_jobs_without_any_says_how_to_begin(cli, farm):
    assert cli("jobs").out == "There are no jobs yet. Send a scene with: farm render SCENE.blend\n"
    assert cli("jobs", "--json").json == {"jobs": []}


def test_jobs_json_is_what_the_api_answers(cli, farm, job):
    assert cli("jobs", "--json").json == {"jobs": [farm.jobs[job].model_dump(mode="json")]}


def test_show_tells_the_plan_and_each_failed_attempt_with_its_cure(cli, farm, job):
    farm.plan(job, "1-2")
    farm.attempts[job] = [
        AttemptView(
            id="a1",
            task=f"{job}/1/tile-2",
            words="frame 1, tile 3",
            state=AttemptState.FAILED,
            worker_id="cpu-0",
            started=time.time(),
            what="Ran out of memory.",
            cure="Render smaller tiles.",
        )
    ]
    said = cli("show", job)
    assert said.code == 0
    assert "range    1-2 at 64×36" in said.out
    assert "plan     one worker: whole frames" in said.out
    assert "failed   frame 1, tile 3 on cpu-0: Ran out of memory." in said.out
    assert "Render smaller tiles." in said.out
    told = cli("show", job, "--json").json
    assert (told["id"], told["failed_attempts"][0]["cure"]) == (job, "Render smaller tiles.")


def test_cancel_says_that_it_is_cancelled(cli, farm, job):
    said = cli("cancel", job)
    assert (said.code, said.out) == (0, "Job job1 is cancelled; 0 of 0 frames are done.\n")
    again = cli("cancel", job)
    assert (again.code, again.err.splitlines()[0]) == (1, "Job job1 is cancelled already.")


def test_cancel_without_a_dispatcher_says_when_it_will_be(cli, farm, job, monkeypatch):
    monkeypatch.setattr("farm.cli.cancel._WAIT", 0.0)
    farm.cancels = False
    said = cli("cancel", job)
    assert said.code == 1
    assert "as soon as the farm's dispatcher answers" in said.err


def test_fetch_brings_what_is_finished_and_resumes(cli, farm, job):
    farm.plan(job, "1-3")
    farm.finish(job, 1, {"a.png": b"1"})
    first = cli("fetch", job, "--out", "o")
    assert first.code == 0
    assert first.out.splitlines()[-1] == "1 frame in o. The job goes on (3 frames in all)."
    farm.finish(job, 2, {"b.png": b"2"})
    Path("o/b.png").write_bytes(b"")  # cut short by a crash of something else
    farm.calls.clear()
    second = cli("fetch", job, "--out", "o", "--overwrite")
    assert second.code == 0
    assert Path("o/b.png").read_bytes() == b"2"
    assert [call.path for call in farm.calls if "/outputs/" in call.path] == ["/api/outputs/2"]


def test_fetch_leaves_files_in_the_way_and_is_1(cli, farm, job):
    farm.plan(job, "1-2")
    farm.finish(job, 1, {"a.png": b"1"})
    farm.finish(job, 2, {"b.png": b"2"})
    Path("o").mkdir()
    Path("o/a.png").write_bytes(b"mine")
    said = cli("fetch", job, "--out", "o", "--json")
    assert said.code == 1
    assert Path("o/a.png").read_bytes() == b"mine"
    assert [len(frame["outputs"]) for frame in said.json["frames"]] == [0, 1]
    assert said.json["code"] == "conflict"


def test_fetch_of_a_failed_job_still_brings_its_frames(cli, farm, job):
    farm.plan(job, "1-2")
    farm.finish(job, 1, {"a.png": b"1"})
    farm.end(job, JobState.FAILED, "Frame 2 failed.")
    assert cli("fetch", job, "--out", "o").code == 0
    assert Path("o/a.png").exists()


def test_fetch_detects_what_was_damaged_on_the_way(cli, farm, job):
    farm.plan(job, "1")
    farm.finish(job, 1, {"a.png": b"1"})
    farm.damaged = 100
    said = cli("fetch", job, "--out", "o")
    assert said.code == 1
    assert "arrived damaged" in said.err
    assert list(Path("o").iterdir()) == []


def test_status_tells_url_and_pulse(cli, farm, monkeypatch):
    import os

    said = cli("status", "--json")
    assert said.code == 0
    assert (said.json["running"], said.json["url"]) == (True, os.environ["FARM_URL"])
    assert (said.json["dispatcher"], said.json["workers"]) == ("alive", [])
    assert cli("status").out.startswith(f"A farm runs at {os.environ['FARM_URL']} (Tessera ")


def test_status_without_a_farm_is_1_and_still_one_object(cli, tmp_path):
    said = cli("status", "--json")
    assert said.code == 1
    assert (said.json["running"], said.json["url"], said.json["code"]) == (False, None, "unavailable")
    assert said.json["home"] == str(tmp_path / "home")


@pytest.fixture
def stack(monkeypatch):
    """Stands in for the embedded farm; `up` says whether it runs."""
    made = SimpleNamespace(up=False, given=None, ready=True)

    def farm_of(home):
        return SimpleNamespace(url="http://127.0.0.1:1", pid=42, home=home, ready=made.ready, parts=())

    def start(settings, *, workers=None, on_step=None):
        made.up, made.given = True, (settings.port, workers)
        return farm_of(settings.home)

    def stop(home):
        was, made.up = made.up, False
        return was

    made.running = lambda home: farm_of(home) if made.up else None
    made.start, made.stop = start, stop
    monkeypatch.setattr(connect, "stack", lambda: made)
    monkeypatch.setattr("farm.cli.farm.stack", lambda: made)
    return made


def test_up_starts_once_and_down_ends(cli, stack, tmp_path):
    said = cli("up", "--workers", 2, "--port", 8300, "--json")
    assert said.json == {"url": "http://127.0.0.1:1", "pid": 42, "home": str(tmp_path / "home")}
    assert stack.given == (8300, 2)
    assert cli("up").out.startswith("The farm runs already. Its page: http://127.0.0.1:1")
    assert cli("down", "--json").json == {"stopped": True}
    assert cli("down").out == "No farm runs here.\n"


def test_a_farm_that_still_starts_is_waited_for_but_status_does_not_wait(cli, stack, farm, monkeypatch):
    monkeypatch.delenv("FARM_URL")
    stack.up, stack.ready = True, False
    monkeypatch.setattr("farm.cli.status.running", lambda: stack.running(Path("home")))
    said = cli("status", "--json")
    assert (said.code, said.json["running"]) == (1, False)
    assert "starting or ending" in said.err
    assert stack.given is None
    assert cli("jobs").code == 1  # nothing answers at the stand-in's address
    assert stack.given == (0, None)


def test_a_wrong_setting_is_named(cli, blend, monkeypatch):
    monkeypatch.setenv("FARM_PORT", "many")
    said = cli("up")
    assert said.code == 1
    assert "The setting FARM_PORT is wrong" in said.err


def test_a_broken_config_file_is_named(cli, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text("url = ")
    said = cli("jobs")
    assert said.code == 1
    assert "config.toml cannot be read" in said.err


def test_doctor_gives_a_cure_for_each_and_fails_for_what_is_needed(cli, monkeypatch):
    lines = [doctor.Line("Blender", False, "is missing.", "Install it."), doctor.Line("GPU", None, "none.")]
    monkeypatch.setattr(doctor, "_machine", lambda: lines)
    said = cli("doctor")
    assert said.code == 1
    assert said.out.splitlines()[:3] == [
        "fail  Blender: is missing.",
        "      Install it.",
        "note  GPU: none.",
    ]
    told = cli("doctor", "--json").json
    assert told["ok"] is False
    assert told["checks"][0] == {"name": "Blender", "ok": False, "what": "is missing.", "cure": "Install it."}


def test_doctor_is_well_where_only_optional_things_lack(cli, monkeypatch):
    monkeypatch.setattr(doctor, "_machine", lambda: [doctor.Line("GPU", None, "none.", "Fit one.")])
    assert cli("doctor").code == 0


def test_doctor_on_a_client_is_well_and_says_how_to_render_here(cli, monkeypatch):
    monkeypatch.setattr(connect, "find_spec", lambda name: None)
    said = cli("doctor")
    assert said.code == 0
    assert "note  Farm on this machine: only the client is installed here." in said.out


def test_doctor_names_a_farm_that_does_not_answer(cli, monkeypatch):
    monkeypatch.setattr(doctor, "_machine", list)
    said = cli("doctor", "--farm", "http://127.0.0.1:9")
    assert said.code == 1
    assert "No farm answers at http://127.0.0.1:9." in said.out


def test_a_fault_of_our_own_is_a_sentence_not_a_traceback(cli, farm, monkeypatch):
    def broken(self, limit=100, before=None):
        raise RuntimeError("boom")

    monkeypatch.setattr("farm.client.client.FarmClient.jobs", broken)
    said = cli("jobs")
    assert said.code == 1
    assert said.err.splitlines() == [
        "Tessera met a fault of its own: RuntimeError: boom",
        "Run it again with FARM_DEBUG=1 and report what it prints.",
    ]
    monkeypatch.setenv("FARM_DEBUG", "1")
    with pytest.raises(RuntimeError, match="boom"):
        run(["jobs"])


def test_version_and_help_need_no_farm(cli):
    from farm import __version__

    assert cli("--version").out == f"tessera {__version__}\n"
    assert "farm render shot.blend" in cli().out
    assert cli("nosuch").code == 2


def test_the_reference_page_is_what_help_says():
    assert DOCS.read_text(encoding="utf-8") == reference(), "Run: python -m farm.cli.reference > docs/cli.md"
