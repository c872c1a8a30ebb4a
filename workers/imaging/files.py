"""Files of the scratch folder: read only what is a plain file, write so that nothing half done shows."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from workers.child import Refusal


def plain_file(path: str, what: str) -> Path:
    """``path`` if it is a plain file, not a link; raises `Refusal` naming it as ``what`` otherwise."""
    found = Path(path)
    try:
        mode = found.lstat().st_mode
    except FileNotFoundError:
        raise Refusal("bad-result", f"{what} is missing ({found.name}).", "Render it again.") from None
    if not stat.S_ISREG(mode):
        raise Refusal("bad-result", f"{what} is not a plain file ({found.name}).", "Render it again.")
    return found


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A binary file to write, which becomes ``path`` at once and whole where the block ends well.

    Where it does not, ``path`` is left as it was and nothing is left behind. Raises OSError.
    """
    final = Path(path)
    temporary = final.with_name(f".{final.name}.{os.getpid()}.part")
    temporary.unlink(missing_ok=True)
    try:
        with temporary.open("xb") as file:  # x: never through a link that waits there
            yield file
        temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)
