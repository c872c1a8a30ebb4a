"""Blender's own merge of two files: ``blender_merge.py ONE TWO TARGET``."""

from __future__ import annotations

import sys

import bpy

if __name__ == "__main__":
    bpy.ops.cycles.merge_images(
        input_filepath1=sys.argv[1], input_filepath2=sys.argv[2], output_filepath=sys.argv[3]
    )
