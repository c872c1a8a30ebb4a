"""A believable afternoon in a studio: the farm in memory, filled."""

from __future__ import annotations

import math
import time
from pathlib import Path

from farm.domain.control import Control, Needs
from farm.domain.costs import Costs, Span
from farm.domain.events import EventKind
from farm.domain.job import RenderSettings
from farm.domain.plan import Recut, SampleRange
from farm.domain.scene import Weight
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.views import AttemptView, RecutView, TileView
from farm.domain.work import Progress, Proof, Role, Row
from tests.unit.web import pictures
from tests.unit.web.fake_farm import CLASS, FakeFarm, finding, report

#: 24 pictures of 64 × 36 pixels, two seconds long; its index lies at the end, as Blender writes it.
MOVIE = Path(__file__).with_name("movie.mp4")
PIXELS = 1920 * 1080


def studio(farm: FakeFarm | None = None, long: int = 240) -> FakeFarm:
    """Jobs ``long``, ``tiled``, ``ranged``, ``region``, ``done``, ``proved``, ``proof``, ``partly``,
    ``broken``, ``fresh``, ``reading``, ``dropped``, ``paused`` and ``after``.
    """
    farm = farm or FakeFarm()
    _done(farm)
    _dropped(farm)
    _broken(farm)
    _partly(farm)
    _proved(farm)
    _long(farm, long)
    _tiled(farm)
    _region(farm)
    _ranged(farm)
    farm.add("turntable_chair_v012", "reading", age=20)
    farm.set("reading", state=JobState.INSPECTING, started=time.time() - 5)
    farm.add("env_forest_matte_v003", "fresh", owner="Björk", age=8)
    _held(farm)
    _workers(farm)
    return farm


def _held(farm: FakeFarm) -> None:
    """One that is paused, and one that waits for another."""
    farm.add("sh040_comp_v002", "paused", owner="Amélie", age=15 * 60)
    farm.plan("paused", "1-60")
    for frame in range(1, 13):
        farm.finish("paused", frame, _picture("garden", frame), 8)
    farm.set("paused", control=Control(paused=True, priority=20))
    farm.add("sh020_comp_v011", "after", owner="Amélie", age=12)
    farm.set(
        "after",
        control=Control(
            after=("long",), frame_wise=True, needs=Needs(memory=24 << 30, tags=("rtx",)), workers=4
        ),
        waits="It waits for frame 145 of job long.",
    )


def _seconds(frame: int) -> float:
    return 14 + 9 * math.sin(frame / 17) + 4 * math.sin(frame / 3.1) + (31 if frame % 41 == 0 else 0)


def _picture(look: str, frame: int) -> bytes:
    return pictures.render(look, frame % 24, 320, 180)


def _done(farm: FakeFarm) -> None:
    farm.add("logo_sting_v021", "done", owner="Amélie", age=3 * 3600)
    farm.plan("done", "1-48", reason="48 frames on 3 workers: whole frames")
    for frame in range(1, 49):
        farm.finish("done", frame, _picture("garden", frame), _seconds(frame) / 3)
    farm.film("done", "logo_sting_v021.mp4", MOVIE.read_bytes())
    farm.film("done", "logo_sting_v021.mkv", b"no browser plays it" * 90_000, "video/x-matroska")
    farm.end("done", JobState.DONE, after=312)


def _dropped(farm: FakeFarm) -> None:
    farm.add("sh030_lookdev_test", "dropped", age=2 * 3600)
    farm.plan("dropped", "1-20")
    for frame in range(1, 8):
        farm.finish("dropped", frame, _picture("night", frame), 9)
    for frame in range(8, 21):
        farm.frame_state("dropped", frame, TaskState.CANCELLED)
    farm.end("dropped", JobState.CANCELLED, after=71)


