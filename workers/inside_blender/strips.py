"""Lays pictures as an image strip over all that a scene's sequencer holds, frame by frame.

A strip that replaces what lies below it is all that Blender renders: the strips below are not looked at,
but their sound is heard.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workers.child import Refusal
from workers.inside_blender.causes import BAD_RESULT, BAD_SCENE, INTERNAL
from workers.inside_blender.changes import Changes

#: Adding a picture to a strip takes the longer the more there are: 20 s for 20,000 in one (measured).
_LONGEST = 1000
_CHANNELS = 128


def place(changes: Changes, scene: Any, pictures: list[str], *, floats: bool) -> None:
    """Show ``pictures``, all in one folder, one a frame from the scene's first on, until ``changes`` ends.

    ``floats`` are scene-linear; bytes go through as they are. Raises `Refusal` for a picture that is not
    there: Blender would show black.
    """
    folders = {str(Path(picture).parent) for picture in pictures}
    if len(folders) != 1:
        raise Refusal(INTERNAL, "The pictures of a movie have to lie in one folder.")
    for picture in pictures:
        if not Path(picture).is_file():
            raise Refusal(BAD_RESULT, f"A picture of the movie, “{Path(picture).name}”, is not there.")
    editor = scene.sequence_editor
    if editor is None:
        editor = scene.sequence_editor_create()
        changes.undo(scene.sequence_editor_clear)
    for name in dir(editor):
        if name.startswith("use_cache"):  # no picture is shown twice: up to 4 GB of them would be kept
            changes.set(editor, name, False)
    strips = editor.strips if hasattr(editor, "strips") else editor.sequences
    channel = 1 + max((strip.channel for strip in strips), default=0)
    if channel > _CHANNELS:
        raise Refusal(
            BAD_SCENE,
            f"The sequencer of the scene “{scene.name}” has a strip in its topmost channel.",
            "Move that strip down: the farm puts the finished frames above it.",
        )
    changes.set(editor.channels[channel], "mute", False)
    space = "scene_linear" if floats else "Non-Color"
    changes.set(scene.sequencer_colorspace_settings, "name", space)
    for at in range(0, len(pictures), _LONGEST):
        some = pictures[at : at + _LONGEST]
        strip = strips.new_image(
            "Tessera frames", some[0], channel, scene.frame_start + at, fit_method="STRETCH"
        )
        changes.undo(strips.remove, strip)
        for picture in some[1:]:
            strip.elements.append(Path(picture).name)
        strip.blend_type = "REPLACE"
        strip.colorspace_settings.name = space
