"""Pictures in notebooks: an array as HTML, drawn if it is gray, RGB or RGBA."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from html import escape

import numpy as np

_MOST = 512
"""Pixels along each side; of larger pictures rows and columns are left out."""

_COLOURS = {1: 0, 3: 2, 4: 6}
"""PNG's numbers for gray, RGB and RGBA, by channels."""


def array_html(name: str, type: str, array: np.ndarray, order: Sequence[int] | None) -> str:
    """Format an array as HTML: name, type and sizes, and its picture if it is one; all text escaped.

    `order`: the array's axis of each dimension, x first; None where two readings are possible, and none is drawn.
    Values of u8 are shown as they are, floats from 0 to 1 as black to white; others, and floats that lie outside of
    it, from the least to the greatest.
    """
    sizes = " x ".join(str(array.shape[a]) for a in order or ()) or f"shape {array.shape}"
    caption = f"Buffer {name}: {type}, {sizes}"
    drawn = None if order is None or array.size == 0 else _bytes(array, order)
    if drawn is None:
        return f"<div>{escape(caption)}</div>"
    pixels, scale = drawn
    data = base64.b64encode(_png(pixels)).decode()
    return f'<div>{escape(caption + scale)}<br><img src="data:image/png;base64,{data}"></div>'


def _bytes(array: np.ndarray, order: Sequence[int]) -> tuple[np.ndarray, str] | None:
    """Convert to (y, x, channel) of u8, and describe the scaling; None for an array that is no picture."""
    if array.ndim not in (2, 3) or array.dtype.kind not in "buif":
        return None
    picture = array.transpose(order).reshape(*(array.shape[a] for a in order), *(1,) * (3 - array.ndim))
    picture = picture.transpose(1, 0, 2)
    if picture.shape[2] not in _COLOURS:
        return None
    step = max(1, *(-(-n // _MOST) for n in picture.shape[:2]))
    picture = picture[::step, ::step]
    if picture.dtype == np.uint8:
        return picture, ""
    if picture.dtype == np.bool_:
        return picture.view(np.uint8).astype(np.bool_) * np.uint8(255), ""
    values = picture.astype(np.float64)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    scale = f", {low:g} to {high:g}"
    if array.dtype.kind == "f" and 0 <= low and high <= 1:
        low, high, scale = 0.0, 1.0, ""
    with np.errstate(all="ignore"):
        scaled = np.nan_to_num((values - low) / (high - low or 1.0), nan=0.0, posinf=1.0, neginf=0.0)
    return (np.clip(scaled, 0, 1) * 255 + 0.5).astype(np.uint8), scale


def _png(pixels: np.ndarray) -> bytes:
    """Encode (y, x, channel) of u8 as a PNG file."""
    height, width, channels = pixels.shape
    rows = np.ascontiguousarray(pixels).reshape(height, width * channels)
    filtered = np.pad(rows, ((0, 0), (1, 0)))  # each row begins with the number of its filter, 0 for none

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(filtered.tobytes())), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
