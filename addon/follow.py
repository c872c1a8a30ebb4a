"""Following a job: its state for the panel, and its files into the folder as each frame finishes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

from . import delivery
from .line import Line
from .packing import Finding
from .shown import Phase, Shown
from .trouble import Trouble

_WAIT = 2  # seconds of a long poll; also how long a cancel may take to be seen
_PAGE = 1000
_TRIES = 3
_WANTED = ("output", "exr")
_PICTURES = (".png", ".jpg", ".jpeg", ".exr", ".tif", ".tiff", ".webp", ".bmp", ".tga", ".hdr", ".jp2")


_MOMENT = re.compile(r"\b(\d{4}-\d\d-\d\d \d\d:\d\d) UTC\b")


def _in_local_time(text: str) -> str:
    """A sentence of the farm's with its moments (“2026-12-01 19:00 UTC”) by the artist's clock."""
    return _MOMENT.sub(
        lambda found: f"{datetime.fromisoformat(f'{found[1]}+00:00').astimezone():%Y-%m-%d %H:%M}", text
    )


class Follower:
    """Follows the job of ``shown`` until it has ended and all its files are here."""

    def __init__(
        self, line: Line, cancel: Event, show: Callable[..., None], shown: Shown, results: str
    ) -> None:
        self._line, self._cancel, self._show, self._job = line, cancel, show, shown.job_id
        folder = Path(shown.folder or Path(results) / delivery.folder_name(shown.name, shown.job_id))
        self._folder, self._own = folder, shown.findings
        self._pictures, self._kept, self._asked = list(shown.pictures), shown.kept, False
        self._fetched: set[int] = set()
        show(folder=str(folder))

    def follow(self) -> None:
        """Raises `Trouble` where the farm or the folder fails, `Stopped` where the add-on goes."""
        after = 0
        while True:
            if self._cancel.is_set() and not self._asked:
                self._ask_to_cancel()
            query = f"/api/events?job={self._job}&after={after}&wait={_WAIT}"
            events = self._line.ask("GET", query, wait=_WAIT + 30)
            job = self._line.ask("GET", f"/api/jobs/{self._job}")
            self._tell(job)
            if events:
                after = events[-1]["sequence"]
                self._take(events)
            if job["state"] in ("done", "failed", "cancelled"):
                self._sweep(job)
                self._end(job)
                return

    def _ask_to_cancel(self) -> None:
        self._asked = True
        try:
            self._line.ask("POST", f"/api/jobs/{self._job}/cancel")
        except Trouble as trouble:  # it may have ended meanwhile
            if trouble.away:
                raise

    def _take(self, events: Iterable[dict[str, Any]]) -> None:
        finished: dict[int, None] = {}
        for event in events:
            if event["kind"] == "frame.state" and event["data"].get("state") == "done":
                finished[event["data"]["frame"]] = None
            elif event["kind"] == "attempt.failed":
                self._show(news=f"{event['data'].get('what', '')} {event['data'].get('cure', '')}".strip())
        for frame in finished:
            self._frame(self._line.ask("GET", f"/api/jobs/{self._job}/frames/{frame}"))

    def _sweep(self, job: dict[str, Any]) -> None:
        """Bring what no event told of, such as all that finished before this Blender was started."""
        first = 0
        while job["plan"]:
            page = self._line.ask("GET", f"/api/jobs/{self._job}/frames?first={first}&count={_PAGE}")
            for frame in page:
                self._frame(frame)
            first += len(page)
            if len(page) < _PAGE:
                break
        for movie in job["videos"]:
            self._bring(movie)

    def _frame(self, frame: dict[str, Any]) -> None:
        if frame["state"] != "done" or frame["frame"] in self._fetched:
            return
        for output in frame["outputs"]:
            if output["role"] in _WANTED:
                self._bring(output)
        self._fetched.add(frame["frame"])

    def _bring(self, output: dict[str, Any]) -> None:
        path = delivery.destination(self._folder, output["name"])
        tries = 0
        while not delivery.is_there(output, path):
            tries += 1
            try:
                pieces = self._line.stream(f"/api/outputs/{output['id']}")
                if not delivery.save(pieces, output, path):
                    self._kept += 1
                    self._show(kept=self._kept)
                    return
            except Trouble as trouble:
                if not trouble.away or tries == _TRIES:
                    raise
        if path.suffix.lower() in _PICTURES and output["role"] == "output":
            if str(path) not in self._pictures:
                self._pictures.append(str(path))
            self._show(pictures=tuple(self._pictures))

    def _tell(self, job: dict[str, Any]) -> None:
        report, plan, counts = job["report"], job["plan"], job["frames"]
        said = [] if report is None else list(report["findings"])
        if report is not None and plan is not None and not plan["exact"]:
            said += report["breaks_exactness"]
        findings = tuple(Finding(one["weight"], one["what"], one["cure"]) for one in said)
        ended = job["state"] in ("done", "failed", "cancelled")
        left, paused = job.get("left"), not ended and job.get("control", {}).get("paused", False)
        self._show(
            # What the job made is not brought yet when it ends; until then it goes on here.
            phase=Phase.RENDERING if ended else Phase[job["state"].upper()],
            step=counts["done"],
            steps=counts["total"],
            failed_frames=counts["failed"],
            left=None if ended or left is None else (left["low"], left["high"]),
            paused=paused,
            standing=""
            if ended
            else "Paused; it is resumed on its page."
            if paused
            else _in_local_time(job.get("waits", "")),
            plan=plan["reason"] if plan else "",
            findings=(*self._own, *findings),
            cancelling=job["cancelling"] or self._asked,
        )

    def _end(self, job: dict[str, Any]) -> None:
        self._show(phase=Phase[job["state"].upper()], what=job["error"], cure=job["cure"], waiting="")
