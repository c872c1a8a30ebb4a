"""The settings: of a farm, and of a machine that works for one.

Precedence: values given to the constructor (flags), then environment (``FARM_…``), then
``config.toml`` in the farm's home, then the defaults here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from platformdirs import user_data_path
from pydantic import BaseModel, Field, SecretStr, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)


def farm_home() -> Path:
    """The folder that holds all of a farm's state: ``FARM_HOME``, else in the user's data folder."""
    return Path(os.environ.get("FARM_HOME") or user_data_path("tessera", appauthor=False)).absolute()


class StorageSettings(BaseModel):
    """An S3-compatible store."""

    endpoint: str = ""  # empty: Amazon's own
    region: str = "us-east-1"
    bucket: str = "tessera"
    access_key: str = ""
    secret_key: SecretStr = SecretStr("")
    folder: Path | None = None  # of a store on this machine: its data, to tell a full disk from a fault


class _Settings(BaseSettings):
    """Read from the constructor, the environment and ``config.toml``, in this order."""

    model_config = SettingsConfigDict(env_prefix="FARM_", env_nested_delimiter="__", extra="ignore")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        del dotenv_settings, file_secret_settings
        return (
            init_settings,
            env_settings,
            TomlConfigSettingsSource(settings_cls, farm_home() / "config.toml"),
        )


class Settings(_Settings):
    """Everything that can be set about a farm."""

    home: Path = Field(default_factory=farm_home)
    url: str = ""  # of the farm that the client speaks to; empty: the one that runs here
    host: str = "127.0.0.1"
    port: int = 0  # of the web process; 0: a free one
    database_url: str = ""  # empty: SQLite in the home folder
    storage: StorageSettings = StorageSettings()
    ray_address: str = ""  # of a running cluster; empty: the embedded farm starts its own
    workers: int = Field(default=0, ge=0)  # workers on a machine; 0: one a GPU, or one for the CPU
    scratch: Path | None = None  # of workers; None: in the system's temporary folder
    sandbox: bool = True  # False: children run without bubblewrap even where it is there

    @property
    def database(self) -> str:
        """SQLAlchemy URL of the database."""
        return self.database_url or f"sqlite:///{self.home / 'farm.sqlite3'}"


class MachineSettings(_Settings):
    """What the owner of a machine says of its workers, in the environment and the farm home of that machine.

    The head has no part in it. Read and explained by `workers.machine`.
    """

    worker_tags: Annotated[tuple[str, ...], NoDecode] = ()  # “rtx,studio-b”; a list in config.toml
    worker_price: float = Field(default=0.0, ge=0, allow_inf_nan=False)  # of one worker, an hour
    lend_hours: str = ""  # “19:00-08:00, sat, sun”, local time; empty: all of them. See `workers.hours`
    lend_idle: str = ""  # “10m”: lent only after its owner was away for so long; empty: also while they work
    lend_busy: float | None = Field(default=None, gt=0, allow_inf_nan=False)  # cores, see `workers.lending`
    lend_finish: bool = False  # what runs when the hours end is finished first

    @field_validator("worker_tags", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value