def _broken(farm: FakeFarm) -> None:
    farm.add("client_scene_FINAL_final2", "broken", owner="Tomasz", age=90 * 60)
    farm.set(
        "broken",
        state=JobState.INSPECTING,
        started=time.time() - 89 * 60,
        report=report(
            camera=None,
            cameras=(),
            findings=(
                finding(
                    "no-camera",
                    Weight.ERROR,
                    "The scene “Scene” has no camera.",
                    "Add a camera, or choose one with --camera.",
                ),
            ),
        ),
    )
    farm.end(
        "broken",
        JobState.FAILED,
        "The scene “Scene” has no camera.",
        "Add a camera, or choose one with --camera.",
        3,
    )


def _partly(farm: FakeFarm) -> None:
    farm.add("sh010_rain_fx_v007", "partly", owner="Tomasz", age=70 * 60)
    farm.plan("partly", "101-160", reason="60 frames on 3 workers: whole frames")
    log = "Fra:117 Mem:11.18G | Sample 12/128\nSystem is out of GPU memory"
    for frame in range(101, 161):
        if frame in (117, 118, 142):
            key = TaskKey("partly", TaskKind.FRAME, frame)
            for attempt in range(2):
                farm.fail_attempt(
                    "partly",
                    key,
                    f"Frame {frame} ran out of memory (11.2 of 12 GB) on node-{4 + attempt}.",
                    "Render it on a worker with more memory, or lower the texture size limit.",
                    log_tail=log,
                    worker_id=f"node-{4 + attempt}-cpu-0",
                    log_output_id=farm.store("log.txt", log.encode(), "text/plain", Role.LOG).id,
                )
            farm.frame_state(
                "partly", frame, TaskState.FAILED, error=f"Frame {frame} ran out of memory 3 times."
            )
        else:
            farm.finish("partly", frame, _picture("night", frame), _seconds(frame))
    farm.fail_attempt(
        "partly",
        TaskKey("partly", TaskKind.FRAME, 130),
        "The machine node-2 went away while it rendered.",
        "Nothing to do: the frame was given to another worker.",
        state=AttemptState.LOST,
        worker_id="node-2-cpu-0",
    )
    farm.end(
        "partly",
        JobState.FAILED,
        "3 of 60 frames failed.",
        "Look at the failed attempts on the job’s page.",
        1500,
    )


def _long(farm: FakeFarm, frames: int) -> None:
    farm.add(
        "sh020_marble_run_v034", "long", owner="Amélie", age=25 * 60, settings=RenderSettings(samples=128)
    )
    scene = report(
        scene="Marble Run",
        scenes=("Marble Run", "Titles"),
        camera="cam_main",
        cameras=("cam_main", "cam_close"),
        marker_cameras={1: "cam_main", 96: "cam_close"},
        frame_end=frames,
        adaptive=True,
        denoise=True,
        compositor=True,
        file_format="OPEN_EXR_MULTILAYER",
        samples=256,
        findings=(
            finding(
                "missing-file",
                Weight.WARNING,
                "The image “//textures/oak_rough_4k.png” is missing; it renders pink.",
                "Pack it with File, External Data, or send its folder along.",
            ),
            finding("old-file", Weight.NOTE, "Saved by Blender 4.2; Blender 5.2 reads it."),
        ),
        file_version="4.2.1",
    )
    farm.plan(
        "long",
        f"1-{frames}",
        reason=f"{frames} frames on 3 workers: whole frames, each on one worker with the scene kept loaded",
        scene=scene,
    )
    done = frames * 6 // 10
    for frame in range(1, done + 1):
        if frame == 57:
            farm.frame_state("long", frame, TaskState.FAILED, error="Blender crashed 3 times on frame 57.")
            farm.fail_attempt(
                "long",
                TaskKey("long", TaskKind.FRAME, 57),
                "Blender crashed on frame 57 (segmentation fault in the hair system).",
                "Another worker tries it. If it crashes there too, look at the frame’s hair.",
                log_tail="Fra:57 Mem:2.31G | Syncing strands\nSegmentation fault",
            )
        else:
            big = frame == done
            shown = pictures.render("marble", 20, 960, 540) if big else _picture("marble", frame)
            farm.finish("long", frame, shown, _seconds(frame))
    for offset, sample in ((1, 87), (2, 34), (3, 12)):
        farm.frame_state("long", done + offset, TaskState.RUNNING, worker_id=f"node-{offset}-cpu-0")
        farm.progress("long", done + offset, sample, 128)
    farm.set(
        "long",
        left=Span(low=1080, likely=1260, high=1500),
        price=Span(low=4.1, likely=4.4, high=4.9),
        costs=Costs(seen=140, load=2.1, sync=3.2, render=14.5, rest=0.6, spread=0.2, paid=2.62),
        control=Control(priority=80),
    )


def _tiled(farm: FakeFarm) -> None:
    farm.add(
        "keyart_poster_v005",
        "tiled",
        owner="Björk",
        age=4 * 60,
        settings=RenderSettings(frames="12", tiles="3x3", samples=512, keep_exr=True),
    )
    farm.plan(
        "tiled",
        "12",
        grid="3x3",
        overlap=8,
        reason="1 frame on 3 workers: cut 3 × 3, with 8 pixels of overlap for adaptive sampling",
        scene=report(adaptive=True, denoise=True, samples=512),
    )
    farm.frame_state("tiled", 12, TaskState.RUNNING)
    frame = farm.all["tiled"].frames[12]
    for tile in frame.tiles[:5]:
        tile_done(farm, "tiled", 12, tile.index)
    for index, sample, host in ((5, 318, 1), (6, 96, 2)):
        farm.tile("tiled", 12, index, TaskState.RUNNING, worker_id=f"node-{host}-cpu-0")
        farm.progress("tiled", 12, sample, 512, tile=index)
    recut(farm, "tiled", 12, 8, "2x1", "2 workers are free: cut in 2")
    farm.set(
        "tiled",
        left=Span(low=80, likely=96, high=130),
        recuts=[RecutView(frame=12, time=time.time(), why="2 workers are free: piece 9 cut in 2")],
    )


def _proved(farm: FakeFarm) -> None:
    """Three frames that were cut, and the job that proves them: one differs."""
    farm.add("product_still_v008", "proved", owner="Amélie", age=50 * 60)
    farm.plan("proved", "1-3", grid="2x2", reason="3 frames on 12 workers: each cut in 4 tiles (2x2)")
    for frame in (1, 2, 3):
        farm.finish("proved", frame, pictures.render("garden", frame, 960, 540), 21)
    farm.end("proved", JobState.DONE, after=80)
    farm.add("proof of product_still_v008", "proof", owner="Amélie", age=40 * 60, proves="proved")
    farm.plan("proof", "1-3", reason="3 frames, rendered whole by plain Blender and compared")
    names = ("Combined", "Depth", "Normal", "Mist", "CryptoObject00", "Diffuse Direct")
    same = [
        Row(kind="pass", name=f"ViewLayer.{name}", same=True, pixels=PIXELS, differing=0, largest=0.0)
        for name in names
    ]
    output = Row(
        kind="output", name="product_still_0001.png", same=True, pixels=PIXELS, differing=0, largest=0.0
    )
    for frame in (1, 2, 3):
        rows = [*same, output.model_copy(update={"name": f"product_still_{frame:04d}.png"})]
        if frame == 2:
            wrong = {"same": False, "differing": 1204, "largest": 0.00048828125}
            rows[0] = rows[0].model_copy(update=wrong)
            note = {"same": False, "differing": None, "largest": None, "note": "only a digest is left"}
            rows[3] = rows[3].model_copy(update=note)
        farm.prove("proof", Proof(frame=frame, render_class=CLASS, rows=tuple(rows), seconds=3.2 + frame))
    farm.end("proof", JobState.DONE, after=14)


