"""farm verify: what is compared is shown, and any difference is 1."""

from __future__ import annotations

import pytest

from farm.domain.plan import SampleRange
from farm.domain.states import JobState
from farm.domain.work import Proof, RenderClass, Row

CLASS = RenderClass(blender="5.2.3 e13b728c6880", device="CPU", kernel="avx2")


def same(kind: str, name: str) -> Row:
    return Row(kind=kind, name=name, same=True, pixels=14400, differing=0, largest=0.0)


PASSES = tuple(same("pass", f"ViewLayer.{name}") for name in ("Combined", "Depth", "Normal"))
OUTPUT = same("output", "shot_0001.png")
WRONG = Row(
    kind="pass", name="ViewLayer.Mist", same=False, pixels=14400, differing=1204, largest=0.00048828125
)


def proof(frame: int, *rows: Row, tolerance: float = 0.0) -> Proof:
    return Proof(frame=frame, render_class=CLASS, rows=rows, seconds=3.2, tolerance=tolerance)


@pytest.fixture
def job(cli, farm, blend) -> str:
    """A job of three frames in tiles, done."""
    job_id = cli("submit", blend).out.strip()
    farm.plan(job_id, "1-3", grid="2x2")
    farm.end(job_id)
    return job_id


@pytest.fixture
def finds(farm):
    """Let the next verification find this."""

    def script(*proofs: Proof, state: JobState = JobState.DONE, error: str = "", cure: str = "") -> None:
        def work(job_id: str) -> None:
            for one in proofs:
                farm.prove(job_id, one)
            farm.end(job_id, state, error, cure)

        farm.on_submit = work

    return script


def test_one_frame_is_a_table_and_a_sentence_and_0_where_all_is_the_same(cli, farm, job, finds):
    finds(proof(2, *PASSES, OUTPUT))
    said = cli("verify", job, "--frames", "2")
    assert (said.code, said.err) == (0, "")
    lines = [line.rstrip() for line in said.out.splitlines()]
    assert lines[0] == "Job job2 verifies 1 frame of job job1"
    assert lines[1] == "Plan: one worker: whole frames."
    assert "Frame 2 verified in 3.2 s" in lines
    assert lines[lines.index("Frame 2") :] == [
        "Frame 2",
        "kind    name                differing pixels  largest  note",
        "pass    ViewLayer.Combined                 0        0",
        "pass    ViewLayer.Depth                    0        0",
        "pass    ViewLayer.Normal                   0        0",
        "output  shot_0001.png                      0        0",
        "Frame 2: 3 passes and 1 output are the same, bit for bit. "
        "Rendered whole in 3.2 s by Blender 5.2.3, CPU avx2.",
    ]


def test_of_many_frames_those_that_are_the_same_are_one_sentence(cli, farm, job, finds):
    finds(proof(1, *PASSES, OUTPUT), proof(2, *PASSES, OUTPUT), proof(3, *PASSES))
    said = cli("verify", job)
    assert (said.code, said.err) == (0, "")
    assert "differing pixels" not in said.out
    assert said.out.splitlines()[-2:] == [
        "Frames 1-2, each: 3 passes and 1 output are the same, bit for bit. "
        "Rendered whole in 6.4 s by Blender 5.2.3, CPU avx2.",
        "Frame 3: 3 passes are the same, bit for bit. Rendered whole in 3.2 s by Blender 5.2.3, CPU avx2.",
    ]
    told = cli("verify", job, "--json").json
    assert [len(frame["rows"]) for frame in told["frames"]] == [4, 4, 3]


def test_of_many_frames_those_that_differ_are_shown_in_full_and_last(cli, farm, job, finds):
    inside = WRONG.model_copy(update={"kind": "output", "name": "shot_0002.exr", "part": "ViewLayer.Mist"})
    finds(proof(1, *PASSES, OUTPUT), proof(2, *PASSES, inside), proof(3, *PASSES, OUTPUT))
    said = cli("verify", job)
    assert said.code == 1
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    at = next(index for index, line in enumerate(lines) if line.startswith("Frames 1-3x2, each: 3 passes"))
    assert lines[at + 1 : at + 3] == ["Frame 2", "kind name differing pixels largest note"]
    assert "output shot_0002.exr: ViewLayer.Mist 1,204 of 14,400 0.000488" in lines
    assert lines[-1].startswith("Frame 2: 1 of 1 output differs. Rendered whole in 3.2 s")


