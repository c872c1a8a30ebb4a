"""Where scenes, pieces and pictures lie: an S3-compatible store. The one room that imports boto3."""

from farm.storage.base import CHUNK, Damaged, Storage, StorageRefused
from farm.storage.memory import MemoryStorage
from farm.storage.s3 import S3Storage, open_storage

__all__ = [
    "CHUNK",
    "Damaged",
    "MemoryStorage",
    "S3Storage",
    "Storage",
    "StorageRefused",
    "open_storage",
]
