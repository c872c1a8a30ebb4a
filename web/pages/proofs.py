"""What was verified of a job, for its page."""

from __future__ import annotations

from typing import Any

from farm.domain.job import Principal
from farm.domain.proved import closely, proves, unnumbered
from farm.domain.views import FrameView, JobView, ProofView
from web.pages.words import count
from web.services import Services

#: Frames whose proofs are told in full: those that differ first.
SHOWN = 50


def proved(farm: Services, who: Principal, job: JobView, frame: FrameView | None) -> dict[str, Any]:
    """The context of the proof: its frames in full, that of the frame in sight, and the badge."""
    if not job.verified:
        return {"proofs": [], "proof": None, "badge": "", "unnumbered": False}
    proofs = farm.proofs(who, job.id, 0, SHOWN, worst_first=True)
    proof = None if frame is None else farm.proof(who, job.id, frame.frame)
    if proof is not None and all(one.frame != proof.frame for one in proofs):
        proofs = [*proofs, proof]
    digests = not job.settings.keep_exr and any(unnumbered(one.proof) for one in proofs)
    return {"proofs": proofs, "proof": proof, "badge": badge(job, proofs), "unnumbered": digests}


def badge(job: JobView, proofs: list[ProofView]) -> str:
    """“Proved: 3 frames are the same, bit for bit”, “1 of 3 frames differs”, “Compared: … look the same”."""
    frames = count(job.verified, "frame")
    one = job.verified == 1
    if job.differing:
        return f"{job.differing} of {frames} {'differs' if job.differing == 1 else 'differ'}"
    if not all(proves(view.proof) for view in proofs):
        return f"Compared: {frames} {'looks' if one else 'look'} the same; not all passes are known"
    tolerance = max((view.proof.tolerance for view in proofs), default=0.0)
    return f"Proved: {frames} {'is' if one else 'are'} the same, {closely(tolerance)}"
