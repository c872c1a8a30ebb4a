"""``python -P -m workers.reference``: the reference process, spoken to over the pipes of its worker."""

from __future__ import annotations

import os
import sys
from typing import Any

from workers.child import Handler, attach, serve


def main() -> None:
    """Serve until the worker closes its end."""
    link = attach()  # before bpy can print anything

    from workers.protocol import CompareImages, Open, RenderReference
    from workers.reference.images import compare_images
    from workers.reference.machine import ready
    from workers.reference.opening import open_file
    from workers.reference.rendering import render_reference

    handlers: dict[type[Any], Handler] = {
        Open: open_file,
        RenderReference: render_reference,
        CompareImages: compare_images,
    }
    code = serve(link, ready(), handlers)
    sys.stderr.flush()
    os._exit(code)  # bpy's own teardown can crash, and nothing is left to save


if __name__ == "__main__":
    main()
