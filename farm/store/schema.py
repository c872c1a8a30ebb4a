"""Tables. Values of the domain lie in text columns as the JSON that pydantic writes.

`frames` and `tasks` hold a row only for what was opened: a frame that nobody has started yet is in
the job's plan, not in a table, so a job of a million frames starts with one row.

Whoever changes a table that farms have counts `farm.store.upgrade.VERSION` up and adds a step there.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)

metadata = MetaData()


class Words(TypeDecorator[str]):
    """Text by people and scenes. PostgreSQL takes no NUL, and no scene may stop the head with one."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        del dialect
        return None if value is None else self.cleaned(value)

    @staticmethod
    def cleaned[T](value: T) -> T | str:
        """The text as it can be stored; what is none stays as it is."""
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


#: SQLite numbers rows by itself only for INTEGER keys.
_SERIAL = BigInteger().with_variant(Integer, "sqlite")

users = Table(
    "users",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("name", Text, nullable=False),
    Column("created", Float, nullable=False),
    Column("workers", Integer),  # so many at once, at most, for all of this user's jobs
)

blobs = Table(
    "blobs",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("bytes", BigInteger, nullable=False),
    Column("created", Float, nullable=False),
)

scenes = Table(
    "scenes",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("manifest", Text, nullable=False),
    Column("created", Float, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("owner", String(40), ForeignKey("users.id"), nullable=False),
    Column("name", Words, nullable=False),
    Column("scene_id", String(64), ForeignKey("scenes.id"), nullable=False),
    Column("settings", Text, nullable=False),
    Column("proves", String(40)),  # the job whose frames this one verifies
    Column("adds_to", String(40)),  # the job whose samples this one keeps and adds to
    Column("state", String(20), nullable=False),
    Column("created", Float, nullable=False),
    Column("started", Float),
    Column("ended", Float),
    Column("report", Text),
    Column("plan", Text),
    Column("opened", Integer, nullable=False, default=0),  # frames of the plan that have rows
    Column("error", Words, nullable=False, default=""),
    Column("cure", Words, nullable=False, default=""),
    Column("control", Text),  # a Control; none: the defaults
    Column("costs", Text),  # Costs, as they were last measured
    Column("waits", Words, nullable=False, default="", server_default=""),  # for what, in words
    Index("jobs_by_state", "state"),
    Index("jobs_by_age", "created", "id"),
)

frames = Table(
    "frames",
    metadata,
    Column("job_id", String(40), ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("frame", Integer, primary_key=True),
    Column("state", String(20), nullable=False),
    Column("finishing", Integer, nullable=False, default=0),
    Column("render_class", Text),
    Column("seconds", Float),
    Column("started", Float),
    Column("ended", Float),
    Column("error", Words, nullable=False, default=""),
    Column("recuts", Text),  # revisions of this frame's plan, a JSON list of Recut
    Column("device", String(20)),  # that it moved to, for more memory; none: its job's
    Index("frames_by_state", "job_id", "state"),
)

tasks = Table(
    "tasks",
    metadata,
    Column("key", String(120), primary_key=True),
    Column("job_id", String(40), ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("frame", Integer),
    Column("tile", Integer),
    Column("state", String(20), nullable=False),
    Column("failures", Integer, nullable=False, default=0),
    Column("losses", Integer, nullable=False, default=0),
    # How often it was done and had to be done again, as its finish found it at fault.
    Column("renders", Integer, nullable=False, default=0, server_default="0"),
    Index("tasks_by_job", "job_id", "state"),
    Index("tasks_by_frame", "job_id", "frame"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("task", String(120), ForeignKey("tasks.key", ondelete="CASCADE"), nullable=False),
    Column("job_id", String(40), nullable=False),
    Column("worker_id", String(120), nullable=False),
    Column("state", String(20), nullable=False),
    Column("started", Float, nullable=False),
    Column("ended", Float),
    Column("progress", Text),
    Column("result", Text),  # a Result without its files
    Column("failure", Text),  # a Failure without its files
    Index("attempts_by_job", "job_id", "state"),
    Index("attempts_by_task", "task"),
)

outputs = Table(
    "outputs",
    metadata,
    Column("id", _SERIAL, primary_key=True, autoincrement=True),
    Column("job_id", String(40), ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("frame", Integer),
    Column("tile", Integer),
    Column("attempt_id", String(40), nullable=False),
    Column("role", String(20), nullable=False),
    Column("name", Words, nullable=False),
    Column("key", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("media_type", Text, nullable=False),
    Column("render_class", Text),
    Index("outputs_by_frame", "job_id", "frame"),
    Index("outputs_by_role", "job_id", "role", "tile", "id"),  # the newest preview, without looking for it
    Index("outputs_by_attempt", "attempt_id"),
    # Numbers of deleted rows are never given again: browsers keep pictures by number.
    sqlite_autoincrement=True,
)

#: What came out when a frame was verified: the latest for each frame of the job that was verified.
proofs = Table(
    "proofs",
    metadata,
    Column("job_id", String(40), ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("frame", Integer, primary_key=True),
    Column("by_job", String(40), nullable=False),
    Column("time", Float, nullable=False),
    Column("exact", Integer, nullable=False),
    Column("proof", Text, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("sequence", _SERIAL, primary_key=True, autoincrement=True),
    Column("time", Float, nullable=False),
    Column("job_id", String(40)),
    Column("kind", String(40), nullable=False),
    Column("data", Text, nullable=False),
    Index("events_by_job", "job_id", "sequence"),
    Index("events_by_kind", "kind", "time"),
    # Numbers of deleted rows are never given again: clients resume by number.
    sqlite_autoincrement=True,
)

intents = Table(
    "intents",
    metadata,
    Column("id", _SERIAL, primary_key=True, autoincrement=True),
    Column("job_id", String(40), ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("time", Float, nullable=False),
    Column("data", Text),  # JSON, by kind
)

workers = Table(
    "workers",
    metadata,
    Column("id", String(120), primary_key=True),
    Column("info", Text, nullable=False),
    Column("state", String(20), nullable=False),
    Column("attempt_id", String(40)),
    Column("since", Float, nullable=False),
)

#: Workers that should be here and cannot start.
failed_workers = Table(
    "failed_workers",
    metadata,
    Column("id", String(120), primary_key=True),
    Column("why", Words, nullable=False),
    Column("since", Float, nullable=False),
)

#: Workers that are given nothing for a while, because what they were given failed.
set_aside = Table(
    "set_aside",
    metadata,
    Column("worker_id", String(120), primary_key=True),
    Column("job_id", String(40), primary_key=True),  # empty: for all jobs
    Column("why", Words, nullable=False),
    Column("since", Float, nullable=False),
    Column("probes", Integer, nullable=False, default=0),  # that it failed since
)

#: One row: who may write task states. See `farm.store.head`.
head = Table(
    "head",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("beat", Float, nullable=False),
    Column("host", Words),  # of the dispatcher that holds it; none: it was given up
    Column("pid", BigInteger),
)

#: One row: of which version these tables are. See `farm.store.upgrade`.
version = Table(
    "version",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("number", Integer, nullable=False),
)
