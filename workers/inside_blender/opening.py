"""Opens a .blend with scripts off, and says in plain words what is wrong with one that does not open."""

from __future__ import annotations

import gzip
import re
import tempfile
import time
from pathlib import Path

import bpy

from workers.child import Refusal
from workers.inside_blender import compat
from workers.inside_blender.causes import BAD_SCENE
from workers.inside_blender.session import Session
from workers.protocol import Done, Open

_MAGIC = b"BLENDER"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_LFS = b"version https://git-lfs"
#: Up to 4.5: ``BLENDER-v405``; from 5.0: ``BLENDER17-01v0502`` (17 is the header's own size).
_VERSION = re.compile(rb"BLENDER(?:[-_][vV](\d)(\d\d)|\d\d-\d\dv(\d\d)(\d\d))")


def open_file(session: Session, request: Open) -> Done:
    """Carry out an `Open`; raises `Refusal` (bad-scene) for anything that Blender cannot open."""
    name = Path(request.path).name
    if session.path:
        raise Refusal(BAD_SCENE, f"“{name}” cannot be opened: this process already has a scene.")
    check_head(name, _head(Path(request.path)))
    factory_preferences()
    started = time.monotonic()
    try:
        bpy.ops.wm.open_mainfile(filepath=request.path, load_ui=False, use_scripts=False)
    except RuntimeError as error:
        raise _unopened(request.path, str(error)) from error
    session.path = request.path
    session.scene = bpy.context.scene.name
    session.load_seconds = time.monotonic() - started
    _keep_texture_cache_out()
    _keep_data()
    return Done(seconds={"load": session.load_seconds})


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(64)
    except OSError as error:
        raise Refusal(
            BAD_SCENE, f"“{path.name}” cannot be read: {error.strerror}.", "Check the file and try again."
        ) from error


def check_head(name: str, head: bytes) -> None:
    """Raise `Refusal` where the first bytes of a file show that it is no .blend."""
    if not head:
        raise Refusal(BAD_SCENE, f"“{name}” is empty.", "Save the scene again in Blender and send that file.")
    if head.startswith(_LFS):
        raise Refusal(
            BAD_SCENE,
            f"“{name}” is a Git LFS pointer, not the scene itself.",
            "Run “git lfs pull” where the file comes from, and send it again.",
        )
    if not head.startswith((_MAGIC, _GZIP, _ZSTD)):
        raise Refusal(BAD_SCENE, f"“{name}” is not a Blender file.", "Send a .blend saved by Blender.")


def saved_by(path: str) -> tuple[int, int] | None:
    """(major, minor) of the Blender that saved a file; None where its header does not tell.

    A zstd file hides its header from the standard library, but its loader tells the version.
    """
    try:
        with Path(path).open("rb") as stream:
            head = stream.read(64)
        if head.startswith(_GZIP):
            with gzip.open(path) as stream:
                head = stream.read(64)
    except (OSError, EOFError):
        return None
    found = _VERSION.match(head)
    if not found:
        return None
    return int(found[1] or found[3]), int(found[2] or found[4])


def _unopened(path: str, text: str) -> Refusal:
    name = Path(path).name
    version = saved_by(path)
    if version and version > tuple(bpy.app.version[:2]):
        return Refusal(
            BAD_SCENE,
            f"“{name}” was saved by Blender {version[0]}.{version[1]}; this worker has {compat.version()} "
            "and cannot open it.",
            f"Save it for Blender {bpy.app.version[0]}.{bpy.app.version[1]}, or use a newer worker.",
        )
    reason = text.strip().removeprefix("Error: ").split("\n")[0].replace(path, name)
    if any(sign in reason.lower() for sign in ("dna", "not supported", "trunc", "corrupt")):
        return Refusal(
            BAD_SCENE,
            f"“{name}” is damaged or cut short: Blender cannot read it to its end.",
            "Save the scene again in Blender and send that file.",
        )
    return Refusal(BAD_SCENE, f"Blender cannot open “{name}”: {reason}.", "Try to open it in Blender itself.")


def factory_preferences() -> None:
    """Nobody's own preferences may change a picture, run a script or reach the network."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.preferences.filepaths.use_scripts_auto_execute = False
    system = bpy.context.preferences.system
    if hasattr(system, "use_online_access"):
        system.use_online_access = False


def _keep_texture_cache_out() -> None:
    """5.2 writes ``blender_tx`` beside images; the scene's folder is not ours to write to.

    Switching the cache off could change pictures (it filters textures), so it moves instead.
    """
    filepaths = bpy.context.preferences.filepaths
    if hasattr(filepaths, "texture_cache_directory"):
        filepaths.texture_cache_directory = str(Path(bpy.app.tempdir or tempfile.gettempdir(), "textures"))


def _keep_data() -> None:
    """Keep what Cycles made of the scene between renders; switching this off for a moment frees it."""
    for scene in bpy.data.scenes:
        scene.render.use_persistent_data = True