def test_a_difference_is_1_in_numbers_with_the_cure(cli, farm, job, finds):
    finds(proof(1, *PASSES, OUTPUT), proof(2, *PASSES, WRONG, OUTPUT))
    said = cli("verify", job, "--frames", "1-2")
    assert said.code == 1
    assert farm.jobs["job2"].settings.frames == "1-2"
    assert "pass    ViewLayer.Mist       1,204 of 14,400  0.000488" in said.out
    assert "Frame 2: 1 of 4 passes differs. Rendered whole in" in said.out
    assert said.err.splitlines() == [
        "1 of 2 frames differs from what is rendered whole.",
        "“farm show job1” lists what may break exactness; where it lists nothing, report this.",
    ]


def test_where_only_a_digest_is_left_it_says_how_to_get_numbers(cli, farm, job, finds):
    digest = Row(kind="pass", name="ViewLayer.Depth", same=False, pixels=14400, note="only a digest is left")
    output = WRONG.model_copy(update={"kind": "output", "name": "shot_0001.png"})
    finds(*(proof(frame, PASSES[0], digest, output) for frame in (1, 2, 3)))
    said = cli("verify", job)
    assert said.code == 1
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    assert "pass ViewLayer.Depth differs only a digest is left" in lines
    assert "Frame 1: 1 of 2 passes and 1 of 1 output differ." in said.out
    assert said.err.splitlines() == [
        "3 of 3 frames differ from what is rendered whole.",
        "Submit with --keep-exr to have the differences of passes in numbers.",
    ]


def test_what_is_no_pass_or_was_kept_gets_no_numbers_from_keeping_passes(cli, farm, job, blend, finds):
    gone = Row(kind="output", name="shot_0001.png", same=False, note="the farm no longer has this file")
    finds(*(proof(frame, *PASSES, gone) for frame in (1, 2, 3)))
    assert "--keep-exr" not in cli("verify", job).err
    farm.on_submit = None
    kept = cli("submit", blend, "--keep-exr").out.strip()
    farm.plan(kept, "1", grid="2x2")
    farm.end(kept)
    digest = Row(kind="pass", name="ViewLayer.Depth", same=False, pixels=14400, note="by its digest")
    finds(proof(1, digest))
    said = cli("verify", kept)
    assert said.code == 1
    assert "--keep-exr" not in said.err


def test_a_tolerance_is_named_where_there_is_one(cli, farm, job, finds):
    within = WRONG.model_copy(update={"same": True, "largest": 1e-6})
    finds(*(proof(frame, within, tolerance=1e-5) for frame in (1, 2, 3)))
    said = cli("verify", job)
    assert said.code == 0
    told = "Frames 1-3, each: 1 pass is the same, within 1e-05. The largest difference of a pass is 1e-06. "
    assert told in said.out
    finds(*(proof(frame, WRONG, PASSES[0], tolerance=1e-5) for frame in (1, 2, 3)))
    said = cli("verify", job)
    assert said.code == 1
    assert "Frame 1: 1 of 2 passes differs by more than 1e-05." in said.out


def test_what_was_not_compared_is_not_called_the_same(cli, farm, job, finds):
    unknown = Row(kind="pass", name="ViewLayer.Combined", same=True, pixels=14400, note="not compared")
    finds(*(proof(frame, *PASSES[1:], unknown, OUTPUT, tolerance=1e-6) for frame in (1, 2, 3)))
    said = cli("verify", job)
    assert said.code == 0
    told = (
        "Frames 1-3, each: 2 passes are the same, within 1e-06, and 1 output looks the same; "
        "1 pass was not compared. Rendered"
    )
    assert told in said.out
    assert said.err == "Submit with --keep-exr to have every pass compared.\n"
    finds(*(proof(frame, *PASSES, unknown) for frame in (1, 2, 3)))
    said = cli("verify", job)
    assert "Frames 1-3, each: 3 passes are the same, bit for bit. Rendered" in said.out, "it was compared"
    assert said.err == ""


