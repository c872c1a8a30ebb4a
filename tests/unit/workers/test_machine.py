"""What the owner of a machine may say of its workers, and what is refused with words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from farm.domain.errors import UsageError
from farm.settings import MachineSettings
from workers.hours import Hours
from workers.lending import Lending
from workers.machine import Machine, this_machine


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FARM_HOME", str(tmp_path))
    return tmp_path


def test_nothing_said_is_no_tags_no_price_and_always_lent() -> None:
    assert this_machine() == Machine((), 0.0, Lending())


def test_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FARM_WORKER_TAGS", "studio-b, rtx,,rtx")
    monkeypatch.setenv("FARM_WORKER_PRICE", "0.45")
    monkeypatch.setenv("FARM_LEND_HOURS", "19:00-08:00,sat,sun")
    monkeypatch.setenv("FARM_LEND_IDLE", "10m")
    monkeypatch.setenv("FARM_LEND_BUSY", "1.5")
    monkeypatch.setenv("FARM_LEND_FINISH", "1")
    assert this_machine() == Machine(
        ("rtx", "studio-b"),
        0.45,
        Lending(Hours.parse("19:00-08:00, sat, sun"), idle=600.0, busy=1.5, finish=True),
    )


def test_the_file_of_its_home_says_and_the_environment_knows_better(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.joinpath("config.toml").write_text(
        'worker_tags = ["rtx", "quiet"]\nworker_price = 1\nlend_hours = "sat"\nworkers = 3\n'
    )
    monkeypatch.setenv("FARM_WORKER_PRICE", "2")
    assert this_machine() == Machine(("quiet", "rtx"), 2.0, Lending(Hours.parse("sat")))


def test_the_page_on_workers_lists_every_setting_with_its_default() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs/workers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(FARM_\w+)` \|(.*?)\|(.*?)\|$", text, re.MULTILINE)
    defaults = {
        f"FARM_{name.upper()}": f"`{str(field.default).lower()}`"
        if field.default not in (None, "", ())
        else ""
        for name, field in MachineSettings.model_fields.items()
    }
    assert {name: default.strip() for name, default, _ in rows} == defaults
    assert all(meaning.strip() for _, _, meaning in rows)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("FARM_WORKER_TAGS", "RTX 4090", "FARM_WORKER_TAGS has “RTX 4090”, which is not a tag"),
        ("FARM_WORKER_PRICE", "-1", "FARM_WORKER_PRICE is “-1”: input should be greater than or equal to 0"),
        ("FARM_WORKER_PRICE", "nan", "FARM_WORKER_PRICE is “nan”: input should be a finite number"),
        ("FARM_WORKER_PRICE", "cheap", "FARM_WORKER_PRICE is “cheap”: input should be a valid number"),
        ("FARM_LEND_HOURS", "at night", "“at night” are no hours"),
        ("FARM_LEND_IDLE", "soon", "FARM_LEND_IDLE is “soon”"),
        ("FARM_LEND_BUSY", "0", "FARM_LEND_BUSY is “0”"),
        ("FARM_LEND_FINISH", "perhaps", "FARM_LEND_FINISH is “perhaps”"),
    ],
)
def test_what_is_wrong_is_told_with_its_name_and_a_cure(
    name: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError) as caught:
        this_machine()
    assert caught.value.what.startswith(words)
    assert caught.value.cure


def test_a_file_that_cannot_be_read_is_told(home: Path) -> None:
    home.joinpath("config.toml").write_text("worker_tags = [")
    with pytest.raises(UsageError, match=r"config\.toml cannot be read") as caught:
        this_machine()
    assert caught.value.cure == "Correct the file."
