"""What will be started is a value; it is asserted as one, without starting anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from farm.domain.scene import SceneReport
from workers import runtimes
from workers.launch import Folders, environment, launch
from workers.runtimes import Runtime, code_folder
from workers.sandbox import Access, sandbox_status, wrapped


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    scene = tmp_path / "scene"
    scene.mkdir()
    return Folders(tmp_path / "scratch", tmp_path / "cache", (scene,))


OWN = Runtime("own", Path(sys.executable), "5.2.3")


def test_only_what_a_child_needs_passes_on() -> None:
    ours = {
        "PATH": "/usr/bin",
        "LANG": "de_DE.UTF-8",
        "HOME": "/home/me",
        "CUDA_VISIBLE_DEVICES": "1",
        "FARM_STORAGE__SECRET_KEY": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "PYTHONPATH": "/home/me/evil",
        "LD_PRELOAD": "/home/me/evil.so",
        "BLENDER_USER_SCRIPTS": "/home/me/addons",
    }
    env = environment(ours, Path("/scratch/home"), Path("/cache"), "")
    assert "secret" not in env.values()
    assert not {"FARM_STORAGE__SECRET_KEY", "PYTHONPATH", "LD_PRELOAD", "BLENDER_USER_SCRIPTS"} & set(env)
    assert env["HOME"] == "/scratch/home"
    assert env["PYTHONSAFEPATH"] == "1"
    assert env["CUDA_VISIBLE_DEVICES"] == "1"
    assert env["LANG"] == "de_DE.UTF-8"
    assert env["OPTIX_CACHE_PATH"] == "/cache/optix"


def test_without_a_sandbox_the_child_is_told_its_parent(folders: Folders) -> None:
    start = launch("Blender", OWN, "workers.inside_blender", folders, sandbox=False)
    assert start.argv == (sys.executable, "-P", "-m", "workers.inside_blender")
    assert start.env["FARM_PARENT_PID"] == str(os.getpid())
    assert start.folder == folders.scratch
    assert (folders.scratch / "home").is_dir()


def test_in_a_sandbox_it_is_not_for_pids_differ_there(folders: Folders) -> None:
    start = launch("Blender", OWN, "workers.inside_blender", folders, sandbox=True)
    assert start.argv[-4:] == (sys.executable, "-P", "-m", "workers.inside_blender")
    assert "FARM_PARENT_PID" not in start.argv
    assert list(start.env) == ["PATH"]


def bound(argv: tuple[str, ...], flag: str) -> set[str]:
    return {argv[i + 1] for i, word in enumerate(argv) if word == flag}


def test_the_sandbox_writes_to_its_scratch_only_and_reads_no_more_than_it_needs(folders: Folders) -> None:
    argv = launch("Blender", OWN, "workers.inside_blender", folders, sandbox=True).argv
    assert bound(argv, "--bind") == {str(folders.scratch), str(folders.cache)}
    read = bound(argv, "--ro-bind")
    assert {str(folders.read[0]), str(code_folder())} <= read
    assert str(code_folder().parent) not in read
    assert not {"/", "/etc", "/home", "/root", "/var"} & read
    assert {"--unshare-all", "--die-with-parent", "--new-session", "--clearenv"} <= set(argv)


def test_the_scene_is_bound_after_tmp_so_that_it_shows(folders: Folders) -> None:
    argv = wrapped(["true"], Access(read=folders.read), {})
    assert argv.index("--tmpfs") < argv.index(str(folders.read[0]))


def test_a_foreign_python_finds_our_code_and_ours_needs_no_help() -> None:
    foreign = Runtime("4.5", Path("/opt/blender-4.5/bin/python3.11"), "4.5.1")
    assert foreign.python_path == str(code_folder().parent)
    assert OWN.python_path == ""
    assert foreign.folders[0] == Path("/opt/blender-4.5")


def test_a_scene_is_rendered_by_the_blender_that_inspected_it() -> None:
    older = Runtime("4.5", Path("/opt/blender-4.5/bin/python3.11"), "4.5.1")
    assert runtimes.serving(None, [OWN, older]) is OWN
    for version, chosen in (("4.5.1", older), ("5.2.3 e13b728c6880", OWN), ("3.6.0", OWN)):
        report = SceneReport(
            scene="Scene",
            scenes=("Scene",),
            camera="Camera",
            cameras=("Camera",),
            frame_start=1,
            frame_end=2,
            full_width=64,
            full_height=36,
            percentage=100,
            engine="CYCLES",
            samples=4,
            file_format="PNG",
            blender=version,
        )
        assert runtimes.serving(report, [OWN, older]) is chosen


def test_a_missing_sandbox_is_told_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    works, cure = sandbox_status.__wrapped__()
    assert works is False
    assert "apt-get install bubblewrap" in cure


@pytest.mark.parametrize(
    ("said", "cure"),
    [
        ("bwrap: No permissions to create new namespace", "unprivileged_userns_clone"),
        ("bwrap: setting up uid map: Permission denied", "apparmor_restrict_unprivileged_userns"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "systempaths=unconfined"),
    ],
)
def test_a_sandbox_that_the_system_forbids_is_told_with_its_cure(
    monkeypatch: pytest.MonkeyPatch, said: str, cure: str
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/bwrap")
    monkeypatch.setattr(
        "subprocess.run", lambda *_, **__: subprocess.CompletedProcess([], 1, stdout="", stderr=said)
    )
    works, told = sandbox_status.__wrapped__()
    assert works is False
    assert said in told
    assert cure in told


def test_this_machine_s_blender_is_found() -> None:
    found = runtimes.own()
    assert found.is_own
    assert found.version.startswith("5.2")
