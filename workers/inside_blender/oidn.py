"""Open Image Denoise: the very library that this Blender denoises with, called as Cycles calls it.

Blender's wheels carry it as a shared library that is already loaded with bpy, so it is found by its name;
`available` says whether it is there. The compositor's Denoise node uses it too, but it treats only colour
pictures and puts its result through a render of its own.

The settings are those of intern/cycles/integrator/denoiser_oidn.cpp.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_size_t, c_void_p
from typing import Any

import numpy as np

_NAME = "libOpenImageDenoise.so.2"
_CPU, _FLOAT3 = 1, 3
_QUALITY = {"FAST": 4, "BALANCED": 5, "HIGH": 6}
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "oidnNewDevice": (c_void_p, [c_int]),
    "oidnSetDeviceBool": (None, [c_void_p, c_char_p, c_bool]),
    "oidnCommitDevice": (None, [c_void_p]),
    "oidnReleaseDevice": (None, [c_void_p]),
    "oidnGetDeviceError": (c_int, [c_void_p, POINTER(c_char_p)]),
    "oidnNewFilter": (c_void_p, [c_void_p, c_char_p]),
    "oidnSetSharedFilterImage": (None, [c_void_p, c_char_p, c_void_p, c_int, *[c_size_t] * 5]),
    "oidnSetFilterBool": (None, [c_void_p, c_char_p, c_bool]),
    "oidnSetFilterInt": (None, [c_void_p, c_char_p, c_int]),
    "oidnCommitFilter": (None, [c_void_p]),
    "oidnExecuteFilter": (None, [c_void_p]),
    "oidnReleaseFilter": (None, [c_void_p]),
}


class Unusable(RuntimeError):
    """The denoiser said no; the text is its own."""


@functools.cache
def _library() -> Any:
    """The loaded library with its signatures; None where this Blender has none that can be reached."""
    try:
        library = ctypes.CDLL(_NAME)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError):
        return None
    return library


def available() -> bool:
    """Whether merged pictures can be denoised here as Cycles would have."""
    return _library() is not None


class Denoiser:
    """A denoiser on the CPU. ``quality`` is Cycles' own: HIGH, BALANCED or FAST.

    Pictures are float32 arrays of (height, width, 3), C-contiguous, rows bottom-up as in Cycles' buffer:
    the network does not commute with flipping.
    """

    def __init__(self, quality: str) -> None:
        self._oidn = _library()
        if self._oidn is None:
            raise Unusable(f"{_NAME} is not there")
        self._quality = _QUALITY[quality]
        self._device = self._oidn.oidnNewDevice(_CPU)
        self._oidn.oidnSetDeviceBool(self._device, b"setAffinity", False)
        self._oidn.oidnCommitDevice(self._device)
        self._check()

    def __enter__(self) -> Denoiser:
        return self

    def __exit__(self, *_: object) -> None:
        self._oidn.oidnReleaseDevice(self._device)

    def clean(self, kind: str, picture: np.ndarray) -> np.ndarray:
        """Prefilter a guide; ``kind`` is ``albedo`` or ``normal``."""
        return self._run({kind: picture}, {})

    def denoise(
        self, colour: np.ndarray, guides: Mapping[str, np.ndarray], *, clean_guides: bool
    ) -> np.ndarray:
        """Denoise linear ``colour`` of any brightness with ``guides`` by kind, which may be none."""
        flags = {"hdr": True, "srgb": False, "cleanAux": clean_guides}
        return self._run({"color": colour, **guides}, flags)

    def _run(self, pictures: Mapping[str, np.ndarray], flags: Mapping[str, bool]) -> np.ndarray:
        """Run one filter; raises `Unusable`."""
        oidn = self._oidn
        pixels = {name: np.ascontiguousarray(picture, np.float32) for name, picture in pictures.items()}
        out = np.empty_like(next(iter(pixels.values())))
        filter_ = oidn.oidnNewFilter(self._device, b"RT")
        try:
            for name, picture in {**pixels, "output": out}.items():
                height, width = picture.shape[:2]
                oidn.oidnSetSharedFilterImage(
                    filter_, name.encode(), picture.ctypes.data, _FLOAT3, width, height, 0, 0, 0
                )
            oidn.oidnSetFilterInt(filter_, b"quality", self._quality)
            for name, value in flags.items():
                oidn.oidnSetFilterBool(filter_, name.encode(), value)
            oidn.oidnCommitFilter(filter_)
            oidn.oidnExecuteFilter(filter_)
            self._check()
        finally:
            oidn.oidnReleaseFilter(filter_)
        return out

    def _check(self) -> None:
        text = c_char_p()
        if self._oidn.oidnGetDeviceError(self._device, byref(text)):
            raise Unusable((text.value or b"no reason given").decode(errors="replace"))
