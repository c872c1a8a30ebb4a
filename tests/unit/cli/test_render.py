"""farm render: frames land as they finish, nothing is lost, and every end is said."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from farm.cli import connect
from farm.client.testing import served
from farm.domain.errors import Unavailable
from farm.domain.events import EventKind
from farm.domain.plan import SampleRange
from farm.domain.states import JobState


def test_frames_land_in_the_folder_and_are_told_line_by_line(cli, farm, blend, renders):
    renders(2)
    said = cli("render", blend, "--out", "pictures")
    assert said.code == 0
    assert said.err == ""
    lines = said.out.splitlines()
    assert lines[:4] == [
        "Job job1: shot ü.blend, pictures go to pictures",
        "Plan: one worker: whole frames.",
        "Frame 1 done in 1.5 s: pictures/shot_0001.png",
        "Frame 2 done in 1.5 s: pictures/shot_0002.png",
    ]
    assert lines[4].startswith("2 frames in ")
    assert Path("pictures/shot_0002.png").read_bytes() == b"frame 2"


def test_without_out_the_folder_is_named_after_scene_and_job(cli, farm, blend, renders):
    renders(1)
    assert cli("render", blend).code == 0
    assert Path("shot ü-job1/shot_0001.png").read_bytes() == b"frame 1"


def test_json_is_one_object_with_the_promised_fields(cli, farm, blend, renders):
    renders(2)
    said = cli("render", blend, "--out", "o", "--json")
    wall = said.json["wall_seconds"]
    assert wall > 0
    assert said.json == {
        "job": "job1",
        "state": "done",
        "frames": [
            {
                "frame": frame,
                "seconds": 1.5,
                "outputs": [
                    {
                        "path": f"o/shot_{frame:04d}.png",
                        "bytes": 7,
                        "sha256": hashlib.sha256(b"frame %d" % frame).hexdigest(),
                    }
                ],
            }
            for frame in (1, 2)
        ],
        "videos": [],
        "wall_seconds": wall,
    }
    assert said.err == ""


def test_options_reach_the_job(cli, farm, blend, renders):
    renders(1)
    cli(
        *("render", blend, "--frames", "1-10x2, 15", "--tiles", "2x2", "--samples", 16, "--scale", 50),
        *("--scene", "Set", "--camera", "Cam é", "--device", "cpu", "--engine", "cycles", "--keep-exr"),
    )
    settings = farm.jobs["job1"].settings
    assert settings.model_dump(mode="json") == {
        "frames": "1-9x2,15",
        "tiles": "2x2",
        "samples": 16,
        "scale": 50,
        "scene": "Set",
        "camera": "Cam é",
        "device": "cpu",
        "engine": "cycles",
        "keep_exr": True,
        "split": "tiles",
        "first": None,
        "video": False,
    }
    assert farm.jobs["job1"].name == "shot ü"


@pytest.mark.parametrize("verb", ["render", "submit"])
def test_samples_in_ranges_or_in_part_and_a_movie_reach_the_job(cli, farm, blend, renders, verb):
    renders(1)
    assert cli(verb, blend, "--split", "samples:4", "--samples", 512, "--first", 128, "--video").code == 0
    settings = farm.jobs["job1"].settings
    assert (settings.split, settings.ranges, settings.samples) == ("samples:4", 4, 512)
    assert (settings.first, settings.video, settings.tiles) == (128, True, "auto")


def test_a_first_look_says_how_to_add_to_it(cli, farm, blend):
    def work(job_id: str) -> None:
        farm.plan(job_id, "1", ranges=[SampleRange(first=0, count=128, total=512)])
        farm.finish(job_id, 1, {})
        farm.end(job_id)

    farm.on_submit = work
    said = cli("render", blend, "--samples", 512, "--first", 128)
    assert said.out.splitlines()[-1] == (
        "128 samples are kept. Add more with: farm rerender job1 --samples N"
    )
    assert "kept" not in cli("render", blend).out, "all samples at once keep none"


@pytest.mark.parametrize(
    ("options", "what", "cure"),
    [
        (
            ["--split", "rows"],
            "“rows” is not a way to cut frames.",
            "Write tiles, samples, or samples:4.",
        ),
        (
            ["--split", "samples", "--tiles", "2x2"],
            "A frame is cut into 2x2 tiles or into sample ranges, not both.",
            "Leave out --tiles, or --split.",
        ),
        (
            ["--first", "8", "--tiles", "2x2"],
            "The first 8 samples cannot be kept of frames cut into 2x2 tiles.",
            "Leave out --tiles, or --first.",
        ),
        (
            ["--first", "64", "--samples", "64"],
            "The first 64 of 64 samples are all of them.",
            "Write a smaller --first, or leave it out.",
        ),
    ],
)
@pytest.mark.parametrize("verb", ["render", "submit"])
def test_options_that_do_not_go_together_are_2_with_a_cure_and_send_nothing(
    cli, farm, blend, verb, options, what, cure
):
    said = cli(verb, blend, *options)
    assert (said.code, said.out, said.err) == (2, "", f"{what}\n{cure}\n")
    assert farm.calls == []


def filmed(farm, frames: int = 2):
    """Let the farm render frames of every job and make a movie of them."""

    def work(job_id: str) -> None:
        farm.plan(job_id, f"1-{frames}")
        for frame in range(1, frames + 1):
            farm.finish(job_id, frame, {f"shot_{frame:04d}.png": b"frame %d" % frame})
        farm.film(job_id, "shot.mp4", b"movie")
        farm.end(job_id)

    farm.on_submit = work


def test_a_movie_lands_beside_the_frames(cli, farm, blend):
    filmed(farm)
    said = cli("render", blend, "--out", "o")
    assert said.code == 0
    assert said.out.splitlines()[4] == "Movie: o/shot.mp4"
    assert Path("o/shot.mp4").read_bytes() == b"movie"
    told = cli("fetch", "job1", "--out", "o", "--json").json
    assert told["videos"] == [
        {"path": "o/shot.mp4", "bytes": 5, "sha256": hashlib.sha256(b"movie").hexdigest()}
    ]
    assert cli("fetch", "job1", "--out", "p").out.splitlines()[-1] == "2 frames and 1 movie in p."


def test_a_movie_in_whose_place_a_file_lies_leaves_it_and_is_1(cli, farm, blend):
    filmed(farm, 1)
    Path("o").mkdir()
    Path("o/shot.mp4").write_bytes(b"mine")
    said = cli("render", blend, "--out", "o", "--json")
    assert (said.code, said.json["state"], said.json["videos"]) == (1, "done", [])
    assert said.json["error"] == "“o/shot.mp4” was there already and stayed."
    assert Path("o/shot.mp4").read_bytes() == b"mine"
    assert Path("o/shot_0001.png").read_bytes() == b"frame 1"
    assert cli("render", blend, "--out", "o", "--overwrite").code == 0
    assert Path("o/shot.mp4").read_bytes() == b"movie"


def test_a_frame_is_fetched_while_the_next_still_renders(cli, farm, blend):
    seen: list[bool] = []

    def work(job_id: str) -> None:
        farm.plan(job_id, "1-2")
        farm.finish(job_id, 1, {"a.png": b"1"})
        give_up = time.monotonic() + 10
        while not Path("o/a.png").exists() and time.monotonic() < give_up:
            time.sleep(0.01)
        seen.append(Path("o/a.png").exists())
        farm.finish(job_id, 2, {"b.png": b"2"})
        farm.end(job_id)

    farm.on_submit = work
    assert cli("render", blend, "--out", "o").code == 0
    assert seen == [True]


def test_a_frame_that_no_event_told_of_is_fetched_at_the_end(cli, farm, blend, renders):
    def work(job_id: str) -> None:
        farm.plan(job_id, "1")
        farm.finish(job_id, 1, {"a.png": b"1"})
        del farm.events[1:]  # the frame's
        farm.end(job_id)

    farm.on_submit = work
    assert cli("render", blend, "--out", "o").code == 0
    assert Path("o/a.png").read_bytes() == b"1"


def test_a_file_in_the_way_of_the_first_frame_stays_and_cancels_the_job(cli, farm, blend):
    def work(job_id: str) -> None:
        farm.plan(job_id, "1-240")
        farm.finish(job_id, 1, {"shot_0001.png": b"1"})

    farm.on_submit = work
    Path("o").mkdir()
    Path("o/shot_0001.png").write_bytes(b"mine")
    said = cli("render", blend, "--out", "o", "--json")
    assert said.code == 1
    assert Path("o/shot_0001.png").read_bytes() == b"mine"
    assert farm.jobs["job1"].state is JobState.CANCELLED
    assert (said.json["state"], said.json["code"]) == ("cancelled", "conflict")
    assert said.err.splitlines()[-2:] == [
        "“o/shot_0001.png” is there already and was left as it is. "
        "Job job1 was cancelled, so that no more frames are spent.",
        "Render to another folder with --out, or replace what is there with --overwrite.",
    ]


def test_a_file_in_the_way_of_a_later_frame_stays_and_the_rest_is_fetched(cli, farm, blend, renders):
    renders(3)
    Path("o").mkdir()
    Path("o/shot_0002.png").write_bytes(b"mine")
    said = cli("render", blend, "--out", "o", "--json")
    assert said.code == 1
    assert Path("o/shot_0002.png").read_bytes() == b"mine"
    assert Path("o/shot_0003.png").read_bytes() == b"frame 3"
    assert (said.json["state"], said.json["code"]) == ("done", "conflict")
    assert "“o/shot_0002.png” was there already and stayed." in said.err
    assert "farm fetch job1 --out OTHER" in said.err
    assert [frame["outputs"] == [] for frame in said.json["frames"]] == [False, True, False]


def test_a_file_in_the_way_of_the_only_frame_cancels_nothing(cli, farm, blend, renders):
    renders(1)
    Path("o").mkdir()
    Path("o/shot_0001.png").write_bytes(b"mine")
    said = cli("render", blend, "--out", "o")
    assert said.code == 1
    assert farm.jobs["job1"].state is JobState.DONE
    assert "farm fetch job1 --out OTHER" in said.err


def test_overwrite_replaces_it(cli, farm, blend, renders):
    renders(1)
    Path("o").mkdir()
    Path("o/shot_0001.png").write_bytes(b"mine")
    assert cli("render", blend, "--out", "o", "--overwrite").code == 0
    assert Path("o/shot_0001.png").read_bytes() == b"frame 1"


def test_an_attempt_that_is_tried_again_is_told(cli, farm, blend):
    def work(job_id: str) -> None:
        farm.plan(job_id, "1")
        farm.tell(
            EventKind.ATTEMPT_FAILED, job_id, words="frame 1", attempt="a1", what="Blender died.", retry=True
        )
        farm.finish(job_id, 1, {})
        farm.end(job_id)

    farm.on_submit = work
    said = cli("render", blend, "--out", "o")
    assert said.code == 0
    assert "frame 1: Blender died. Trying again." in said.out


def test_a_failed_job_says_why_and_keeps_what_was_finished(cli, farm, blend):
    def work(job_id: str) -> None:
        farm.plan(job_id, "1-2")
        farm.finish(job_id, 1, {"a.png": b"1"})
        farm.fail(job_id, 2, "Blender crashed three times.")
        farm.end(job_id, JobState.FAILED)

    farm.on_submit = work
    said = cli("render", blend, "--out", "o")
    assert said.code == 1
    assert said.err.splitlines() == [
        "Frame 2: Blender crashed three times.",
        "See what happened with: farm show job1",
    ]
    assert Path("o/a.png").exists()


def test_a_scene_that_blender_refuses_is_told_in_two_lines_and_in_json(cli, farm, blend):
    farm.on_submit = lambda job_id: farm.end(
        job_id, JobState.FAILED, "The scene has no camera.", "Add one, or name one with --camera."
    )
    said = cli("render", blend, "--json")
    assert said.code == 1
    assert said.json["state"] == "failed"
    assert said.json["error"] == "The scene has no camera."
    assert said.err == "The scene has no camera.\nAdd one, or name one with --camera.\n"


def test_a_job_cancelled_by_someone_else_is_1(cli, farm, blend):
    farm.on_submit = lambda job_id: farm.end(job_id, JobState.CANCELLED)
    said = cli("render", blend)
    assert said.code == 1
    assert said.err.startswith("Job job1 was cancelled.\n")


@pytest.mark.parametrize(
    ("option", "value", "what"),
    [
        ("--frames", "1 10", "“1 10” is not a frame range."),
        ("--frames", "5-1", "Frame range “5-1” runs backwards."),
        ("--frames", "1-5x0", "Frame range “1-5x0” has a step of 0."),
        ("--frames", "", "“” is not a frame range."),
        ("--tiles", "2", "“2” is not a tile grid."),
        ("--tiles", "0x2", "“0x2” is not a tile grid."),
        ("--samples", "0", "Invalid value for '--samples'"),
        ("--scale", "x", "Invalid value for '--scale'"),
        ("--device", "tpu", "Invalid value for '--device'"),
        ("--farm", "nowhere", "“nowhere” is not the address of a farm."),
        ("--nosuch", "1", "No such option: --nosuch"),
    ],
)
def test_a_call_that_cannot_be_read_is_2_with_a_cure_and_sends_nothing(cli, farm, blend, option, value, what):
    said = cli("render", blend, option, value)
    first, second = said.err.splitlines()
    assert said.code == 2
    assert first.startswith(what)
    assert second
    assert said.out == ""
    assert farm.jobs == {}


def test_a_frame_range_in_two_words_is_2_and_says_how_to_write_it(cli, farm, blend):
    said = cli("render", blend, "--frames", "1", "10")
    assert said.code == 2
    assert said.err.splitlines() == [
        "“10” is more than this command takes.",
        "Write a frame range as one word, such as 1-10, and quote names with spaces.",
    ]


def test_usage_errors_come_before_the_scene_is_looked_at(cli, farm):
    assert cli("render", "nosuch.blend", "--frames", "5-1").code == 2


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "“x.blend” is empty."),
        (b"version https://git-lfs.github.com/spec/v1\n", "“x.blend” is a Git LFS pointer"),
        (b"PNG" * 999, "“x.blend” is not a Blender file."),
        (b"BLENDER-v279", "“x.blend” is cut short or damaged."),
    ],
)
def test_a_bad_scene_is_1_and_sends_nothing(cli, farm, data, what):
    Path("x.blend").write_bytes(data)
    said = cli("render", "x.blend")
    assert said.code == 1
    assert said.err.startswith(what)
    assert farm.calls == []


def test_an_out_that_is_a_file_is_said_before_anything_is_sent(cli, farm, blend):
    said = cli("render", blend, "--out", blend)
    assert said.code == 1
    assert "is a file, not a folder" in said.err
    assert farm.calls == []


def test_no_farm_at_the_address_is_1_with_the_cure(cli, blend):
    said = cli("render", blend, "--farm", "http://127.0.0.1:9")
    assert said.code == 1
    assert said.err == (
        "No farm answers at http://127.0.0.1:9.\nStart one with: farm up, or name one with --farm URL.\n"
    )


def test_json_errors_before_a_job_are_one_object_too(cli, blend):
    said = cli("render", blend, "--farm", "http://127.0.0.1:9", "--json")
    assert said.code == 1
    assert said.json == {
        "error": "No farm answers at http://127.0.0.1:9.",
        "cure": "Start one with: farm up, or name one with --farm URL.",
        "code": "unavailable",
    }


def test_warnings_about_the_scene_go_to_stderr(cli, farm, blend, renders, monkeypatch):
    from farm.assets import pack as pack_room
    from farm.assets.trace import Needs

    gone = {Path(f"/p/{number}.png"): None for number in range(7)}
    monkeypatch.setattr(pack_room, "needs_of", lambda _: Needs(missing=gone))
    renders(1)
    said = cli("render", blend, "--json")
    assert said.code == 0
    assert said.json["state"] == "done"
    lines = said.err.splitlines()
    assert len(lines) == 6
    assert lines[0] == "Note: The scene points at “/p/0.png”, which is not there."
    assert lines[4].endswith("which is not there. Put the file back, or remove it from the scene.")
    assert lines[-1] == "Note: 2 more like these."


def test_control_characters_in_names_do_not_reach_the_terminal(cli, farm, blend):
    def work(job_id: str) -> None:
        farm.plan(job_id, "1")
        farm.finish(job_id, 1, {"a\x1b[2J.png": b"1"})
        farm.end(job_id)

    farm.on_submit = work
    said = cli("render", blend, "--out", "o")
    assert said.code == 0
    assert "\x1b" not in said.out


def test_a_name_that_climbs_out_is_not_saved(cli, farm, blend):
    def work(job_id: str) -> None:
        farm.plan(job_id, "1")
        farm.finish(job_id, 1, {"../evil.png": b"1"})
        farm.end(job_id)

    farm.on_submit = work
    said = cli("render", blend, "--out", "o/p")
    assert said.code == 1
    assert "unsafe name" in said.err
    assert not Path("o/evil.png").exists()


def test_a_damaged_transfer_is_told_and_leaves_nothing(cli, farm, blend, renders):
    farm.damaged = 1000
    renders(1)
    said = cli("render", blend, "--out", "o", "--json")
    assert said.code == 1
    assert said.json["code"] == "unavailable"
    assert "arrived damaged" in said.err
    assert list(Path("o").iterdir()) == []


class Embedded:
    """Stands in for `farm.embedded.stack`, around a farm that renders nothing."""

    def __init__(self, farm, url: str) -> None:
        self.farm, self.url, self.up, self.log = farm, url, False, []

    def running(self, home):
        return self._running(home) if self.up else None

    def start(self, settings, *, workers=None, wait=True, on_step=None):
        self.up = True
        self.log.append("start")
        return self._running(settings.home)

    def stop(self, home):
        self.log.append("stop")
        self.up, was = False, self.up
        return was

    def _running(self, home):
        return SimpleNamespace(url=self.url, pid=42, home=home, ready=True)


@pytest.fixture
def embedded(farm, monkeypatch) -> Embedded:
    made = Embedded(farm, os.environ["FARM_URL"])
    monkeypatch.delenv("FARM_URL")
    monkeypatch.setattr(connect, "stack", lambda: made)
    return made


def test_without_a_farm_one_is_started_for_the_call_and_ended_after_it(cli, embedded, blend, renders):
    renders(1)
    assert cli("render", blend, "--out", "o").code == 0
    assert embedded.log == ["start", "stop"]


def test_a_farm_that_runs_here_is_used_and_left_alone(cli, embedded, blend, renders):
    embedded.up = True
    renders(1)
    assert cli("render", blend, "--out", "o").code == 0
    assert embedded.log == []


def test_a_farm_started_for_the_call_stays_where_another_job_came(cli, embedded, farm, blend, renders):
    renders(1)
    work = farm.on_submit

    def with_another(job_id: str) -> None:
        if job_id == "job1":
            farm.jobs["other"] = farm.jobs[job_id].model_copy(update={"id": "other"})
            work(job_id)

    farm.on_submit = with_another
    said = cli("render", blend, "--out", "o")
    assert said.code == 0
    assert embedded.log == ["start"]
    assert "stays up" in said.err


def test_a_farm_that_cannot_start_is_stopped_and_said(cli, embedded, blend, monkeypatch):
    def start(settings, *, workers=None, on_step=None):
        raise Unavailable("Port 8300 is taken.", "Choose another.")

    monkeypatch.setattr(embedded, "start", start)
    said = cli("render", blend)
    assert said.code == 1
    assert said.err == "Port 8300 is taken.\nChoose another.\n"
    assert embedded.log == ["stop"]


def test_an_own_farm_cancels_a_job_whose_frames_cannot_be_saved(cli, embedded, farm, blend):
    def work(job_id: str) -> None:
        farm.plan(job_id, "1-2")
        farm.finish(job_id, 1, {"a.png": b"1"})

    farm.on_submit, farm.damaged = work, 1000
    assert cli("render", blend, "--out", "o").code == 1
    assert farm.jobs["job1"].state is JobState.CANCELLED
    assert embedded.log == ["start", "stop"]


def test_a_client_only_install_says_what_to_install(cli, blend, monkeypatch):
    monkeypatch.setattr(connect, "find_spec", lambda name: None)
    for verb in (("render", blend), ("up",)):
        said = cli(*verb)
        assert said.code == 1
        assert said.err.startswith("Only the client is installed here")
        assert "pip install" in said.err


def test_a_system_that_runs_no_farm_says_so(cli, blend, monkeypatch):
    monkeypatch.setitem(sys.modules, "farm.embedded.stack", None)  # its import fails, as on Windows
    monkeypatch.delattr("farm.embedded.stack", raising=False)
    said = cli("render", blend)
    assert said.code == 1
    assert "This machine cannot run a farm" in said.err


def start_process(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "farm.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_cancels_the_job_says_so_and_ends_with_130(farm, blend, number):
    def work(job_id: str) -> None:
        farm.plan(job_id, "1-2")
        farm.finish(job_id, 1, {"a.png": b"1"})

    farm.on_submit = work
    process = start_process("render", str(blend), "--out", "o")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Frame 1 done"):
            break
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert farm.jobs["job1"].state is JobState.CANCELLED
    assert "Cancelling job job1 …" in err
    assert "Interrupted. Job job1 is cancelled; 1 finished frame fetched." in err
    assert "Traceback" not in out + err
    assert Path("o/a.png").read_bytes() == b"1"


def test_an_interrupt_with_json_still_prints_the_object(farm, blend):
    farm.on_submit = lambda job_id: farm.plan(job_id, "1-2")
    process = start_process("render", str(blend), "--out", "o", "--json")
    give_up = time.monotonic() + 30
    while not any(call.path == "/api/events" for call in farm.calls) and time.monotonic() < give_up:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    told = json.loads(out)
    assert process.returncode == 130
    assert (told["job"], told["state"], told["frames"]) == ("job1", "cancelled", [])


def test_the_web_process_may_restart_while_a_render_is_watched(farm, blend, monkeypatch):
    farm.on_submit = lambda job_id: farm.plan(job_id, "1")
    with served(farm) as url:
        port = int(url.rsplit(":", 1)[1])
        process = start_process("render", str(blend), "--out", "o", "--farm", url)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Job job1")
    time.sleep(0.3)  # away
    farm.finish("job1", 1, {"a.png": b"1"})
    farm.end("job1")
    with served(farm, port):
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err.splitlines()[1:]) == (0, [])
    assert Path("o/a.png").read_bytes() == b"1"


def test_on_a_terminal_one_line_shows_frames_samples_and_rate(farm, blend):
    import pty

    def work(job_id: str) -> None:
        farm.plan(job_id, "1-3")
        farm.finish(job_id, 1, {"a.png": b"1"})
        farm.count(job_id, 2, 4, 8)
        time.sleep(1.0)
        farm.finish(job_id, 2, {"b.png": b"2"})
        farm.finish(job_id, 3, {"c.png": b"3"})
        farm.end(job_id)

    farm.on_submit = work
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "farm.cli", "render", str(blend), "--out", "o"],
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "120", "TERM": "xterm", "NO_COLOR": "1"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # how Linux says that the other side has closed
            break
        shown += piece
    os.close(ours)
    assert process.wait(30) == 0
    text = shown.decode()
    assert "shot ü job1" in text
    assert "1/3 frames" in text
    assert "a frame · frame 2 4/8" in text
    assert "Frame 3 done in 1.5 s: o/c.png" in text
    assert "Traceback" not in text


def test_an_interrupt_before_the_job_is_130_and_leaves_none(cli, farm, blend, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("farm.client.client.FarmClient.upload_scene", interrupted)
    said = cli("render", blend, "--json")
    assert (said.code, said.err, said.json["error"]) == (130, "Interrupted.\n", "Interrupted.")
    assert farm.jobs == {}


def test_an_interrupt_while_the_job_is_submitted_cancels_it(cli, farm, blend, monkeypatch):
    from farm.client.client import FarmClient

    submit = FarmClient.submit

    def interrupted(self, spec):
        signal.raise_signal(signal.SIGINT)
        return submit(self, spec)

    monkeypatch.setattr(FarmClient, "submit", interrupted)
    assert cli("render", blend).code == 130
    assert farm.jobs["job1"].state is JobState.CANCELLED
