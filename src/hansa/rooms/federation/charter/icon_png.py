"""PNG images, rewritten: the pixels are decompressed, checked against the header, and compressed anew.

Kept are the header, the palette, its transparency and the pixels. Text, profiles, times and everything behind the end are
dropped.
"""

import zlib
from collections.abc import Iterator

MAGIC = b"\x89PNG\r\n\x1a\n"
SIDE_MAX = 1024
"""Pixels; an image of this size has at most 8 MB."""
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
DEPTHS = {0: {1, 2, 4, 8, 16}, 2: {8, 16}, 3: {1, 2, 4, 8}, 4: {8, 16}, 6: {8, 16}}
KEPT = (b"PLTE", b"tRNS")
# Of the seven passes of an interlaced image: first column, first row, and the steps in both directions.
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


class NotAnImage(ValueError):
    """The bytes are not an image of the supported form; the message is one line."""


def rewritten_png(image: bytes) -> bytes:
    """The same picture without anything that is not needed to show it. Raises: NotAnImage."""
    chunks = list(_chunks(image))
    if not chunks or chunks[0][0] != b"IHDR" or chunks[-1][0] != b"IEND":
        raise NotAnImage("the PNG is incomplete")
    header = chunks[0][1]
    expected = _bytes_of_pixels(header)
    pixels = _decompressed(b"".join(data for name, data in chunks if name == b"IDAT"), expected)
    stored = [(name, data) for name, data in chunks if name in KEPT]
    written = [(b"IHDR", header), *stored, (b"IDAT", zlib.compress(pixels, 9)), (b"IEND", b"")]
    return MAGIC + b"".join(_chunk(name, data) for name, data in written)


def _chunks(image: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = len(MAGIC)
    while position < len(image):
        length = int.from_bytes(image[position : position + 4])
        name, data = image[position + 4 : position + 8], image[position + 8 : position + 8 + length]
        checksum = image[position + 8 + length : position + 12 + length]
        if len(checksum) != 4 or int.from_bytes(checksum) != zlib.crc32(name + data):  # noqa: PLR2004
            raise NotAnImage("a part of the PNG is damaged")
        yield name, data
        if name == b"IEND":
            return
        position += 12 + length


def _bytes_of_pixels(header: bytes) -> int:
    if len(header) != 13:  # noqa: PLR2004
        raise NotAnImage("the header of the PNG has a wrong length")
    width, height = int.from_bytes(header[:4]), int.from_bytes(header[4:8])
    depth, colour, compression, filtering, interlace = header[8:]
    if not (1 <= width <= SIDE_MAX and 1 <= height <= SIDE_MAX):
        raise NotAnImage(f"the image is larger than {SIDE_MAX} by {SIDE_MAX} pixels")
    if depth not in DEPTHS.get(colour, ()) or compression or filtering or interlace > 1:
        raise NotAnImage("the PNG has an unknown form of pixels")
    passes = PASSES if interlace else ((0, 0, 1, 1),)
    return sum(_bytes_of_pass(width, height, depth * CHANNELS[colour], one) for one in passes)


def _bytes_of_pass(width: int, height: int, bits: int, one: tuple[int, int, int, int]) -> int:
    left, top, right, down = one
    columns, rows = -(-(width - left) // right), -(-(height - top) // down)
    # Each row begins with the number of its filter.
    return rows * (1 + (columns * bits + 7) // 8) if columns > 0 and rows > 0 else 0


def _decompressed(data: bytes, expected: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        pixels = stream.decompress(data, expected + 1)
    except zlib.error:
        raise NotAnImage("the pixels of the PNG are damaged") from None
    if len(pixels) != expected:
        raise NotAnImage("the PNG has another number of pixels than its header states")
    return pixels


def _chunk(name: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4) + name + data + zlib.crc32(name + data).to_bytes(4)
