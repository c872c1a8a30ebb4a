from __future__ import annotations

import pytest

from farm.domain.job import LOCAL_OWNER, JobSpec
from farm.domain.work import Proof, Row
from farm.store import Database, jobs, proofs, scenes
from tests.unit.dispatch.play import AVX2, MANIFEST


@pytest.fixture
def store_with_jobs(store: Database) -> Database:
    with store.write() as c:
        jobs.add_user(c, LOCAL_OWNER, 1.0)
        scene_id = scenes.add_scene(c, MANIFEST, 1.0)
        for job_id in ("j1", "j2", "j3"):
            jobs.add(c, job_id, LOCAL_OWNER, JobSpec(name=job_id, scene_id=scene_id), 2.0)
    return store


def proof(frame: int, same: bool = True) -> Proof:
    row = Row(kind="pass", name="ViewLayer.Combined", same=same, pixels=4, differing=0 if same else 3)
    return Proof(frame=frame, render_class=AVX2, rows=(row,), seconds=1.5)


def test_proofs_come_back_by_frame(store_with_jobs: Database) -> None:
    with store_with_jobs.write() as c:
        proofs.put(c, "j1", "v1", proof(9, same=False), 3.0)
        proofs.put(c, "j1", "v1", proof(7), 4.0)
        proofs.put(c, "j2", "v2", proof(7), 5.0)
        rows = proofs.of_job(c, "j1")
    assert [(row.frame, row.by_job, row.time, row.proof) for row in rows] == [
        (7, "v1", 4.0, proof(7)),
        (9, "v1", 3.0, proof(9, same=False)),
    ]


def test_the_latest_proof_of_a_frame_counts(store_with_jobs: Database) -> None:
    with store_with_jobs.write() as c:
        proofs.put(c, "j1", "v1", proof(7, same=False), 3.0)
        assert proofs.counts(c, ["j1"]) == {"j1": (1, 1)}
        proofs.put(c, "j1", "v2", proof(7), 4.0)
        assert proofs.counts(c, ["j1"]) == {"j1": (1, 0)}
        assert [row.by_job for row in proofs.of_job(c, "j1")] == ["v2"]


def test_frames_that_differ_are_counted_among_those_that_were_verified(store_with_jobs: Database) -> None:
    with store_with_jobs.write() as c:
        for frame in range(5):
            proofs.put(c, "j1", "v1", proof(frame, same=frame != 3), 3.0)
        proofs.put(c, "j2", "v1", proof(1, same=False), 3.0)
        assert proofs.counts(c, ["j1", "j2", "j3"]) == {"j1": (5, 1), "j2": (1, 1), "j3": (0, 0)}
        assert proofs.counts(c, []) == {}


def test_proofs_come_by_the_page_the_worst_first_or_of_one_job_that_made_them(
    store_with_jobs: Database,
) -> None:
    with store_with_jobs.write() as c:
        for frame in range(6):
            proofs.put(c, "j1", "v2" if frame == 2 else "v1", proof(frame, same=frame != 4), 3.0)
        proofs.put(c, "j2", "v1", proof(9), 3.0)

        def frames(**asked: object) -> list[int]:
            return [row.frame for row in proofs.of_job(c, "j1", **asked)]  # type: ignore[arg-type]

        assert frames(first=1, count=3) == [1, 2, 3]
        assert frames(first=5, count=3) == [5]
        assert frames(worst_first=True, count=3) == [4, 0, 1]
        assert frames(by_job="v1") == [0, 1, 3, 4, 5]
        found = proofs.of_frame(c, "j1", 4)
        assert found is not None
        assert found.proof == proof(4, same=False)
        assert proofs.of_frame(c, "j1", 9) is None


def test_proofs_are_counted_by_the_job_that_made_them_too(store_with_jobs: Database) -> None:
    with store_with_jobs.write() as c:
        for frame in range(3):
            proofs.put(c, "j1", "v1", proof(frame, same=frame != 1), 3.0)
        proofs.put(c, "j1", "v2", proof(2), 4.0)
        proofs.put(c, "j2", "v3", proof(2), 4.0)
        assert proofs.made(c, {"v1": "j1", "v2": "j1", "v9": "j2"}) == {
            "v1": (2, 1),
            "v2": (1, 0),
            "v9": (0, 0),
        }
