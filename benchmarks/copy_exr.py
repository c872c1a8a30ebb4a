"""The other side of the comparison: decode a file once and encode it once, with the OpenEXR library alone.

``copy_exr.py SOURCE TARGET THREADS``. The last line of stdout is JSON: seconds of reading and writing, and
the most memory that the process had.
"""

from __future__ import annotations

import json
import sys
import time

import OpenEXR

from workers.child import peak_memory


def main(source: str, target: str, threads: int) -> None:
    """Read all of ``source`` into memory, and write all of it to ``target``."""
    OpenEXR.set_global_thread_count(threads)
    started = time.perf_counter()
    with OpenEXR.File(source, separate_channels=True) as file:
        read = time.perf_counter() - started
        parts = [
            OpenEXR.Part({**part.header, "compression": OpenEXR.ZIP_COMPRESSION}, part.channels, part.name())
            for part in file.parts
        ]
        OpenEXR.File(parts).write(target)
    wrote = time.perf_counter() - started - read
    sys.stdout.write(json.dumps({"read": read, "write": wrote, "peak_memory": peak_memory()}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
