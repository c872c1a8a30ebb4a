"""What a movie holds: its pictures decoded, and its packets as they lie in the file."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av


@dataclass(frozen=True)
class Movie:
    """Everything of a movie that two writers of it have to agree upon."""

    codec: str
    pixels: str  # FFmpeg's name of their layout: bgr0, yuv420p
    width: int
    height: int
    rate: Fraction | None
    colour: tuple[int, int, int, int]  # space, primaries, transfer, range
    sound: tuple[str, int, int] | None  # codec, rate, channels
    frames: tuple[tuple[bytes, ...], ...]  # planes of each picture
    packets: tuple[bytes, ...]
    sound_packets: tuple[bytes, ...]


def read_movie(path: Path) -> Movie:
    with av.open(str(path)) as file:
        video = file.streams.video[0]
        frames = tuple(tuple(bytes(plane) for plane in frame.planes) for frame in file.decode(video))
        context = video.codec_context
        sound = None
        if file.streams.audio:
            heard = file.streams.audio[0].codec_context
            sound = (heard.name, heard.sample_rate, heard.channels)
        colour = (
            context.colorspace,
            context.color_primaries,
            context.color_trc,
            context.color_range,
        )
        return Movie(
            context.name,
            str(context.pix_fmt),
            context.width,
            context.height,
            video.average_rate,
            colour,
            sound,
            frames,
            _packets(path, "video"),
            _packets(path, "audio"),
        )


def _packets(path: Path, kind: str) -> tuple[bytes, ...]:
    with av.open(str(path)) as file:
        streams = getattr(file.streams, kind)
        return tuple(bytes(packet) for packet in file.demux(streams[0]) if packet.size) if streams else ()
