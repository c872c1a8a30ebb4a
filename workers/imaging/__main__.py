"""``python -P -m workers.imaging``: merges pieces and makes previews, over the pipes of its worker."""

from __future__ import annotations

import sys

from workers.child import Handler, attach, serve

if __name__ == "__main__":
    link = attach()  # before the libraries below can print anything

    import OpenEXR
    import PIL

    from workers.imaging.check import check_piece
    from workers.imaging.compare import compare
    from workers.imaging.merge import merge_frame
    from workers.imaging.preview import shrink
    from workers.protocol import CheckPiece, Compare, MergeFrame, Ready, Shrink

    ready = Ready(program="imaging", version=f"OpenEXR {OpenEXR.__version__}, Pillow {PIL.__version__}")
    handlers: dict[type, Handler] = {
        CheckPiece: check_piece,
        MergeFrame: merge_frame,
        Shrink: shrink,
        Compare: compare,
    }
    sys.exit(serve(link, ready, handlers))
