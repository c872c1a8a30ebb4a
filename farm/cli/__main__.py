"""`python -m farm.cli` is `farm`."""

from farm.cli.entry import main

main()
