"""Previews: small JPEGs of pictures that already went through the scene's view transform."""

from __future__ import annotations

import io
import time
import warnings
from pathlib import Path

import numpy as np
from PIL import Image

from workers.child import Link, Refusal
from workers.imaging.files import plain_file, replacing
from workers.protocol import Done, Shrink

QUALITY = 88
#: Pixels of the largest source, 16384 × 16384; Pillow's own limit would stop at a third of that.
LARGEST = 2**28

LONGEST_SIDE = 65_500  # of a JPEG, as libjpeg writes it

Image.MAX_IMAGE_PIXELS = LARGEST


def shrink(request: Shrink, link: Link) -> Done:
    """Answer `Shrink`: `outputs` is the file's name, `seconds` has load and save.

    Of a source with a box, only that is taken. What is small enough keeps its size. Transparency lies
    over black, as in Blender's own JPEGs. Colours are taken as they are; an embedded profile is kept.
    Raises `Refusal` (bad-result), OSError.
    """
    del link
    if request.width < 1:
        raise Refusal("bad-result", f"A preview cannot be {request.width} pixels wide.")
    started = time.monotonic()
    image, profile = _loaded(request)
    loaded = time.monotonic()
    jpeg = io.BytesIO()  # given a file, Pillow writes past Python and takes no notice of a full disk
    image.save(jpeg, "JPEG", quality=QUALITY, optimize=True, icc_profile=profile)
    with replacing(request.out) as file:
        file.write(jpeg.getbuffer())
    return Done(
        outputs=[Path(request.out).name],
        seconds={"load": loaded - started, "save": time.monotonic() - loaded},
    )


def _loaded(request: Shrink) -> tuple[Image.Image, bytes | None]:
    """The source at its final size as L or RGB, and its colour profile."""
    path = plain_file(request.source, "The picture for the preview")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=("JPEG", "PNG")) as image:
                return _shrunk(_cut(image, request.box), request.width), image.info.get("icc_profile")
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise Refusal(
            "bad-result",
            f"{path.name} has more pixels than a preview is made of (at most {LARGEST}).",
            "Render at a smaller size.",
        ) from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        # Pillow says SyntaxError for a broken PNG chunk and OSError for one that is cut short.
        raise Refusal(
            "bad-result", f"{path.name} is not a JPEG or PNG picture, or it is cut short.", "Render it again."
        ) from error


def _cut(image: Image.Image, box: list[int] | None) -> Image.Image:
    """``box`` of the picture, which has to lie inside of it; all of it without one."""
    if box is None:
        return image
    if len(box) != 4:
        raise Refusal("bad-result", f"A preview cannot be cut to {box}.")
    x, y, width, height = box
    if min(x, y) < 0 or min(width, height) < 1 or x + width > image.width or y + height > image.height:
        raise Refusal(
            "bad-result",
            f"The picture for the preview has {image.width}×{image.height} pixels, and no "
            f"{width}×{height} at {x}, {y}.",
        )
    return _flat(image).crop((x, y, x + width, y + height))


def _shrunk(image: Image.Image, width: int) -> Image.Image:
    flat = image if image.format == "JPEG" else _flat(image)
    # The reducing gap lets a JPEG, still unread here, be decoded at a fraction of its size.
    flat.thumbnail((width, LONGEST_SIDE), Image.Resampling.LANCZOS, reducing_gap=3.0)
    flat.load()
    return flat if flat.mode in ("L", "RGB") else flat.convert("RGB")


def _flat(image: Image.Image) -> Image.Image:
    """A PNG as 8-bit grey or RGB, over black where it is transparent."""
    if image.mode.startswith("I"):  # 16-bit grey, which Pillow's own conversion would clip
        return Image.fromarray(((np.asarray(image).astype(np.uint32) + 128) // 257).astype(np.uint8))
    if image.has_transparency_data:
        over = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", over.size, (0, 0, 0, 255)), over).convert("RGB")
    return image.convert("L" if image.mode in ("1", "L") else "RGB")
