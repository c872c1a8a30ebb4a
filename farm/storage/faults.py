"""What boto3 raises, as the errors that users meet."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from botocore import exceptions as boto
from urllib3.exceptions import HTTPError

from farm.domain.errors import NotFound, StorageFull, TesseraError, Unavailable
from farm.storage.base import StorageRefused

# Codes from the S3 API reference, "Error responses"; the bare numbers are what HEAD requests give.
_MISSING = {"NoSuchKey", "NotFound", "404", "NoSuchVersion"}
_KEYS = {"InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied", "403", "Forbidden", "ExpiredToken"}
_FULL = {"InsufficientStorage", "QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded"}
# What SeaweedFS says in the message of an InternalError when its disk or its volumes are full.
_FULL_WORDS = ("no space left", "no free volume", "no writable volume", "disk full", "not enough space")

# SeaweedFS says no more than “internal error” when its disk is full. It keeps half a GiB free, and stops
# earlier where what is free holds no further volume of up to 1 GiB.
_LITTLE = 2 * 1024**3
_KEPT_FREE = 512 * 1024**2  # bytes; as `farm.embedded.seaweed` starts it (-volume.minFreeSpace)

_AGAIN = "Look whether it runs (“farm status”); the farm goes on by itself once it does."


def code_of(error: boto.ClientError) -> str:
    """The S3 code of an answer, such as ``NoSuchKey``, or the HTTP status where there was no body."""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_missing(error: boto.ClientError) -> bool:
    """Whether the answer says that there is no such object or bucket."""
    return code_of(error) in _MISSING


@contextmanager
def spoken(where: str, bucket: str, key: str = "", folder: Path | None = None) -> Iterator[None]:
    """Raises a `TesseraError` for whatever goes wrong between here and storage at `where`.

    `folder` is where a store on this machine keeps its data, if it is one.
    """
    try:
        yield
    except boto.ClientError as error:
        raise _answered(error, where, bucket, key, folder) from error
    except (boto.NoCredentialsError, boto.PartialCredentialsError) as error:
        raise StorageRefused(
            f"There are no keys for storage at {where}.",
            "Set FARM_STORAGE__ACCESS_KEY and FARM_STORAGE__SECRET_KEY.",
        ) from error
    except boto.SSLError as error:
        raise Unavailable(
            f"The certificate of storage at {where} is not trusted.",
            "Check FARM_STORAGE__ENDPOINT, or set AWS_CA_BUNDLE to the certificate of its issuer.",
        ) from error
    except (boto.BotoCoreError, HTTPError, ConnectionError, TimeoutError) as error:
        raise Unavailable(f"Storage at {where} does not answer.", _AGAIN) from error


def _answered(
    error: boto.ClientError, where: str, bucket: str, key: str, folder: Path | None
) -> TesseraError:
    """The error for an answer that is not a success."""
    fault = error.response.get("Error", {})
    code, message = fault.get("Code", ""), fault.get("Message", "")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in _FULL or status == 507 or any(words in message.lower() for words in _FULL_WORDS):
        return StorageFull(f"Storage at {where} is full.", "Free some space there, then try again.")
    if status >= 500 and folder is not None and (room := _room(folder)) < _LITTLE:
        return _full(folder, room)
    if code == "NoSuchBucket":
        return Unavailable(
            f"Storage at {where} has no bucket “{bucket}”.", "Create it, or set FARM_STORAGE__BUCKET."
        )
    if code in _MISSING:
        return NotFound(f"Storage has no “{key}”.")
    if code in _KEYS:
        return StorageRefused(
            f"Storage at {where} refused the farm’s keys ({code}).",
            "Check FARM_STORAGE__ACCESS_KEY and FARM_STORAGE__SECRET_KEY, and their rights on the bucket.",
        )
    if code == "RequestTimeTooSkewed":
        return StorageRefused(
            f"The clock of this machine differs too much from that of storage at {where}.", "Set the clock."
        )
    if status >= 500 or code in {"SlowDown", "RequestTimeout", "Throttling"}:
        return Unavailable(f"Storage at {where} failed: {message or code}.", _AGAIN)
    return StorageRefused(f"Storage at {where} refused a request: {message or code} ({code}).")


def check_room(folder: Path | None) -> None:
    """Raise `StorageFull` where a store on this machine would take no more files.

    Asked before a put: SeaweedFS notices only once a minute, and where it needs a new volume on a full
    disk it lets the caller wait for minutes before it says so.
    """
    if folder is not None and (room := _room(folder)) < _KEPT_FREE:
        raise _full(folder, room)


def _full(folder: Path, room: int) -> StorageFull:
    return StorageFull(
        f"Storage takes no more files: {room // 1024**2} MB are free on the disk of “{folder}”.",
        "Free some space there; the farm goes on by itself a minute later.",
    )


def _room(folder: Path) -> int:
    """Bytes free on the disk of a folder; endless where it cannot be looked at."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 1 << 62
