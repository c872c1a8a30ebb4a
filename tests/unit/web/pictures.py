"""Pictures for the farm in memory: a small ray tracer, so that pages can be judged with real images."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
from PIL import Image

_FAR = 1e6
_LOOKS = {
    "marble": ((0.86, 0.42, 0.20), (0.16, 0.34, 0.52), (0.90, 0.86, 0.78)),
    "night": ((0.30, 0.42, 0.85), (0.75, 0.28, 0.45), (0.10, 0.11, 0.16)),
    "garden": ((0.36, 0.62, 0.28), (0.88, 0.72, 0.30), (0.72, 0.82, 0.92)),
}


@cache
def render(look: str, frame: int, width: int = 640, height: int = 360) -> bytes:
    """JPEG of frame ``frame`` of ``look``: three balls on a floor, turning with the frame."""
    return _jpeg(_pixels(look, frame, width, height))


def crop(
    look: str, frame: int, size: tuple[int, int], box: tuple[int, int, int, int], of: tuple[int, int]
) -> bytes:
    """JPEG of the part ``box`` (x, y, width, height in a frame of ``of``) of the picture ``size`` wide."""
    pixels = _pixels(look, frame, *size)
    sx, sy = size[0] / of[0], size[1] / of[1]
    x, y, w, h = box
    return _jpeg(pixels[round(y * sy) : round((y + h) * sy), round(x * sx) : round((x + w) * sx)])


def _jpeg(pixels: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=88)
    return out.getvalue()


@cache
def _pixels(look: str, frame: int, width: int, height: int) -> np.ndarray:
    """(height, width, 3) uint8, y down."""
    first, second, sky = (np.array(colour) for colour in _LOOKS[look])
    turn = frame * 2 * np.pi / 24  # a loop of 24 frames
    y, x = np.mgrid[0:height, 0:width]
    ray = np.stack(
        [(x - width / 2) / height, -(y - height / 2) / height - 0.12, np.full(x.shape, 1.15)], axis=-1
    )
    ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
    eye = np.array([0.0, 1.35, -4.2])
    light = np.array([-0.55, 0.75, -0.36])
    balls = [
        (np.array([1.5 * np.sin(turn), 0.62, 1.2 * np.cos(turn)]), 0.62, first),
        (np.array([1.5 * np.sin(turn + 2.2), 0.45, 1.2 * np.cos(turn + 2.2)]), 0.45, second),
        (np.array([0.0, 0.85, 0.3]), 0.85, np.array([0.82, 0.82, 0.84])),
    ]
    glow = np.clip(ray[..., 1:2] * 1.4 + 0.25, 0, 1)
    colour = sky * (0.55 + 0.45 * glow)
    nearest = np.full(x.shape, np.inf)
    ground = np.where(ray[..., 1] < 0, -eye[1] / np.minimum(ray[..., 1], -1e-6), _FAR)
    spot = eye + ray * ground[..., None]
    checks = ((np.floor(spot[..., 0] * 1.2) + np.floor(spot[..., 2] * 1.2)) % 2)[..., None]
    shade = np.ones(x.shape)
    for centre, radius, _ in balls:
        shade *= np.where(_hit(spot, light, centre, radius) < np.inf, 0.42, 1.0)
    fog = np.exp(-np.maximum(ground - 3, 0) * 0.11)[..., None]
    floor = (0.30 + 0.22 * checks) * (0.6 + 0.4 * sky) * shade[..., None]
    hit = (ground < _FAR)[..., None]
    colour = np.where(hit, floor * fog + colour * (1 - fog), colour)
    for centre, radius, paint in balls:
        distance = _hit(eye, ray, centre, radius)
        point = eye + ray * np.where(np.isfinite(distance), distance, 0)[..., None]
        normal = (point - centre) / radius
        bounce = ray - 2 * (ray * normal).sum(-1, keepdims=True) * normal
        diffuse = np.clip((normal * light).sum(-1, keepdims=True), 0, 1)
        shine = np.clip((bounce * light).sum(-1, keepdims=True), 0, 1) ** 60
        rim = (1 - np.clip(-(normal * ray).sum(-1, keepdims=True), 0, 1)) ** 3
        skyish = sky * np.clip(bounce[..., 1:2] + 0.4, 0.1, 1)
        body = paint * (0.16 + 0.9 * diffuse) + 0.35 * rim * skyish + 0.9 * shine + 0.1 * skyish
        closer = (distance < nearest)[..., None] & np.isfinite(distance)[..., None]
        nearest = np.minimum(nearest, distance)
        colour = np.where(closer, body, colour)
    return (np.clip(colour, 0, 1) ** (1 / 1.9) * 255).astype(np.uint8)


def _hit(origin: np.ndarray, ray: np.ndarray, centre: np.ndarray, radius: float) -> np.ndarray:
    """Distance along ``ray`` to the sphere; infinite where it is missed."""
    away = origin - centre
    b = (away * ray).sum(-1)
    inside = b * b - ((away * away).sum(-1) - radius * radius)
    distance = -b - np.sqrt(np.maximum(inside, 0))
    return np.where((inside > 0) & (distance > 1e-3), distance, np.inf)
