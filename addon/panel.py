"""The panel in the output properties."""

from __future__ import annotations

import bpy

from . import session
from .preferences import said
from .settings import frame_count
from .shown import Phase, Shown
from .trouble import Trouble
from .words import number

_ICONS = {
    Phase.PACKING: "PACKAGE",
    Phase.UPLOADING: "EXPORT",
    Phase.WAITING: "TIME",
    Phase.INSPECTING: "VIEWZOOM",
    Phase.RENDERING: "RENDER_STILL",
    Phase.DONE: "CHECKMARK",
    Phase.FAILED: "CANCEL",
    Phase.CANCELLED: "X",
}
_WEIGHTS = {"error": "CANCEL", "warning": "ERROR", "note": "INFO"}
_LISTED = 12  # findings that are shown; the page lists all


class TesseraPanel(bpy.types.Panel):
    """Settings, Submit, and what became of it."""

    bl_idname = "RENDER_PT_tessera"
    bl_label = "Tessera Farm"
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "output"

    def draw(self, context: bpy.types.Context) -> None:
        scene, layout = context.scene, self.layout
        _settings(layout, scene)
        try:
            frames = frame_count(scene)
        except Trouble as trouble:
            frames = 0
            said(layout, trouble.what, trouble.cure, "ERROR", _width(context))
        row = layout.row()
        row.scale_y = 1.4
        row.enabled = frames > 0
        row.operator(
            "tessera.submit", text=f"Submit {number(frames, 'frame')}" if frames else "Submit", icon="EXPORT"
        )
        for index, work in enumerate(session.works):
            _work(layout.box(), index, work.shown, _width(context))


def _settings(layout: bpy.types.UILayout, scene: bpy.types.Scene) -> None:
    asked = scene.tessera
    column = layout.column()
    column.use_property_split = True
    column.use_property_decorate = False
    column.prop(asked, "name")
    column.prop(asked, "frames")
    if asked.frames == "OWN":
        column.prop(asked, "own_frames", text=" ")
    column.prop(asked, "cut")
    if asked.cut == "GRID":
        pair = column.column(align=True)
        pair.prop(asked, "columns")
        pair.prop(asked, "rows")
    elif asked.cut == "SAMPLES":
        column.prop(asked, "ranges")
    row = column.row(heading="Samples")
    row.prop(asked, "use_samples", text="")
    one = row.row()
    one.enabled = asked.use_samples
    one.prop(asked, "samples", text="")
    column.prop(asked, "device")
    column.prop(asked, "keep_exr")
    column.prop(asked, "video")
    column.prop(asked, "priority")
    column.prop(asked, "paused")
    column.prop(asked, "results")


def _work(box: bpy.types.UILayout, index: int, shown: Shown, width: int) -> None:
    row = box.row()
    row.label(text=shown.name, icon=_ICONS[shown.phase])
    if shown.working:
        row.operator("tessera.cancel", text="", icon="X").index = index
    else:
        row.operator("tessera.forget", text="", icon="TRASH").index = index
    if shown.phase.ended or not shown.steps:
        box.label(text=shown.words)
    else:
        box.progress(factor=shown.factor, text=shown.words)
    if shown.failed_frames:
        box.label(text=f"{number(shown.failed_frames, 'frame')} failed", icon="ERROR")
    if shown.what:
        said(box, shown.what, shown.cure, "ERROR", width)
    if shown.waiting:
        said(box, shown.waiting, "", "TIME", width)
    if shown.standing:
        said(box, shown.standing, "", "PAUSE" if shown.paused else "TIME", width)
    if shown.news:
        said(box, shown.news, "", "INFO", width)
    if shown.plan:
        said(box, shown.plan, "", "INFO", width)
    for finding in shown.findings[:_LISTED]:
        said(box, finding.what, finding.cure, _WEIGHTS.get(finding.weight, "INFO"), width)
    if len(shown.findings) > _LISTED:
        box.label(text=f"and {len(shown.findings) - _LISTED} more on the job's page", icon="BLANK1")
    if shown.kept:
        said(box, f"{number(shown.kept, 'other file')} in the folder left as found.", "", "INFO", width)
    if shown.job_id:
        row = box.row(align=True)
        row.operator("tessera.open_result", icon="IMAGE_DATA").index = index
        row.operator("tessera.open_folder", icon="FILE_FOLDER").index = index
        row.operator("tessera.open_page", icon="URL").index = index
        if shown.gave_up:
            box.operator("tessera.go_on", icon="FILE_REFRESH").index = index


def _width(context: bpy.types.Context) -> int:
    """Letters that fit into a line of the panel."""
    width = context.region.width if context.region else 400
    scale = context.preferences.system.ui_scale or 1.0  # 0 where Blender has no windows
    return max(24, int(width / (7.5 * scale)) - 8)
