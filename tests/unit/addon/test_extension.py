"""The archive and its listing, the source's limits, and Blender's own opinion of both."""

from __future__ import annotations

import ast
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from infra.build_addon import blender_tool, main
from tests.unit.web.fake_farm import FakeFarm
from web.app import create_app
from web.extension import SOURCE, build

FILES = sorted(SOURCE.glob("*.py"))


def tool(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(blender_tool()), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    copy = tmp_path / "addon"
    shutil.copytree(SOURCE, copy)
    for path in copy.iterdir():
        os.utime(path, (0, 0))
        path.chmod(0o600)
    (copy / "__pycache__").mkdir(exist_ok=True)
    (copy / "__pycache__" / "line.cpython-313.pyc").write_bytes(b"x")
    assert build(copy).content == build().content
    with zipfile.ZipFile(io.BytesIO(build().content)) as archive:
        assert archive.namelist() == sorted(["blender_manifest.toml", *(path.name for path in FILES)])


def test_blender_s_own_tool_finds_it_valid(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(tmp_path) == 0
    assert f"sha256:{build().sha256}" in capfd.readouterr().out


def test_blender_s_own_tool_finds_faults(tmp_path: Path) -> None:
    """So that the test above can fail."""
    described = (SOURCE / "blender_manifest.toml").read_text().replace('version = "0.1.0"', 'version = "0.1"')
    (tmp_path / "blender_manifest.toml").write_text(described)
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "bad.zip").write_bytes(build(tmp_path).content)
    assert tool("validate", tmp_path / "bad.zip").returncode != 0


def test_add_on_and_farm_are_of_one_version() -> None:
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())
    assert build().version == project["project"]["version"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_source_runs_in_blender_s_python_and_needs_only_what_is_there(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 11))
    named = {
        alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    named |= {
        (node.module or "").split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 0
    }
    own = {"places"} if path.name == "rewrite.py" else set()
    assert named - {"bpy"} - own <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.Name) and node.id == "print" for node in ast.walk(tree))


@pytest.fixture
def page() -> TestClient:
    return TestClient(create_app(FakeFarm()), base_url="http://127.0.0.1:8000")


def test_the_listing_names_an_archive_that_is_there(page: TestClient) -> None:
    listing = page.get("/extensions/index.json").json()
    assert (listing["version"], listing["blocklist"]) == ("v1", [])
    [entry] = listing["data"]
    assert (entry["id"], entry["type"], entry["blender_version_min"]) == ("tessera", "add-on", "4.5.0")
    archive = page.get(f"/extensions/{entry['archive_url'].removeprefix('./')}")
    assert archive.headers["content-type"] == "application/zip"
    assert len(archive.content) == entry["archive_size"]
    assert entry["archive_hash"] == f"sha256:{hashlib.sha256(archive.content).hexdigest()}"


@pytest.mark.parametrize("name", ["tessera-9.9.9.zip", "..%2Fapp.py", "index.html"])
def test_no_other_file_is_given(page: TestClient, name: str) -> None:
    assert page.get(f"/extensions/{name}").status_code == 404


def test_the_page_says_how_to_install_it_by_its_own_address(page: TestClient) -> None:
    told = page.get("/addon").text
    assert "http://127.0.0.1:8000/extensions/index.json" in told
    assert f'href="/extensions/{build().name}?repository=./index.json&amp;blender_version_min=4.5.0"' in told
    assert build().sha256 in told
    assert 'href="/addon"' in page.get("/").text
