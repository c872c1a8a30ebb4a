"""Which files a .blend needs, read without Blender (by blender-asset-tracer)."""

from __future__ import annotations

import gc
import logging
import stat
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

#: Files of one sequence or cache folder that are looked at before the rest is left behind.
MAX_FILES = 100_000

logging.getLogger("blender_asset_tracer").setLevel(logging.CRITICAL)  # what it has to say, we say


@dataclass(slots=True)
class Needs:
    """What a scene points at. Paths are absolute; `files` exist, are plain files, come without repeats."""

    files: dict[Path, None] = field(default_factory=dict)
    absolute: dict[str, None] = field(default_factory=dict)  # named by full path, as the file has it
    missing: dict[Path, None] = field(default_factory=dict)
    faults: dict[str, None] = field(default_factory=dict)  # where the tracer gave up, in words


def needs_of(blend: Path) -> Needs:
    """Everything that ``blend`` and the libraries it links point at, apart from itself.

    Never raises for what is in the files: where the tracer fails, what was found so far stays, and
    `Needs.faults` says so. Nothing but plain files is ever opened.
    """
    from blender_asset_tracer import blendfile

    needs = Needs()
    blend = blend.absolute()
    try:
        for usage in _usages(blend, needs):
            try:
                _take(usage, blend, needs)
            except Exception as error:  # noqa: BLE001  see the docstring
                needs.faults[f"{type(error).__name__} in “{blend.name}”"] = None
    except Exception as error:  # noqa: BLE001  strange files bring strange faults; none may stop a submit
        needs.faults[f"{type(error).__name__} in “{blend.name}”"] = None
    finally:
        blendfile.close_all_cached()
        if needs.faults:
            _let_go()
    needs.files.pop(blend, None)
    return needs


def _let_go() -> None:
    """Close what a failing tracer left open now, not some day: Windows cannot save an open file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def _usages(blend: Path, needs: Needs) -> Iterator[Any]:
    """The tracer's `BlockUsage`s, one broken data block costing only itself."""
    from blender_asset_tracer.trace import asset_holding_blocks, blocks2assets, file2blocks, progress

    class OnlyFiles(progress.Callback):
        """Refuses to open what is no plain file, such as a pipe named as a library."""

        def trace_blendfile(self, filename: Path) -> None:
            if not _plain(filename):
                raise OSError(f"{filename} is not a plain file")

    blocks = file2blocks.BlockIterator()
    blocks.progress_cb = OnlyFiles()
    for block in asset_holding_blocks(blocks.iter_blocks(blocks.open_blendfile(blend))):
        try:
            yield from blocks2assets.iter_assets(block)
        except Exception as error:  # noqa: BLE001  see the docstring
            needs.faults[f"{type(error).__name__} in “{block.bfile.filepath.name}”"] = None


def _take(usage: Any, blend: Path, needs: Needs) -> None:
    name = bytes(usage.asset_path)
    if not name.strip(b"/\\."):  # nothing named: an unsaved image, an empty field, the folder itself
        return
    if not usage.asset_path.is_blendfile_relative():
        needs.absolute[str(usage.asset_path)] = None
        return
    path = Path(usage.abspath)
    found = False
    for file in islice(_files(usage, path, blend), MAX_FILES):
        if _plain(file):
            needs.files[file] = None
            found = True
    if not found:
        needs.missing[path] = None


def _files(usage: Any, path: Path, blend: Path) -> Iterator[Path]:
    if path.is_dir():
        # A folder that holds the scene too is not walked down: that would be the whole project.
        return path.iterdir() if blend.is_relative_to(path) else path.rglob("*")
    return iter(usage.files())


def _plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False
