"""The one room that imports ray; to the rest of the farm a cluster is places and workers."""

from farm.cluster.base import Cluster, Slot, WorkerGone, WorkerHandle

__all__ = ["Cluster", "Slot", "WorkerGone", "WorkerHandle"]
