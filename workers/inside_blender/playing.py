"""Plays the frames before the one to render, where frames depend on those before them.

Measured with bpy 5.2.3 on cloth, soft bodies, particles, rigid bodies and simulation zones:

- Only `frame_set`, frame by frame, steps all of them; the frame to render has to be played too. Where
  that has happened, a render only reads what was played: the frame comes out with the same bits in a
  fresh process and in one that rendered others on its way.
- The scene's own frame range has to be in force while it plays: simulation zones begin at its start.
- A render that looks between frames reads the frame after: without it, blurred edges come out as of a
  thing that stands still. With the one frame more, it is as with the whole timeline played.
"""

from __future__ import annotations

import math
import time
from typing import Any

import bpy

from workers.child import Refusal
from workers.inside_blender import content, look
from workers.inside_blender.changes import Changes
from workers.inside_blender.session import Session
from workers.protocol import Count, Look

_AHEAD = {"START": 1.0, "CENTER": 0.5, "END": 0.0}  # of the shutter's time, in frames
_EVERY = 0.25  # seconds between counts


def play(session: Session, asked: Look) -> None:
    """Play what has to be before ``asked.frame`` is rendered, going on from what was; raises `Refusal`.

    From ``asked.play_from`` on, or from the frame itself where that lies before: then there is nothing
    before it to play.
    """
    if asked.play_from is None:
        return
    scene = look.scene_named(asked.scene, session.scene)
    last = asked.frame + reach(scene)
    played = session.played.get(scene.name)
    if played is not None and played > last:
        raise Refusal(
            "internal",
            f"Frame {asked.frame} cannot be rendered by a process that has played to frame {played}.",
            "This is a fault of the farm; please report it with the scene.",
        )
    first = min(asked.play_from, asked.frame) if played is None else played + 1
    told = 0.0
    with Changes() as changes:
        changes.set(bpy.context.window, "scene", scene)
        bpy.context.view_layer.update()  # simulations step in the window's own scene alone
        for frame in range(first, last + 1):
            if time.monotonic() - told >= _EVERY:
                told = time.monotonic()
                session.send(Count("loading"))
            scene.frame_set(frame)
    session.played[scene.name] = max(last, played if played is not None else last)


def reach(scene: Any) -> int:
    """How many frames after its own a render of ``scene`` looks at, for motion blur or vectors."""
    render = scene.render
    if render.use_motion_blur:
        where = getattr(render, "motion_blur_position", None) or scene.cycles.motion_blur_position
        return math.ceil(float(render.motion_blur_shutter) * _AHEAD[where])
    return int(any(layer.use_pass_vector for layer in content.rendering_layers(scene)))
