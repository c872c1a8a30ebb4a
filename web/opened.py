"""The services of one open farm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
from farm.service import (
    attempts,
    blobs,
    control,
    events,
    frames,
    jobs,
    limits,
    outputs,
    proofs,
    provenance,
    scenes,
    status,
)
from farm.service.context import Farm


class OpenFarm:
    """`web.services.Services`, carried out by `farm.service` on ``farm``."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    def submit(self, who: Principal, spec: JobSpec) -> JobView:
        return jobs.submit(self._farm, who, spec)

    def jobs(self, who: Principal, limit: int, before: str | None) -> list[JobView]:
        return jobs.listed(self._farm, who, limit, before)

    def job(self, who: Principal, job_id: str) -> JobView:
        return jobs.get(self._farm, who, job_id)

    def cancel(self, who: Principal, job_id: str) -> JobView:
        return jobs.cancel(self._farm, who, job_id)

    def change(self, who: Principal, job_id: str, asked: ControlChange) -> JobView:
        return control.change(self._farm, who, job_id, asked)

    def retry(self, who: Principal, job_id: str) -> JobView:
        return control.retry(self._farm, who, job_id)

    def requeue(self, who: Principal, job_id: str, asked: FramesRequest) -> JobView:
        return control.requeue(self._farm, who, job_id, asked)

    def limits(self, who: Principal) -> list[UserView]:
        return limits.listed(self._farm, who)

    def limit(self, who: Principal, user_id: str, asked: LimitRequest) -> UserView:
        return limits.put(self._farm, who, user_id, asked)

    def verify(self, who: Principal, job_id: str, asked: VerifyRequest) -> Verification:
        return proofs.verify(self._farm, who, job_id, asked)

    def proofs(
        self, who: Principal, job_id: str, first: int, count: int, worst_first: bool = False
    ) -> list[ProofView]:
        return proofs.listed(self._farm, who, job_id, first, count, worst_first)

    def proof(self, who: Principal, job_id: str, frame: int) -> ProofView | None:
        return proofs.of_frame(self._farm, who, job_id, frame)

    def frames(self, who: Principal, job_id: str, first: int, count: int) -> list[FrameView]:
        return frames.listed(self._farm, who, job_id, first, count)

    def frame(self, who: Principal, job_id: str, frame: int) -> FrameView:
        return frames.get(self._farm, who, job_id, frame)

    def provenance(self, who: Principal, job_id: str, frame: int) -> Provenance:
        return provenance.of_frame(self._farm, who, job_id, frame)

    def attempts(self, who: Principal, job_id: str, failed: bool) -> list[AttemptView]:
        return attempts.listed(self._farm, who, job_id, failed)

    def missing_blobs(self, who: Principal, query: BlobQuery) -> BlobQuery:
        return blobs.missing(self._farm, who, query)

    def put_blob(self, who: Principal, sha256: str, chunks: Iterable[bytes]) -> Blob:
        return blobs.put(self._farm, who, sha256, chunks)

    def register_scene(self, who: Principal, manifest: SceneManifest) -> SceneRef:
        return scenes.register(self._farm, who, manifest)

    def output(self, who: Principal, output_id: int) -> OutputView:
        return outputs.get(self._farm, who, output_id)

    def stream_output(self, who: Principal, output_id: int, start: int = 0) -> Iterator[bytes]:
        return outputs.stream(self._farm, who, output_id, start)

    def events_after(self, who: Principal, sequence: int, job_id: str | None, limit: int) -> list[EventView]:
        return events.after(self._farm, who, sequence, job_id, limit)

    def latest_event(self) -> int:
        return events.latest(self._farm)

    def pulse(self, who: Principal) -> FarmView:
        return status.pulse(self._farm, who)
