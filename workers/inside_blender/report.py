"""Inspects the open file: everything the head has to know to plan a job, as a ``SceneReport``."""

from __future__ import annotations

from typing import Any

import bpy

from workers.child import Refusal
from workers.inside_blender import (
    compat,
    content,
    cutting,
    findings,
    look,
    missing,
    paths,
    sampling,
    simulation,
)
from workers.inside_blender.changes import Changes
from workers.inside_blender.findings import Finding, finding
from workers.inside_blender.session import Session
from workers.protocol import Done, Inspect


def inspect(session: Session, request: Inspect) -> Done:
    """Carry out an `Inspect`. What is wrong with the scene is in the report, never a failure."""
    with Changes() as changes:
        scene, wrong = _chosen(request, session.scene)
        engine = "CYCLES" if request.engine == "cycles" else scene.render.engine
        general = findings.general(scene, request.engine)
        if request.camera is not None:
            try:
                look.use_camera(changes, scene, look.camera_named(scene, request.camera))
                general = [found for found in general if found["code"] != "no-camera"]
            except Refusal as refusal:
                wrong.append(finding("camera-unknown", "error", refusal.what, refusal.cure))
        facts = _facts(scene, engine)
        if request.samples is not None:
            look.use_samples(changes, scene, request.samples)
        inner_side, inner_margin = sampling.inner_tiles(scene)
        report = {
            **facts,
            "blocks_cutting": cutting.blocks(scene, engine),
            "breaks_exactness": cutting.inexact(scene),
            "overlap": sampling.reach(scene),
            "inner_side": inner_side,
            "inner_margin": inner_margin,
            "breaks_ranges": cutting.ranges(scene),
            "in_order": simulation.in_order(scene),
            "findings": [*wrong, *general, *simulation.unplayable(scene), *missing.missing_files()],
            "load_seconds": session.load_seconds,
        }
        return Done(report=report)


def _chosen(request: Inspect, default: str) -> tuple[Any, list[Finding]]:
    """The scene asked for; the active one, with an error finding, where there is none of that name."""
    try:
        return look.scene_named(request.scene, default), []
    except Refusal as refusal:
        wrong = [finding("scene-unknown", "error", refusal.what, refusal.cure)]
        return look.scene_named(None, default), wrong


def _facts(scene: Any, engine: str) -> dict[str, Any]:
    """What the file itself says, but for the engine and the camera that the job chose."""
    render, cycles = scene.render, scene.cycles
    markers = {str(marker.frame): marker.camera.name for marker in scene.timeline_markers if marker.camera}
    return {
        "scene": scene.name,
        "scenes": [other.name for other in bpy.data.scenes],
        "camera": scene.camera.name if scene.camera else None,
        "cameras": [thing.name for thing in scene.objects if thing.type == "CAMERA"],
        "marker_cameras": markers,
        "frame_start": scene.frame_start,
        "frame_end": scene.frame_end,
        "frame_step": scene.frame_step,
        "fps": render.fps / render.fps_base,
        "full_width": render.resolution_x,
        "full_height": render.resolution_y,
        "percentage": render.resolution_percentage,
        "engine": engine,
        "samples": cycles.samples,
        "adaptive": cycles.use_adaptive_sampling,
        "denoise": cycles.use_denoising,
        "layers": [
            {"name": layer.name, "passes": pass_names(scene, layer, engine)}
            for layer in content.rendering_layers(scene)
        ],
        "views": [view.file_suffix for view in content.views(scene)],
        "border": _border(render),
        "crops": bool(render.use_border and render.use_crop_to_border),
        "file_format": render.image_settings.file_format,
        "movie": render.is_movie_format,
        "output_name": paths.output_name(render.filepath),
        "compositor": content.composites(scene),
        "file_output_nodes": len(content.file_outputs(scene)),
        "sequencer": content.uses_sequencer(scene),
        "file_version": _dotted(bpy.data.version),
        "blender": compat.version(),
    }


def _border(render: Any) -> list[float] | None:
    """The render region as Blender holds it, where it is not all of the frame."""
    edges = [render.border_min_x, render.border_max_x, render.border_min_y, render.border_max_y]
    return edges if render.use_border and edges != [0.0, 1.0, 0.0, 1.0] else None


def pass_names(scene: Any, layer: Any, engine: str | None = "CYCLES") -> list[str]:
    """The layer's passes as this Blender names them in files; another engine's are only its Combined."""
    if engine != "CYCLES":
        return ["Combined"]
    return [name for name, _, _ in compat.cycles_passes(scene, layer)]


def _dotted(version: Any) -> str:
    return ".".join(str(number) for number in version)
