"""One submission, from the saved copy to the last frame in the artist's folder. Never touches bpy."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from . import packing
from .anew import rewritten
from .follow import Follower
from .gathered import Gathered
from .line import Line
from .shown import Phase, Shown
from .trouble import Stopped, Trouble, reason

log = logging.getLogger(__name__)

_ASKED_AT_ONCE = 1000  # hashes a question


class Work:
    """A submission and its thread. Everything public may be called from Blender's main thread."""

    def __init__(
        self,
        farm: str,
        token: str,
        spec: dict[str, Any],
        results: str,
        scratch: Path | None = None,
        gathered: Gathered | None = None,
        before: Shown | None = None,
    ) -> None:
        """``spec`` is a JobSpec without its scene; ``before`` is what an earlier thread had come to."""
        self._stopped, self._lock = Event(), Lock()
        self.farm, self.token, self.spec, self.results = farm, token, spec, results
        self._scratch, self._gathered = scratch, gathered
        self._shown = before or Shown(spec["name"])
        self._cancel, self._gone = Event(), False
        self._thread = Thread(target=self._run, name="tessera", daemon=True)

    @property
    def shown(self) -> Shown:
        return self._shown

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        """Stop sending, or ask the farm to cancel the job; finished frames are still brought."""
        with self._lock:
            self._cancel.set()
            self._shown = replace(self._shown, cancelling=True)
            if not self._shown.job_id:
                self._stopped.set()

    def let_go(self, seconds: float) -> None:
        """End the thread, leaving the job as it is; waits for it up to ``seconds``."""
        with self._lock:
            self._gone = True
            self._stopped.set()
        self.wait(seconds)

    def wait(self, seconds: float) -> None:
        if self._thread.is_alive():
            self._thread.join(seconds)

    def again(self) -> Work:
        """The same job, followed by a new thread after this one gave up."""
        before = replace(self._shown, what="", cure="", working=True, phase=Phase.WAITING, gave_up=False)
        return Work(self.farm, self.token, self.spec, self.results, before=before)

    def show(self, **changes: Any) -> None:
        """Replace what the panel shows."""
        with self._lock:
            self._shown = replace(self._shown, **changes)

    def _run(self) -> None:
        try:
            line = Line(self.farm, self.token, self._stopped, lambda words: self.show(waiting=words))
            if not self._shown.job_id:
                self._submit(line)
            Follower(line, self._cancel, self.show, self._shown, self.results).follow()
        except Stopped:
            self.show(phase=Phase.CANCELLED, waiting="")
        except Trouble as trouble:
            self._give_up(trouble.what, trouble.cure)
        except Exception as error:
            log.exception("a submission failed")
            self._give_up(
                f"Something in the add-on broke ({type(error).__name__}).",
                "Report it with what Blender's console shows.",
            )
        finally:
            if self._scratch is not None:
                shutil.rmtree(self._scratch, ignore_errors=True)
            self.show(working=False)

    def _give_up(self, what: str, cure: str) -> None:
        followed = bool(self._shown.job_id)
        self.show(phase=Phase.FAILED, what=what, cure=cure, waiting="", gave_up=followed)

    def _submit(self, line: Line) -> None:
        line.ask("GET", "/api/farm")  # an address that is wrong is told before anything is read
        pack = self._packed()
        self._send(line, pack)
        scene = line.ask("POST", "/api/scenes", pack.manifest())
        job = line.ask("POST", "/api/jobs", {**self.spec, "scene_id": scene["scene_id"]}, again=False)
        page = f"{line.url}/jobs/{job['id']}"
        with self._lock:
            self._shown = replace(
                self._shown, job_id=job["id"], page=page, phase=Phase.WAITING, step=0, steps=0
            )
            if self._cancel.is_set() and not self._gone:  # too late to send nothing: the farm cancels it
                self._stopped.clear()

    def _packed(self) -> packing.Pack:
        found = self._gathered
        assert found is not None  # noqa: S101 (without a job there is a scene)
        assert self._scratch is not None  # noqa: S101
        findings = list(found.findings)
        self.show(findings=tuple(findings), waiting="Looking for the files that the scene needs.")
        files = {path: path for path in packing.sources(found.uses, findings)}
        copy = found.copy
        if found.rewrite:
            self.show(waiting="Blender puts paths right in a copy of the file.")
            fresh = rewritten(found, self._scratch, self._stopped)
            copy = fresh.pop(copy, copy)
            files.update({path: new for path, new in fresh.items() if path in files})
        self.show(waiting="", steps=sum(_bytes(path) for path in (copy, *files.values())))
        pack = packing.Pack(found.place)
        packing.gathered(pack, found.layout, files, findings, self._stopped, self._more)
        try:
            packing.add(pack, found.place, copy, self._stopped, self._more)
        except OSError as error:
            raise Trouble(f"The copy of the file cannot be read: {reason(error)}.", "Submit again.") from None
        self.show(findings=tuple(findings))
        return pack

    def _send(self, line: Line, pack: packing.Pack) -> None:
        places = {local.sha256: local for local in pack.files.values()}
        lacking = [places[sha256] for sha256 in _missing(line, list(places))]
        self.show(phase=Phase.UPLOADING, step=0, steps=sum(local.bytes for local in lacking))
        for local in lacking:

            def body(local: packing.Local = local) -> Iterator[bytes]:
                return packing.pieces(local, self._more, self._stopped)

            line.put(f"/api/blobs/{local.sha256}", body, local.bytes)

    def _more(self, count: int) -> None:
        with self._lock:
            self._shown = replace(self._shown, step=self._shown.step + count)


def _missing(line: Line, hashes: list[str]) -> Iterator[str]:
    for first in range(0, len(hashes), _ASKED_AT_ONCE):
        some = hashes[first : first + _ASKED_AT_ONCE]
        lacking = set(line.ask("POST", "/api/blobs/missing", {"sha256": some})["sha256"])
        yield from (sha256 for sha256 in some if sha256 in lacking)


def _bytes(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):
        return 0
