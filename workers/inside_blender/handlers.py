"""What a render process answers to each request, and what it says of itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import bpy

from workers import protocol
from workers.child import Handler, Link, Refusal
from workers.inside_blender import (
    compat,
    devices,
    encode,
    finish,
    frame,
    opening,
    playing,
    probe,
    report,
    tile,
)
from workers.inside_blender.causes import BAD_SCENE
from workers.inside_blender.session import Session

_STEPS: dict[type[Any], Callable[[Session, Any], protocol.Done]] = {
    protocol.Open: opening.open_file,
    protocol.Inspect: report.inspect,
    protocol.RenderFrame: frame.render_frame,
    protocol.RenderTile: tile.render_tile,
    protocol.FinishFrame: finish.finish_frame,
    protocol.EncodeVideo: encode.encode_video,
    protocol.Probe: probe.render_probe,
}


def ready() -> protocol.Ready:
    """What this process is and what it could render on."""
    build = bpy.app.build_hash
    return protocol.Ready(
        program="blender",
        version=compat.version(),
        build=build.decode() if isinstance(build, bytes) else str(build),
        kernel=devices.cpu_kernel(),
        devices=devices.available(),
    )


def handlers(link: Link) -> dict[type[Any], Handler]:
    """For `workers.child.serve`: every kind of request, all about one scene."""
    session = Session(link.send)

    def handler(step: Callable[[Session, Any], protocol.Done]) -> Handler:
        def answer(request: Any, _: Link) -> protocol.Done:
            if not session.path and not isinstance(request, (protocol.Open, protocol.Probe)):
                raise Refusal(BAD_SCENE, "No scene is open.", "Open one first.")
            if not isinstance(request, (protocol.RenderFrame, protocol.RenderTile)):
                return step(session, request)
            started = time.monotonic()
            playing.play(session, request.look)
            played = time.monotonic() - started if request.look.play_from is not None else 0.0
            done = step(session, request)
            done.seconds["sync"] = done.seconds.get("sync", 0.0) + played  # what a frame costs, however cut
            return done

        return answer

    return {kind: handler(step) for kind, step in _STEPS.items()}
