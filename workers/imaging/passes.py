"""What is known about Cycles' passes, by name: how samples make them, and what values they may have.

Read in Cycles' `film/data_passes.h`, `film/read.h`, `scene/pass.cpp`, and measured with 5.2.3. A range of a
frame's samples holds averages over its own samples, except for:

===============================================  ======================================================
pass                                             in a range of samples
===============================================  ======================================================
Depth, Position, Object Index, Material Index    of sample 0 alone: empty in every other range
Diffuse, Glossy, Transmission Direct, Indirect   light divided by colour: the colour is its weight
Cryptomatte                                      (id, coverage) pairs, sorted by coverage
Denoising Depth                                  the sum stops at the largest float32 (where nothing is)
Vector, Shadow Catcher                           quotients whose divisors Blender does not save
===============================================  ======================================================
"""

from __future__ import annotations

import re
from enum import Enum, auto

_FIRST = frozenset({"Depth", "Position", "Object Index", "Material Index"})
_DIVIDED = re.compile(r"(Diffuse|Glossy|Transmission) (?:Direct|Indirect)")
_CRYPTOMATTE = re.compile(r"(Crypto(?:Object|Material|Asset))\d\d")
_QUOTIENT = frozenset({"Vector", "Shadow Catcher"})
#: Of the geometry as the scene has it: a mesh with broken normals or texture coordinates shows here, and
#: Depth is endless where nothing was hit. From all other passes Cycles keeps away what is not finite.
_MAY_BE_ENDLESS = frozenset({"Depth", "Position", "Normal", "UV", "Vector", "Denoising Depth"})


class Kind(Enum):
    """How the passes of sample ranges become the pass of all samples."""

    AVERAGE = auto()
    FIRST = auto()
    DIVIDED = auto()
    CRYPTOMATTE = auto()
    CAPPED = auto()
    QUOTIENT = auto()


def kind_of(name: str) -> Kind:
    """Of a pass named ``Layer.Pass``."""
    own = own_name(name)
    if own in _FIRST:
        return Kind.FIRST
    if _DIVIDED.fullmatch(own):
        return Kind.DIVIDED
    if _CRYPTOMATTE.fullmatch(own):
        return Kind.CRYPTOMATTE
    if own == "Denoising Depth":
        return Kind.CAPPED
    return Kind.QUOTIENT if own in _QUOTIENT else Kind.AVERAGE


def own_name(name: str) -> str:
    """``Depth`` of ``ViewLayer.Depth``."""
    return name.rpartition(".")[2]


def colour_of(name: str) -> str:
    """The pass that a divided pass was divided by: ``Layer.Diffuse Color`` of ``Layer.Diffuse Direct``."""
    layer, dot, own = name.rpartition(".")
    return f"{layer}{dot}{own.split(' ')[0]} Color"


def cryptomatte_of(name: str) -> str:
    """What the levels of one Cryptomatte have in common: ``Layer.CryptoObject``."""
    return name[:-2]


def is_combined(name: str) -> bool:
    """Whether this is a layer's Combined pass."""
    return own_name(name) == "Combined"


def must_be_finite(name: str) -> bool:
    """Whether a value that is not finite tells of a fault of the render, not of the scene's geometry."""
    return own_name(name) not in _MAY_BE_ENDLESS
