"""What packing has to say about a scene's files, each with its cure."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from farm.assets.places import is_portable
from farm.assets.trace import Needs
from farm.domain.errors import BadInput
from farm.domain.scene import Finding, Weight

_USERS = 3  # named of those that use a file
_LISTED = 5


def shown(path: Path | str) -> str:
    """The path as text that any terminal and JSON can carry."""
    return str(path).encode(errors="replace").decode()


def ordered(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each once, warnings before notes."""
    return tuple(sorted(dict.fromkeys(found), key=lambda one: one.weight is Weight.NOTE))


def of_needs(needs: Needs) -> Iterator[Finding]:
    """What is known before a file is read."""
    for path in needs.missing:
        if path not in needs.loops:
            yield _warning(
                "missing-file",
                f"The scene points at “{shown(path)}”, which is not there{_used(path, needs)}.",
                "Put the file back, or remove it from the scene.",
            )
    for path in needs.loops:
        yield _warning(
            "link-loop",
            f"“{shown(path)}” is a link that leads back to itself{_used(path, needs)}.",
            "Replace the link by the file that it should lead to.",
        )
    for path in needs.many:
        yield _warning(
            "too-many-files",
            f"“{shown(path)}” stands for more files than one path may: the rest is left behind.",
            "Put the sequence into several folders, or convert it into one file.",
        )
    for path in needs.uncompiled:
        yield _warning(
            "not-compiled",
            f"The script “{shown(path)}” has no compiled form (.oso) beside it{_used(path, needs)}.",
            "In Blender, press Update on its Script node, or put the text into the .blend (Internal).",
        )
    for circle in needs.cycles:
        if len(circle) == 1:
            what = f"“{circle[0].name}” links datablocks from itself, which Blender leaves out."
        else:
            what = f"{_list([path.name for path in circle])} link each other in a circle."
        yield _note("library-cycle", what, "Move what they share into a library of its own.")
    if needs.faults:
        yield _warning(
            "not-traced",
            f"Not all of the scene's links could be read ({'; '.join(needs.faults)}).",
            "If pictures miss textures, pack them into the .blend.",
        )


def of_names(names: Mapping[Path, str], outside: list[Path]) -> Iterator[Finding]:
    """What the names of the files to be sent may cause; ``outside`` are those from other folders."""
    alike: dict[str, list[Path]] = defaultdict(list)
    for file, name in names.items():
        alike[name.casefold()].append(file)
        if not is_portable(name):
            yield _note(
                "not-portable",
                f"Windows cannot store a file called “{shown(file.name)}”.",
                "Rename it in Blender's file browser and in the scene, if it is to be used there.",
            )
    for files in alike.values():
        if len(files) > 1 and not all(_same(files[0], other) for other in files[1:]):
            yield _warning(
                "names-clash",
                f"{_list([shown(names[file]) for file in files])} differ by upper and lower case alone.",
                "Give one of them another name: many systems take them for one file.",
            )
    if outside:
        folders = sorted({shown(file.parent) for file in outside})
        count = "One file comes" if len(outside) == 1 else f"{len(outside)} files come"
        yield _note(
            "outside",
            f"{count} along from outside of the scene's folder: {_list(folders)}.",
            "The paths are changed in a copy that is sent; your own file stays as it is.",
        )


def private(file: Path, needs: Needs) -> Finding:
    what = f"“{shown(file)}” lies among the system's or hidden files, so it is not sent along"
    return _left_out(f"{what}{_used(file, needs)}.")


def too_long(file: Path, needs: Needs) -> Finding:
    return _left_out(f"“{shown(file)}” has a name too long to travel{_used(file, needs)}.")


def taken(file: Path, name: str, needs: Needs) -> Finding:
    return _left_out(f"“{shown(file)}” would get the name of another file, “{name}”{_used(file, needs)}.")


def no_room(target: Path, blend: Path) -> Finding:
    return _left_out(f"“{shown(blend.name)}” has no room for another path to “{shown(target)}”.")


def unwritten(blend: Path, error: Exception) -> Finding:
    """Why a .blend is sent with paths that lead nowhere on a worker."""
    if isinstance(error, OSError):
        why, cure = _reason(error), "Make room in the folder for temporary files (TMPDIR)."
    elif isinstance(error, BadInput):
        why, cure = error.what.rstrip("."), error.cure
    else:
        why, cure = type(error).__name__, "Save it again in Blender."
    what = f"“{shown(blend.name)}” could not be copied to change its paths: {why}."
    return _warning("paths-kept", what, cure)


def unreadable(file: Path, error: OSError, needs: Needs) -> Finding:
    return _warning(
        "left-out",
        f"“{shown(file)}” cannot be read: {_reason(error)}{_used(file, needs)}.",
        "Check its permissions, and whether it is still there.",
    )


def changing(file: Path, needs: Needs) -> Finding:
    return _warning(
        "left-out",
        f"“{shown(file)}” was being written while it was read{_used(file, needs)}.",
        "Wait until it is saved, then submit again.",
    )


def empty(file: Path, needs: Needs) -> Finding:
    return _warning(
        "empty-file",
        f"“{shown(file)}” has no content (0 bytes){_used(file, needs)}.",
        "Save or copy it again.",
    )


def _left_out(what: str) -> Finding:
    return _warning("left-out", what, "Copy it next to the scene and point the scene at the copy.")


def _warning(code: str, what: str, cure: str) -> Finding:
    return Finding(code=code, weight=Weight.WARNING, what=what, cure=cure)


def _note(code: str, what: str, cure: str) -> Finding:
    return Finding(code=code, weight=Weight.NOTE, what=what, cure=cure)


def _used(path: Path, needs: Needs) -> str:
    """`` (image “Wood” and 2 more)``, or nothing where it is not known."""
    users = list(needs.users.get(path, ()))
    if not users:
        return ""
    more = f" and {len(users) - _USERS} more" if len(users) > _USERS else ""
    return f" ({', '.join(users[:_USERS])}{more})"


def _list(items: list[str]) -> str:
    named = [f"“{item}”" for item in items[:_LISTED]]
    if len(items) > _LISTED:
        return f"{', '.join(named)} and {len(items) - _LISTED} more"
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)  # noqa: PTH121
    except OSError:
        return False


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
