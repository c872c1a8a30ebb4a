"""The guide and the README are held to the code: their settings, their commands, their options."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import BaseModel

from farm.cli.main import app
from farm.settings import Settings

PROJECT = Path(__file__).resolve().parents[3]
PAGES = ("README.md", "docs/guide.md")


def settings_of(model: type[BaseModel], prefix: str = "FARM_") -> Iterator[tuple[str, str]]:
    """Each setting's name in the environment, and its default as the guide writes it."""
    for name, field in model.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from settings_of(type(field.default), f"{prefix}{name.upper()}__")
        elif field.default_factory is not None:
            yield f"{prefix}{name.upper()}", "your data folder"
        else:
            shown = "" if field.default is None else str(field.default).strip("*")
            shown = shown.lower() if isinstance(field.default, bool) else shown
            yield f"{prefix}{name.upper()}", f"`{shown}`" if shown else ""


def test_the_guide_lists_every_setting_with_its_default() -> None:
    text = (PROJECT / "docs/guide.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(FARM_\w+)` \|(.*?)\|(.*?)\|$", text, re.MULTILINE)
    assert {name: default.strip() for name, default, _ in rows} == dict(settings_of(Settings))
    assert all(meaning.strip() for _, _, meaning in rows)


def calls(page: str) -> list[str]:
    """The `farm …` calls in a page's shell blocks."""
    blocks = re.findall(r"```sh\n(.*?)```", (PROJECT / page).read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    parts = [part for line in lines for part in re.split(r"&&|;|\$\(|>|\)", line.partition("#")[0])]
    return [part.strip() for part in parts if part.strip().startswith("farm ")]


@pytest.mark.parametrize("call", sorted({call for page in PAGES for call in calls(page)}))
def test_every_call_that_the_pages_show_can_be_read(call: str) -> None:
    command: Any = typer.main.get_command(app)
    verb, *arguments = shlex.split(call)[1:]
    if verb.startswith("-"):
        command.make_context("farm", [verb], resilient_parsing=True)
        return
    context = command.commands[verb].make_context(verb, arguments)  # raises for an unknown option
    context.close()


@pytest.mark.parametrize("page", PAGES)
def test_every_link_to_a_file_of_the_project_leads_somewhere(page: str) -> None:
    text = (PROJECT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert ((PROJECT / page).parent / target).exists(), target
