"""What can be done: submit, cancel, go on, open what came of it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import bpy

from . import session
from .gather import gather
from .preferences import place
from .settings import job_spec, results_folder
from .trouble import Trouble
from .work import Work

Done = set[str]


class _Told(bpy.types.Operator):
    """Base: troubles become a report. No undo step: none of these touches the scene."""

    bl_options = {"INTERNAL"}

    def told(self, act: Callable[[], None]) -> Done:
        try:
            act()
        except Trouble as trouble:
            self.report({"ERROR"}, f"{trouble.what} {trouble.cure}".strip())
            return {"CANCELLED"}
        return {"FINISHED"}


class _OfWork(_Told):
    """Base: acts on one submission of the panel."""

    index: bpy.props.IntProperty(options={"HIDDEN", "SKIP_SAVE"})

    @property
    def work(self) -> Work:
        if not 0 <= self.index < len(session.works):
            raise Trouble("This submission is no longer shown.")
        work: Work = session.works[self.index]
        return work


class TesseraSubmit(_Told):
    """Send the scene as it is now, with unsaved changes, to the farm"""

    bl_idname = "tessera.submit"
    bl_label = "Submit"

    def execute(self, context: bpy.types.Context) -> Done:
        return self.told(lambda: self._submit(context))

    def _submit(self, context: bpy.types.Context) -> None:
        url, token = place(context)
        spec = job_spec(context.scene)
        results = results_folder(context.scene)
        scratch = Path(tempfile.mkdtemp(prefix="tessera-", dir=bpy.app.tempdir))
        try:
            gathered = gather(scratch)
        except Trouble:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        session.add(Work(url, token, spec, results, scratch, gathered))


class TesseraCancel(_OfWork):
    """Stop this submission; frames that are finished are kept"""

    bl_idname = "tessera.cancel"
    bl_label = "Cancel"

    def execute(self, context: bpy.types.Context) -> Done:
        del context
        return self.told(lambda: self.work.cancel())


class TesseraGoOn(_OfWork):
    """Follow the job again, and bring what is not here yet"""

    bl_idname = "tessera.go_on"
    bl_label = "Go On"

    def execute(self, context: bpy.types.Context) -> Done:
        del context
        return self.told(self._go_on)

    def _go_on(self) -> None:
        if not self.work.shown.gave_up:
            raise Trouble("There is nothing to go on with.", "Submit again.")
        session.again(self.index)


class TesseraForget(_OfWork):
    """Leave this submission out of the panel; the job stays on the farm"""

    bl_idname = "tessera.forget"
    bl_label = "Remove from List"

    def execute(self, context: bpy.types.Context) -> Done:
        del context
        return self.told(self._forget)

    def _forget(self) -> None:
        if self.work.shown.working:
            raise Trouble("This submission still runs.", "Cancel it first.")
        session.forget(self.index)


class TesseraOpenPage(_OfWork):
    """Open the job's page in the browser"""

    bl_idname = "tessera.open_page"
    bl_label = "Job's Page"

    def execute(self, context: bpy.types.Context) -> Done:
        del context
        return self.told(lambda: _opened(lambda: bpy.ops.wm.url_open(url=self.work.shown.page)))


class TesseraOpenFolder(_OfWork):
    """Open the folder with this job's results"""

    bl_idname = "tessera.open_folder"
    bl_label = "Folder"

    def execute(self, context: bpy.types.Context) -> Done:
        del context
        return self.told(self._open)

    def _open(self) -> None:
        folder = self.work.shown.folder
        if not Path(folder).is_dir():
            raise Trouble("No frame is here yet.", "Wait for the first one.")
        _opened(lambda: bpy.ops.wm.path_open(filepath=folder))


class TesseraOpenResult(_OfWork):
    """Show the latest finished frame in an image editor"""

    bl_idname = "tessera.open_result"
    bl_label = "Latest Frame"
    bl_options = {"INTERNAL", "UNDO"}  # the picture becomes a data-block of the file

    def execute(self, context: bpy.types.Context) -> Done:
        return self.told(lambda: self._open(context))

    def _open(self, context: bpy.types.Context) -> None:
        pictures = self.work.shown.pictures
        if not pictures:
            raise Trouble("No frame is here yet.", "Wait for the first one.")
        try:
            image = bpy.data.images.load(pictures[-1], check_existing=True)
        except RuntimeError:
            raise Trouble(f"“{pictures[-1]}” cannot be opened.", "Look into the folder.") from None
        area = _image_editor(context)
        if area is not None:
            area.spaces.active.image = image


class TesseraTest(_Told):
    """Ask the farm whether it answers"""

    bl_idname = "tessera.test"
    bl_label = "Test"

    def execute(self, context: bpy.types.Context) -> Done:
        return self.told(lambda: self._test(context))

    def _test(self, context: bpy.types.Context) -> None:
        session.test(*place(context))


def _image_editor(context: bpy.types.Context) -> bpy.types.Area | None:
    """An image editor on the screen, else one in a new window; None where Blender has no windows."""
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "IMAGE_EDITOR":
                return area
    if bpy.app.background:
        return None
    bpy.ops.wm.window_new()
    area = context.window_manager.windows[-1].screen.areas[0]
    area.type = "IMAGE_EDITOR"
    return area


def _opened(open_it: Callable[[], Done]) -> None:
    try:
        open_it()
    except RuntimeError as error:
        raise Trouble(str(error).strip().splitlines()[-1]) from None


CLASSES = (
    TesseraSubmit,
    TesseraCancel,
    TesseraGoOn,
    TesseraForget,
    TesseraOpenPage,
    TesseraOpenFolder,
    TesseraOpenResult,
    TesseraTest,
)
