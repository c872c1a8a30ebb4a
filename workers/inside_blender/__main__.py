"""``python -P -m workers.inside_blender``: a render process, spoken to over the pipes of its worker."""

from __future__ import annotations

import os
import sys

from workers.child import attach, serve


def main() -> None:
    """Serve until the worker closes its end."""
    link = attach()  # before bpy can print anything

    from workers.inside_blender.handlers import handlers, ready

    code = serve(link, ready(), handlers(link))
    sys.stderr.flush()
    os._exit(code)  # bpy's own teardown can crash, and nothing is left to save


if __name__ == "__main__":
    main()
