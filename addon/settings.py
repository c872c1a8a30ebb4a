"""What the artist asks for, kept with the scene, and the job that it makes."""

from __future__ import annotations

import os
from typing import Any

import bpy

from . import frames
from .trouble import Trouble


class TesseraSettings(bpy.types.PropertyGroup):
    """The settings of the panel; all else is the scene's own."""

    name: bpy.props.StringProperty(
        name="Name", description="Name of the job on the farm; empty: the file's name", maxlen=200
    )
    frames: bpy.props.EnumProperty(
        name="Frames",
        items=[
            ("SCENE", "Scene Range", "All frames of the scene, by its start, end and step"),
            ("CURRENT", "Current Frame", "Only the frame that is shown now"),
            ("OWN", "These", "The frames written below"),
        ],
    )
    own_frames: bpy.props.StringProperty(
        name="Frames", description="As 7, 1-10, 1-10x2 (every second) or several of these with commas"
    )
    cut: bpy.props.EnumProperty(
        name="Cut Frames",
        items=[
            ("AUTO", "Automatic", "The farm cuts frames where that is faster and stays exact"),
            ("NONE", "Whole", "Each frame is rendered by one worker"),
            ("GRID", "Tiles", "Each frame is cut into this many tiles"),
            ("SAMPLES", "Samples", "Each frame's samples are shared out, and averaged"),
        ],
    )
    columns: bpy.props.IntProperty(name="Columns", default=2, min=1, max=64)
    rows: bpy.props.IntProperty(name="Rows", default=2, min=1, max=64)
    ranges: bpy.props.IntProperty(
        name="Parts", description="How many parts of the samples; 0: one a worker", default=0, min=0, max=9999
    )
    use_samples: bpy.props.BoolProperty(
        name="Other Samples", description="Render with another number of samples than the scene's"
    )
    samples: bpy.props.IntProperty(name="Samples", default=128, min=1, max=1 << 24)
    device: bpy.props.EnumProperty(
        name="Device",
        items=[
            ("auto", "Best", "The best device that each worker has"),
            ("optix", "OptiX", "NVIDIA GPUs with OptiX; nothing else is taken instead"),
            ("cuda", "CUDA", "NVIDIA GPUs with CUDA; nothing else is taken instead"),
            ("cpu", "CPU", "Processors only"),
        ],
    )
    keep_exr: bpy.props.BoolProperty(
        name="Keep All Passes", description="Also bring each frame's passes, as a 32-bit multilayer EXR"
    )
    video: bpy.props.BoolProperty(
        name="Preview Movie", description="Also make a movie of the frames' previews"
    )
    priority: bpy.props.IntProperty(
        name="Priority",
        description="Of two jobs, the one with the higher number goes first; jobs have 50 otherwise",
        default=50,
        min=0,
        max=100,
    )
    paused: bpy.props.BoolProperty(
        name="Submit Paused", description="Begin nothing of it until it is resumed on the job's page"
    )
    results: bpy.props.StringProperty(
        name="Results",
        description="Where finished frames go, in a folder of their own for each job",
        subtype="DIR_PATH",
        default="//renders/",
    )


def frame_count(scene: bpy.types.Scene) -> int:
    """How many frames the settings name; raises `Trouble` where they name none."""
    asked = scene.tessera
    if asked.frames == "CURRENT":
        return 1
    if asked.frames == "OWN":
        if not asked.own_frames.strip():
            raise Trouble("No frames are named.", "Write frames as 7, 1-10 or 1-10x2.")
        return frames.count(asked.own_frames)
    return len(range(scene.frame_start, scene.frame_end + 1, scene.frame_step))


def job_spec(scene: bpy.types.Scene) -> dict[str, Any]:
    """The settings as ``POST /api/jobs`` takes them, but for the scene's id; raises `Trouble`."""
    asked = scene.tessera
    if not frame_count(scene):
        raise Trouble("The scene's frame range is empty.", "Set its start before its end.")
    settings: dict[str, Any] = {"scene": scene.name, "device": asked.device}
    if asked.frames == "CURRENT":
        settings["frames"] = str(scene.frame_current)
    elif asked.frames == "OWN":
        settings["frames"] = asked.own_frames.strip()
    if asked.cut == "NONE":
        settings["tiles"] = "none"
    elif asked.cut == "GRID":
        settings["tiles"] = f"{asked.columns}x{asked.rows}"
    elif asked.cut == "SAMPLES":
        settings["split"] = f"samples:{asked.ranges}" if asked.ranges else "samples"
    if asked.use_samples:
        settings["samples"] = asked.samples
    if asked.keep_exr:
        settings["keep_exr"] = True
    if asked.video:
        settings["video"] = True
    control: dict[str, Any] = {}
    if asked.priority != 50:
        control["priority"] = asked.priority
    if asked.paused:
        control["paused"] = True
    own = os.path.splitext(os.path.basename(bpy.data.filepath))[0] or "Untitled"
    spec: dict[str, Any] = {"name": asked.name.strip() or own, "settings": settings}
    return {**spec, "control": control} if control else spec


def results_folder(scene: bpy.types.Scene) -> str:
    """Full path of the folder for results; raises `Trouble` where the file has no place yet."""
    raw = scene.tessera.results or "//"
    if raw.startswith("//") and not bpy.data.filepath:
        raise Trouble(
            "The results have no place: this file was never saved, and their folder is named relative to it.",
            "Choose a folder for the results, or save the file once.",
        )
    return os.path.abspath(str(bpy.path.abspath(raw)))
