"""What is worth knowing about a job once it is planned: the plan in words, and what may spoil pictures."""

from __future__ import annotations

import re

from farm.domain.plan import Plan
from farm.domain.scene import Finding, SceneReport, Weight
from farm.domain.views import JobView

#: Codes of `farm.assets.pack` for files that are not there or do not come along.
_NOT_SENT = frozenset({"missing-file", "link-loop", "left-out"})
_MARGIN = Finding(
    code="inexact",
    weight=Weight.NOTE,
    what="At so many samples the overlap of the tiles is a margin, not a proof.",
    cure="Render whole frames with --tiles none to get the very same pixels.",
)
_NAMED = re.compile(r"“[^”]*”")
_MORE = re.compile(r"and (\d+) more")


def plan_in_words(plan: Plan) -> str:
    """The reason of the plan, as a sentence."""
    return f"Plan: {plan.reason.rstrip('.')}."


def warnings(job: JobView, told: tuple[Finding, ...] = ()) -> tuple[Finding, ...]:
    """What the inspection warns of, why frames depend on each other, and why cut ones may differ.

    ``told`` are the findings about the files on this machine that the artist has read already: files
    that were not sent are missing on the farm too, and are not told twice.
    """
    if job.report is None or job.plan is None:
        return ()
    found = [one for one in job.report.findings if one.weight is Weight.WARNING]
    lacking = [one for one in found if one.code.startswith("missing-")]
    if sum(map(_count, lacking)) <= sum(one.code in _NOT_SENT for one in told):
        found = [one for one in found if one not in lacking]
    found += [one for one in job.report.in_order if one not in found]
    if not job.plan.exact:
        found += _inexact(job.plan, job.report)
    return tuple(found)


def _count(missing: Finding) -> int:
    """How many things a finding of the inspection names: `“a”, “b” and 3 more`."""
    more = _MORE.search(missing.what)
    return len(_NAMED.findall(missing.what)) + (int(more[1]) if more else 0)


def _inexact(plan: Plan, report: SceneReport) -> tuple[Finding, ...]:
    if plan.ranges:
        how, why = "by samples", report.breaks_ranges
    else:
        how, why = "in tiles", report.breaks_exactness or (_MARGIN,)
    return tuple(
        one.model_copy(update={"what": f"Frames {how} may differ a little from whole ones. {one.what}"})
        for one in why
    )
