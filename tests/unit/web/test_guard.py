"""Who may speak to the farm."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from tests.unit.web.fake_farm import FakeFarm
from web.app import create_app


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "LOCALHOST", "[::1]:8000", "[::1]", "localhost."]
)
def test_this_machines_names_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/api/farm", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "evil.example:8000",
        "",
        "[::2]",
        "[",
        "127.0.0.1@evil.example",
        "10.0.0.1",
    ],
)
def test_a_foreign_host_is_refused_on_every_path(client: TestClient, host: str) -> None:
    for path in ("/api/farm", "/", "/static/base.css", "/healthz"):
        assert client.get(path, headers={"Host": host}).status_code == 421


def test_a_refused_host_is_told_as_a_problem_or_a_page(client: TestClient) -> None:
    answer = client.get("/api/farm", headers={"Host": "evil.example"})
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "foreign-host"
    page = client.get("/", headers={"Host": "<b>evil"})
    assert page.headers["content-type"].startswith("text/html")
    assert "<b>evil" not in page.text


def test_the_host_of_the_settings_is_answered(farm: FakeFarm) -> None:
    with TestClient(create_app(farm, "render.local"), base_url="http://render.local:8000") as client:
        assert client.get("/api/farm").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://localhost:8000"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_page_can_change_nothing(client: TestClient, farm: FakeFarm, headers: dict[str, str]) -> None:
    farm.add("shot", "a")
    answer = client.post("/api/jobs/a/cancel", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign-origin")
    assert not farm.all["a"].view.cancelling
    assert client.put(f"/api/blobs/{'a' * 64}", content=b"", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "http://127.0.0.1:8000", "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}],
)
def test_programs_and_our_own_page_can(client: TestClient, farm: FakeFarm, headers: dict[str, str]) -> None:
    farm.add("shot", "a")
    assert client.post("/api/jobs/a/cancel", headers=headers).status_code == 200


def test_pages_run_only_our_own_scripts_and_sit_in_nobodys_frame(client: TestClient) -> None:
    headers = client.get("/").headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers
