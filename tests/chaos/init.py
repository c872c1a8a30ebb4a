"""``init.py PROGRAM ARGUMENT…``: the first process of a pid namespace. Standard library only.

It brings loopback up, runs the program, buries whatever ends meanwhile, and ends with the program's
exit code; then the kernel ends everything else in the namespace.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys


def main() -> int:
    """The program's exit code; 128 and the number of a signal."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    program = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
    signal.signal(signal.SIGTERM, lambda told, _: os.kill(program, told))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells it to all; the program ends in order
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == program:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
