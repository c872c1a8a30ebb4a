"""Where the farm is."""

from __future__ import annotations

import textwrap

import bpy

from . import session
from .line import address, is_local
from .trouble import Trouble


class TesseraPreferences(bpy.types.AddonPreferences):
    """The add-on's preferences."""

    bl_idname = __package__

    farm: bpy.props.StringProperty(
        name="Farm", description="Address of the farm's page, as http://127.0.0.1:8080"
    )
    token: bpy.props.StringProperty(
        name="Token", description="What lets you in, where the farm asks for it", subtype="PASSWORD"
    )

    def draw(self, context: bpy.types.Context) -> None:
        del context
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "farm")
        layout.prop(self, "token")
        layout.operator("tessera.test")
        if session.check is not None and session.check.running:
            layout.label(text="Asking the farm", icon="TIME")
        elif session.check is not None and session.check.answer is not None:
            well, what, cure = session.check.answer
            said(layout, what, cure, "CHECKMARK" if well else "ERROR")


def place(context: bpy.types.Context) -> tuple[str, str]:
    """The farm's address and the token; raises `Trouble` where Blender may not go there."""
    own = context.preferences.addons[__package__].preferences
    if not own.farm.strip():
        raise Trouble(
            "No farm is named yet.",
            "Put its address into the add-on's preferences; its page and “farm status” show it.",
        )
    url = address(own.farm)
    if not bpy.app.online_access and not is_local(url):
        raise Trouble(
            f"Blender may not go online, and the farm is at {url}.",
            "Turn on Preferences › System › Network › Allow Online Access.",
        )
    return url, own.token


def said(layout: bpy.types.UILayout, what: str, cure: str, icon: str, width: int = 60) -> None:
    """A sentence and its cure, wrapped: labels do not wrap by themselves."""
    column = layout.column(align=True)
    lines = [*textwrap.wrap(what, width), *textwrap.wrap(cure, width)]
    for number, line in enumerate(lines):
        column.label(text=line, icon="BLANK1" if number else icon)