def test_json_is_one_object_with_every_row(cli, farm, job, finds):
    finds(proof(2, PASSES[0], WRONG))
    said = cli("verify", job, "--frames", "2", "--json")
    told = said.json
    assert (said.code, told["job"], told["proof"], told["state"]) == (1, "job1", "job2", "done")
    assert (told["exact"], told["code"]) == (False, "bad-input")
    (frame,) = told["frames"]
    assert (frame["frame"], frame["exact"], frame["seconds"], frame["tolerance"]) == (2, False, 3.2, 0.0)
    assert frame["render_class"] == CLASS.model_dump()
    assert frame["rows"] == [PASSES[0].model_dump(), WRONG.model_dump()]
    assert said.err.startswith("1 of 1 frame differs")


def test_nothing_to_prove_is_0_and_makes_no_job(cli, farm, blend, finds):
    job_id = cli("submit", blend).out.strip()
    farm.plan(job_id, "1-3")
    farm.end(job_id)
    said = cli("verify", job_id)
    assert (said.code, said.out) == (0, "Nothing to prove: the frames of job job1 were never cut.\n")
    told = cli("verify", job_id, "--json").json
    assert told == {"job": "job1", "proof": None, "state": None, "exact": True, "frames": []}
    assert len(farm.jobs) == 1


def test_what_the_farm_refuses_is_told_with_its_cure(cli, farm, blend):
    job_id = cli("submit", blend).out.strip()
    said = cli("verify", job_id)
    assert (said.code, said.err) == (1, "Job job1 has not ended yet: it is waiting.\nWait for its end.\n")
    assert cli("verify", job_id, "--frames", "all").code == 2


def test_a_verification_that_fails_is_1_and_shows_what_was_found(cli, farm, job, finds):
    finds(proof(1, *PASSES), state=JobState.FAILED, error="No worker is of that kind.", cure="Start one.")
    said = cli("verify", job)
    assert said.code == 1
    assert "Frame 1: 3 passes are the same, bit for bit." in said.out
    assert said.err == "No worker is of that kind.\nStart one.\n"


def test_a_frame_without_its_proof_is_not_called_the_same(cli, farm, job, finds):
    finds(proof(1, *PASSES))
    said = cli("verify", job)
    assert said.code == 1
    assert said.err.splitlines()[0] == "2 frames of job job1 got another proof meanwhile."


def test_an_interrupt_cancels_the_verification_and_not_the_job(cli, farm, job, monkeypatch):
    def interrupt(self, display):
        raise KeyboardInterrupt

    monkeypatch.setattr("farm.cli.follow.Follower.to_the_end", interrupt)
    said = cli("verify", job)
    assert said.code == 130
    assert said.err.splitlines() == [
        "Cancelling job job2 …",
        "Interrupted. 0 frames verified.",
        "Verify again with: farm verify job1",
    ]
    assert (farm.jobs["job2"].state, farm.jobs[job].state) == (JobState.CANCELLED, JobState.DONE)


def test_jobs_and_show_tell_a_proof_as_one(cli, farm, job, finds):
    finds(proof(1, *PASSES), proof(2, WRONG), proof(3, *PASSES))
    cli("verify", job)
    assert "proof of shot ü" in cli("jobs").out
    assert "proves   job job1" in cli("show", "job2").out
    farm.change(job, verified=3, differing=1)
    assert "proof    1 of 3 frames differs" in cli("show", job).out
    farm.change(job, verified=3, differing=0)
    assert "proof    3 frames are those rendered whole" in cli("show", job).out
    plan = farm.jobs[job].plan
    assert plan is not None
    halves = tuple(SampleRange(first=first, count=8, total=16) for first in (0, 8))
    farm.change(job, plan=plan.model_copy(update={"grid": None, "ranges": halves}))
    assert "proof    3 frames are within 1e-06 of what is rendered whole" in cli("show", job).out
