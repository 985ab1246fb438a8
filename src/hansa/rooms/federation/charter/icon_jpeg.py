"""JPEG images, rewritten segment by segment: only the segments that are needed to decode the picture are kept.

Dropped are EXIF data with places and times, profiles, comments, thumbnails, and everything behind the end.
"""

from .icon_png import SIDE_MAX, NotAnImage

MAGIC = b"\xff\xd8\xff"
START, END, SCAN = 0xD8, 0xD9, 0xDA
FRAMES = frozenset({0xC0, 0xC1, 0xC2})
"""Baseline, extended and progressive, all with Huffman codes."""
KEPT = frozenset({0xC4, 0xDB, 0xDD, SCAN, *FRAMES})
ADOBE = 0xEE
ADOBE_BYTES = 12
"""Says how colours are coded; what may follow is dropped."""
FRAME_BYTES_MIN = 9


def rewritten_jpeg(image: bytes) -> bytes:
    """The same picture without anything that is not needed to decode it. Raises: NotAnImage."""
    written, position = bytearray(b"\xff\xd8"), 2
    has_frame = has_scan = False
    while True:
        marker, position = _marker(image, position)
        if marker == END:
            break
        segment, position = _segment(image, position)
        if marker in FRAMES:
            _require_small(segment)
            has_frame = True
        elif marker == ADOBE and segment.startswith(b"Adobe"):
            segment = segment[:ADOBE_BYTES]
        if marker in KEPT or (marker == ADOBE and len(segment) == ADOBE_BYTES):
            written += bytes((0xFF, marker)) + (len(segment) + 2).to_bytes(2) + segment
        if marker == SCAN:
            has_scan = True
            end = _end_of_scan(image, position)
            written += image[position:end]
            position = end
    if not (has_frame and has_scan):
        raise NotAnImage("the JPEG has no picture of a supported form")
    return bytes(written + b"\xff\xd9")


def _marker(image: bytes, position: int) -> tuple[int, int]:
    if image[position : position + 1] != b"\xff":
        raise NotAnImage("the JPEG is incomplete")
    while image[position : position + 1] == b"\xff":
        position += 1
    if position >= len(image) or image[position] in {0x00, START}:
        raise NotAnImage("the JPEG is incomplete")
    return image[position], position + 1


def _segment(image: bytes, position: int) -> tuple[bytes, int]:
    length = int.from_bytes(image[position : position + 2])
    end = position + length
    if length < 2 or end > len(image):  # noqa: PLR2004
        raise NotAnImage("the JPEG is incomplete")
    return image[position + 2 : end], end


def _require_small(frame: bytes) -> None:
    if len(frame) < FRAME_BYTES_MIN:
        raise NotAnImage("the header of the JPEG is too short")
    height, width = int.from_bytes(frame[1:3]), int.from_bytes(frame[3:5])
    if not (1 <= width <= SIDE_MAX and 1 <= height <= SIDE_MAX):
        raise NotAnImage(f"the image is larger than {SIDE_MAX} by {SIDE_MAX} pixels")


def _end_of_scan(image: bytes, position: int) -> int:
    """Return the end of the coded data: the next marker that is neither a stuffed byte nor a restart."""
    while True:
        position = image.find(b"\xff", position)
        if position < 0 or position + 1 >= len(image):
            raise NotAnImage("the JPEG is incomplete")
        following = image[position + 1]
        if following != 0x00 and not 0xD0 <= following <= 0xD7:  # noqa: PLR2004
            return position
        position += 2
