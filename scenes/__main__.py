"""``python -m scenes NAME OUT.blend``, ``python -m scenes --all DIR``, ``python -m scenes --list``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import scenes


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the scenes asked for and say where they are; exit code 1 when one fails."""
    parser = argparse.ArgumentParser(prog="python -m scenes", description="Build the sample scenes.")
    parser.add_argument("name", nargs="?", choices=scenes.names(), metavar="NAME", help="the scene to build")
    parser.add_argument("out", nargs="?", type=Path, metavar="OUT.blend", help="the file to write")
    parser.add_argument("--all", type=Path, metavar="DIR", help="build every scene into DIR")
    parser.add_argument("--list", action="store_true", help="say what there is and what each exercises")
    chosen = parser.parse_args(arguments)
    if chosen.list:
        for name in scenes.names():
            _say(f"{name:<10} {scenes.about(name).splitlines()[0]}")
        return 0
    if chosen.all:
        wanted = {name: chosen.all / f"{name}.blend" for name in scenes.names()}
    elif chosen.name and chosen.out:
        wanted = {chosen.name: chosen.out}
    else:
        parser.error("say which scene and where to put it: NAME OUT.blend, or --all DIR")
    try:
        for name, path in wanted.items():
            _say(f"{name}: {scenes.build_file(name, path)}")
    except (scenes.BuildFailed, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
