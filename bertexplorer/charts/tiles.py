"""Many matrices as one picture: each is a tile of a PNG, which a browser draws ten times as fast as many plots."""

import base64
from io import BytesIO
from typing import cast

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image, ImageColor

from bertexplorer.charts.adaptors.style import BLUE

SHADES = 32  # few enough for good compression
NUMBERS = 2_400_000  # pixels before scaling: under 3 MB in the page even without compression
SIDE = 96  # pixels of a tile's longer side, at least


def tiles(values: Float[np.ndarray, "l h r c"], top: float | None = None) -> tuple[str, int]:
    """Return (picture as a data URI, tokens per pixel): a row of tiles for each layer, a column for each head.

    A shade is the root of a value's share of *top*, or of the largest one. Where *values* has more than NUMBERS,
    neighbouring tokens share a pixel that shows the largest value among them. Gaps are transparent."""
    step = pixels(values)
    pooled = pool(pool(values, step, 2), step, 3)
    scale = max(1, SIDE // max(pooled.shape[2:]))
    top = top or float(pooled.max()) or 1.0
    shade = np.rint((SHADES - 1) * np.sqrt(np.maximum(pooled, 0) / top)).astype(np.uint8) + 1
    large = shade.repeat(scale, axis=2).repeat(scale, axis=3)
    gap = max(2, large.shape[3] // 24)
    framed = np.pad(large, ((0, 0), (0, 0), (0, gap), (0, gap)))
    layers, heads, down, across = framed.shape
    picture = framed.transpose(0, 2, 1, 3).reshape(layers * down, heads * across)
    return png(picture), step


def pixels(values: Float[np.ndarray, "l h r c"]) -> int:
    """The number of tokens that share a pixel, down and across, to stay within NUMBERS."""
    return max(1, int(np.ceil((values.size / NUMBERS) ** 0.5)))


def pool(values: Float[np.ndarray, "..."], step: int, axis: int) -> Float[np.ndarray, "..."]:
    """The largest of each *step* neighbours along *axis*, of which the last may be fewer."""
    if step == 1:
        return values
    return np.maximum.reduceat(values, np.arange(0, values.shape[axis], step), axis=axis)


def png(shades: UInt8[np.ndarray, "y x"]) -> str:
    """A PNG with a palette: 0 is transparent, 1 to SHADES run from light to dark blue."""
    picture = Image.fromarray(shades)
    picture.putpalette(palette())
    file = BytesIO()
    picture.save(file, "PNG", transparency=0, bits=8)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def palette() -> bytes:
    """Three bytes a colour: black, which is drawn as transparent, and SHADES from light to dark blue."""
    places, names = zip(*cast(list[tuple[float, str]], BLUE), strict=True)
    colours = np.array([ImageColor.getrgb(name) for name in names])
    channels = [np.interp(np.linspace(0, 1, SHADES), places, colours[:, i]) for i in range(3)]
    return b"\0\0\0" + np.rint(np.stack(channels, axis=1)).astype(np.uint8).tobytes()
