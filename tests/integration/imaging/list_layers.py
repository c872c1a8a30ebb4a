"""Runs in a process of its own: what Blender lists in the multilayer EXRs given as arguments, as JSON.

For each file: layers with their passes as the compositor's Image node offers them, and the Cryptomatte
layers that the Cryptomatte node finds through the file's metadata.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import bpy


def choices(node: Any, name: str) -> list[str]:
    """The items of a dynamic enum, which only Blender's own complaint tells."""
    try:
        setattr(node, name, "no such item")
    except TypeError as error:
        return re.findall(r"'([^']*)'", str(error).partition("not found in")[2])
    raise AssertionError("Blender took an item that is not there")


def listed(path: str) -> dict[str, Any]:
    tree = bpy.data.node_groups.new("Look", "CompositorNodeTree")
    bpy.context.scene.compositing_node_group = tree
    image = bpy.data.images.load(path)
    node = tree.nodes.new("CompositorNodeImage")
    node.image = image
    layers = {}
    for layer in choices(node, "layer"):
        node.layer = layer
        layers[layer] = [socket.name for socket in node.outputs if socket.enabled]
    matte = tree.nodes.new("CompositorNodeCryptomatteV2")
    matte.source = "IMAGE"
    matte.image = image
    return {"layers": layers, "cryptomatte": choices(matte, "layer_name")}


sys.stdout.write(json.dumps({path: listed(path) for path in sys.argv[1:]}) + "\n")
