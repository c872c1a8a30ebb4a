"""``python -m benchmarks`` is ``python -m benchmarks.render``."""

from __future__ import annotations

import sys

from benchmarks.render import main

if __name__ == "__main__":
    sys.exit(main())
