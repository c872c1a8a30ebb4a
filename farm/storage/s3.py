"""S3-compatible storage: SeaweedFS on one machine, Amazon S3 and its kin for a fleet."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import batched
from pathlib import Path
from typing import Any

import boto3
from boto3.s3.transfer import TransferConfig
from botocore import exceptions as boto
from botocore.config import Config
from urllib3.exceptions import HTTPError

from farm.domain.errors import TesseraError
from farm.domain.scene import Blob
from farm.settings import StorageSettings
from farm.storage.base import BINARY, CHUNK
from farm.storage.faults import check_room, code_of, is_missing, spoken
from farm.storage.files import Hashed, read_chunks, save_verified

_PART = 16 * 1024 * 1024  # bytes of a part of a large upload
_MAX_PARTS = 9_000  # S3 takes 10,000
_BROKEN = (boto.HTTPClientError, boto.IncompleteReadError, boto.ResponseStreamingError, HTTPError, OSError)


def open_storage(settings: StorageSettings) -> S3Storage:
    """The store that `settings` names. Makes no connection yet; raises `TesseraError` for a bad address."""
    return S3Storage(settings)


class S3Storage:
    """A `Storage` on an S3-compatible server.

    Uploads are signed with the SHA-256 of each part, so the server refuses a part that was damaged
    on the way. A download that breaks off goes on from where it broke, if the object is still the
    same one.
    """

    def __init__(self, settings: StorageSettings, *, part: int = _PART) -> None:
        self._bucket = settings.bucket
        self._where = settings.endpoint or "Amazon S3"
        self._region = settings.region
        self._part = part
        self._folder = settings.folder
        self._client = _client(settings, attempts=3, read_timeout=60)
        self._quick = _client(settings, attempts=1, read_timeout=5)
        self._ready = False
        self._preparing = threading.Lock()

    def put_file(self, key: str, path: Path, media_type: str = BINARY) -> Blob:
        part = max(self._part, path.stat().st_size // _MAX_PARTS)
        return self._put(key, read_chunks(path), media_type, part)

    def put_stream(self, key: str, chunks: Iterable[bytes], media_type: str = BINARY) -> Blob:
        return self._put(key, chunks, media_type, self._part)

    def get_file(self, key: str, path: Path, blob: Blob) -> None:
        save_verified(key, self.stream(key), path, blob)

    def stream(self, key: str, start: int = 0) -> Iterator[bytes]:
        etag, breaks, good = "", 0, start
        while True:
            with self._spoken(key):
                answer = self._open(key, start, etag)
            if answer is None:
                return
            body, etag = answer["Body"], answer["ETag"]
            try:
                while chunk := body.read(CHUNK):
                    start += len(chunk)
                    if start - good >= CHUNK:  # a few bytes a try are no progress
                        breaks, good = 0, start
                    yield chunk
                return
            except _BROKEN:
                breaks += 1
                if breaks > 3:
                    with self._spoken(key):
                        raise
            finally:
                body.close()

    def size(self, key: str) -> int | None:
        with self._spoken(key):
            try:
                return int(self._client.head_object(Bucket=self._bucket, Key=key)["ContentLength"])
            except boto.ClientError as error:
                if is_missing(error):
                    return None
                raise

    def copy(self, source: str, target: str) -> None:
        with self._spoken(source):
            self._client.copy({"Bucket": self._bucket, "Key": source}, self._bucket, target)

    def delete(self, keys: Iterable[str]) -> None:
        for batch in batched(keys, 1000, strict=False):
            with self._spoken(batch[0]):
                answer = self._client.delete_objects(
                    Bucket=self._bucket, Delete={"Objects": [{"Key": key} for key in batch], "Quiet": True}
                )
                for fault in answer.get("Errors", ()):
                    if fault.get("Code") != "NoSuchKey":
                        raise boto.ClientError({"Error": fault}, "DeleteObjects")

    def delete_prefix(self, prefix: str) -> None:
        if not prefix:
            raise ValueError("an empty prefix would delete everything")
        self.delete(self.keys(prefix))

    def keys(self, prefix: str) -> Iterator[str]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        with self._spoken(prefix):
            for page in pages:
                yield from (found["Key"] for found in page.get("Contents", ()))

    def ping(self) -> None:
        with self._spoken():
            self._prepare()

    def _put(self, key: str, chunks: Iterable[bytes], media_type: str, part: int) -> Blob:
        check_room(self._folder)
        source = _Source(chunks)
        with self._spoken(key):
            if not self._ready:
                self._prepare()
            try:
                # s3transfer sends parts in parallel, keeps at most ten in memory, and aborts on a fault.
                self._client.upload_fileobj(
                    source,
                    self._bucket,
                    key,
                    ExtraArgs={"ContentType": media_type},
                    Config=TransferConfig(
                        multipart_threshold=part, multipart_chunksize=part, max_concurrency=4
                    ),
                )
            except Exception:
                if source.fault is None:
                    raise
        if source.fault is not None:
            raise source.fault
        return source.blob

    def _open(self, key: str, start: int, etag: str) -> dict[str, Any] | None:
        """A GET from `start` on; None where there is nothing from there on."""
        wanted = {"Range": f"bytes={start}-"} if start else {}
        same = {"IfMatch": etag} if etag else {}
        try:
            answer: dict[str, Any] = self._client.get_object(Bucket=self._bucket, Key=key, **wanted, **same)
        except boto.ClientError as error:
            if code_of(error) in ("InvalidRange", "416"):
                return None
            raise
        return answer

    def _prepare(self) -> None:
        """Make the bucket where it is missing."""
        with self._preparing:
            try:
                self._quick.head_bucket(Bucket=self._bucket)
            except boto.ClientError as error:
                if not is_missing(error):
                    raise
                self._create_bucket()
            self._ready = True

    def _create_bucket(self) -> None:
        # Amazon wants the region named, except for us-east-1, where it refuses to have it named.
        place = {} if self._region == "us-east-1" else {"LocationConstraint": self._region}
        extra = {"CreateBucketConfiguration": place} if place else {}
        try:
            self._quick.create_bucket(Bucket=self._bucket, **extra)
        except boto.ClientError as error:
            if error.response.get("Error", {}).get("Code") not in (
                "BucketAlreadyOwnedByYou",
                "BucketAlreadyExists",
            ):
                raise

    def _spoken(self, key: str = "") -> AbstractContextManager[None]:
        return spoken(self._where, self._bucket, key, self._folder)


class _Source(Hashed):
    """Remembers what its own chunks raised, so that it is not taken for a fault of storage."""

    fault: BaseException | None = None

    def read(self, size: int = -1) -> bytes:
        try:
            return super().read(size)
        except BaseException as error:
            self.fault = error
            # s3transfer reads in a thread of its own and only reports an `Exception` to its caller.
            raise RuntimeError("the chunks to store ended with an error") from error


def _client(settings: StorageSettings, *, attempts: int, read_timeout: float) -> Any:
    """An S3 client; `attempts` is the number of tries of a request in all."""
    keys = {}
    if settings.access_key:  # else boto3's own search: environment, profile, the machine's role
        keys = {
            "aws_access_key_id": settings.access_key,
            "aws_secret_access_key": settings.secret_key.get_secret_value(),
        }
    try:
        return boto3.session.Session().client(
            "s3",
            endpoint_url=settings.endpoint or None,
            region_name=settings.region,
            config=Config(
                connect_timeout=3,
                read_timeout=read_timeout,
                retries={"mode": "standard", "total_max_attempts": attempts},
                max_pool_connections=32,
                # Host-style names need DNS for every bucket, which a store on an address does not have.
                s3={
                    "addressing_style": "path" if settings.endpoint else "auto",
                    "payload_signing_enabled": True,
                },
                # The signed SHA-256 protects uploads everywhere; CRC trailers are not understood everywhere.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
            **keys,
        )
    except ValueError as error:
        raise TesseraError(
            f"“{settings.endpoint}” is not the address of a store.",
            "Set FARM_STORAGE__ENDPOINT to a URL such as https://s3.example.org.",
        ) from error
