"""``python -P -m workers.inside_blender``: a render process, spoken to over pipes by `workers.protocol`.

The order matters: tie this process to its parent, then take standard output away, and only then import
bpy, which prints.
"""

from __future__ import annotations

import os
import sys

from workers.inside_blender.channel import Channel
from workers.inside_blender.lifeline import tie_to_parent


def main() -> None:
    """Serve until the parent closes its end."""
    tie_to_parent()
    channel = Channel()
    from workers.inside_blender.serve import serve

    code = serve(channel)
    sys.stderr.flush()
    os._exit(code)  # bpy's own teardown can crash, and nothing is left to save


if __name__ == "__main__":
    main()
