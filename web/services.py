"""What the web process may ask of the farm: the service's verbs, bound to one open farm.

A seam: `web.opened` carries it out with `farm.service`, the tests with a farm in memory. All
methods are synchronous and thread-safe, and raise the errors of `farm.domain.errors`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from farm.domain.control import ControlChange
from farm.domain.job import JobSpec, Principal
from farm.domain.scene import Blob, SceneManifest
from farm.domain.views import (
    AttemptView,
    BlobQuery,
    EventView,
    FarmView,
    FramesRequest,
    FrameView,
    JobView,
    LimitRequest,
    OutputView,
    ProofView,
    Provenance,
    SceneRef,
    UserView,
    Verification,
    VerifyRequest,
)


class Services(Protocol):
    """The verbs, as `farm.service` documents them."""

    def submit(self, who: Principal, spec: JobSpec) -> JobView: ...

    def jobs(self, who: Principal, limit: int, before: str | None) -> list[JobView]: ...

    def job(self, who: Principal, job_id: str) -> JobView: ...

    def cancel(self, who: Principal, job_id: str) -> JobView: ...

    def change(self, who: Principal, job_id: str, asked: ControlChange) -> JobView: ...

    def retry(self, who: Principal, job_id: str) -> JobView: ...

    def requeue(self, who: Principal, job_id: str, asked: FramesRequest) -> JobView: ...

    def limits(self, who: Principal) -> list[UserView]: ...

    def limit(self, who: Principal, user_id: str, asked: LimitRequest) -> UserView: ...

    def verify(self, who: Principal, job_id: str, asked: VerifyRequest) -> Verification: ...

    def proofs(
        self, who: Principal, job_id: str, first: int, count: int, worst_first: bool = False
    ) -> list[ProofView]: ...

    def proof(self, who: Principal, job_id: str, frame: int) -> ProofView | None: ...

    def frames(self, who: Principal, job_id: str, first: int, count: int) -> list[FrameView]: ...

    def frame(self, who: Principal, job_id: str, frame: int) -> FrameView: ...

    def provenance(self, who: Principal, job_id: str, frame: int) -> Provenance: ...

    def attempts(self, who: Principal, job_id: str, failed: bool) -> list[AttemptView]: ...

    def missing_blobs(self, who: Principal, query: BlobQuery) -> BlobQuery: ...

    def put_blob(self, who: Principal, sha256: str, chunks: Iterable[bytes]) -> Blob: ...

    def register_scene(self, who: Principal, manifest: SceneManifest) -> SceneRef: ...

    def output(self, who: Principal, output_id: int) -> OutputView: ...

    def stream_output(self, who: Principal, output_id: int, start: int = 0) -> Iterator[bytes]: ...

    def events_after(
        self, who: Principal, sequence: int, job_id: str | None, limit: int
    ) -> list[EventView]: ...

    def latest_event(self) -> int: ...

    def pulse(self, who: Principal) -> FarmView: ...
