"""The serve loop: one request after the other, each answered by one `Done` or `Failed`."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

import bpy

from workers import protocol
from workers.inside_blender import compat, devices, finish, frame, opening, report, tile
from workers.inside_blender.channel import Channel
from workers.inside_blender.problem import BAD_SCENE, INTERNAL, OUT_OF_MEMORY, Problem
from workers.inside_blender.session import Session, peak_memory

_HANDLERS: dict[type[Any], Callable[[Session, Any], protocol.Done]] = {
    protocol.Open: opening.open_file,
    protocol.Inspect: report.inspect,
    protocol.RenderFrame: frame.render_frame,
    protocol.RenderTile: tile.render_tile,
    protocol.FinishFrame: finish.finish_frame,
}


def serve(channel: Channel) -> int:
    """Answer requests until the parent closes its end; returns the exit code."""
    channel.send(ready())
    channel.start(peak_memory)
    session = Session(channel.send)
    while True:
        try:
            request = channel.receive()
        except protocol.ProtocolFault as fault:
            sys.stderr.write(f"The request cannot be understood: {fault}\n")
            return 2
        if request is None:
            return 0
        channel.send(answer(session, request))


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


def answer(session: Session, request: protocol.Message) -> protocol.Done | protocol.Failed:
    """Carry out one request. A traceback goes to the log only; the parent gets a sentence."""
    handler = _HANDLERS.get(type(request))
    try:
        if handler is None:
            raise Problem(INTERNAL, f"A render process does not take {type(request).__name__}.")
        if not session.path and not isinstance(request, protocol.Open):
            raise Problem(BAD_SCENE, "No scene is open.", "Open one first.")
        return handler(session, request)
    except Problem as problem:
        return protocol.Failed(problem.cause, problem.what, problem.cure)
    except MemoryError:
        return protocol.Failed(
            OUT_OF_MEMORY, "The render process ran out of memory.", "Use a worker with more memory."
        )
    except Exception as error:  # noqa: BLE001 - the boundary: nothing may leave a request unanswered
        traceback.print_exc(file=sys.stderr)
        what = f"{type(request).__name__} failed inside the farm: {type(error).__name__}: {error}."
        return protocol.Failed(INTERNAL, what, "See the attempt's log; if it stays, report it with the log.")
