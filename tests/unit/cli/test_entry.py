"""The moment before the command has begun."""

import subprocess
import sys

INTERRUPTED_WHILE_IMPORTING = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, *_):
        if name == "farm.cli.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
from farm.cli.entry import main
main()
"""


def test_ctrl_c_while_the_command_is_imported_ends_it_without_a_word():
    done = subprocess.run(
        [sys.executable, "-P", "-c", INTERRUPTED_WHILE_IMPORTING], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
