"""`python -m farm.cli` is `farm`."""

from farm.cli.main import main

main()