def _ranged(farm: FakeFarm) -> None:
    """One frame whose samples are shared out among four workers."""
    settings = RenderSettings(frames="7", samples=512, split="samples:4")
    farm.add("interior_night_v019", "ranged", owner="Tomasz", age=3 * 60, settings=settings)
    ranges = [SampleRange(first=first, count=128, total=512) for first in range(0, 512, 128)]
    farm.plan(
        "ranged",
        "7",
        ranges=ranges,
        reason="1 frame on 4 workers: each frame cut in 4 ranges of 128 samples, as asked; "
        "averaged within 1e-6 of rendering them at once",
    )
    farm.frame_state("ranged", 7, TaskState.RUNNING)
    preview = farm.store("range-0.jpg", pictures.render("night", 3, 960, 540))
    farm.tile("ranged", 7, 0, TaskState.DONE, preview=preview.id)
    for index, sample in ((1, 87), (2, 12)):
        farm.tile("ranged", 7, index, TaskState.RUNNING, worker_id=f"node-{index}-cpu-0")
        farm.progress("ranged", 7, sample, 128, tile=index)


def _region(farm: FakeFarm) -> None:
    """A frame of which only a region is rendered, in tiles inside of it."""
    farm.add("hero_face_fix_v002", "region", owner="Björk", age=3 * 60)
    farm.plan("region", "12", grid="2x2", region=(480, 135, 960, 540), reason="1 frame on 3 workers: 2 × 2")
    farm.frame_state("region", 12, TaskState.RUNNING)
    tile_done(farm, "region", 12, 0)
    farm.tile("region", 12, 1, TaskState.RUNNING, worker_id="node-1-cpu-0")
    farm.progress("region", 12, 96, 128, tile=1)


def recut(farm: FakeFarm, job_id: str, frame: int, of: int, grid: str, why: str) -> None:
    """A piece is cut again: its parts are shown in its place."""
    job = farm.all[job_id]
    plan = job.view.plan
    assert plan is not None
    revised = plan.recut((Recut(of=of, grid=grid),))
    old = job.frames[frame]
    tiles = [tile for tile in old.tiles if tile.index != of]
    for index in range(plan.pieces, revised.pieces):
        box = revised.piece(index).tile.core
        tiles.append(
            TileView(
                index=index, state=TaskState.WAITING, x=box.x, y=box.y, width=box.width, height=box.height
            )
        )
    job.frames[frame] = old.model_copy(update={"tiles": tuple(tiles)})
    farm.event(EventKind.FRAME_RECUT, job_id, frame=frame, why=why)


def tile_done(farm: FakeFarm, job_id: str, frame: int, index: int) -> None:
    """Commit a tile with a preview of it."""
    job = farm.all[job_id]
    plan = job.view.plan
    assert plan is not None
    box = plan.piece(index).tile.core
    picture = pictures.crop(
        "marble", frame, (960, 540), (box.x, box.y, box.width, box.height), (plan.width, plan.height)
    )
    preview = farm.store(f"tile-{index}.jpg", picture)
    farm.tile(job_id, frame, index, TaskState.DONE, preview=preview.id, progress=None)


def _workers(farm: FakeFarm) -> None:
    for number, job_id, what, sample, samples in (
        (1, "long", "frame 145", 87, 128),
        (2, "tiled", "frame 12, piece 7", 96, 512),
        (3, "long", "frame 147", 12, 128),
    ):
        attempt = AttemptView(
            id=f"now{number}",
            task=f"{job_id}/1/whole",
            words=what,
            state=AttemptState.RUNNING,
            worker_id=f"node-{number}-cpu-0",
            started=time.time() - 10,
            progress=Progress(phase="rendering", sample=sample, samples=samples),
        )
        farm.add_worker(f"node-{number}", "busy", job_id, attempt=attempt)
    gpu = {"device": "OPTIX", "device_name": "NVIDIA H200", "gpu_memory": 141 << 30, "price": 3.5}
    farm.add_worker("node-4", "idle", sandboxed=False, tags=("linux", "rtx"), **gpu)
    farm.add_worker("node-5", "lost")
    farm.add_worker("studio-7", "away", why="lent from 19:00 to 8:00", tags=("workstation",))
    farm.add_worker(
        "node-6", "aside", why="3 tasks failed on it, of jobs long and tiled. It is tried out again.", **gpu
    )
