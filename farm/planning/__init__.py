"""Pure: how to split a job."""

from farm.planning.split import plan_job

__all__ = ["plan_job"]
