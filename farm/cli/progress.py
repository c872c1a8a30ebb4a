"""Progress as it is shown: one living line on a terminal, plain lines in a pipe, none with --json."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column

from farm.cli.speaker import Speaker, clean
from farm.cli.tally import Tally
from farm.cli.words import size


class Display:
    """Shows a job's progress while it is entered. Lines said meanwhile appear above."""

    def __init__(self, speaker: Speaker) -> None:
        self._live = _progress(speaker.out) if speaker.out.is_terminal else None
        self._task = None if self._live is None else self._live.add_task("", total=None, told="", count="")

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, tally: Tally) -> None:
        """The job's line."""
        if self._live is None or self._task is None:
            return
        job = tally.job
        self._live.update(
            self._task,
            description=clean(f"{job.name[:20]} {job.id}"),
            completed=job.frames.done,
            total=job.frames.total or None,
            count=f"{job.frames.done}/{job.frames.total} frames" if job.frames.total else "",
            told=clean(tally.told),
        )

    def sending(self, sent: int, total: int) -> None:
        """Bytes of the scene on their way; may be called from any thread."""
        if self._live is None or self._task is None or total == 0:
            return
        self._live.update(self._task, description="sending the scene", told=f"{size(sent)} of {size(total)}")


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        TextColumn("{task.fields[count]}", markup=False),
        TextColumn(
            "{task.fields[told]}",
            markup=False,
            table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
        ),
        console=console,
        expand=True,
        transient=True,
        refresh_per_second=4,
    )
