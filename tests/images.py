"""Small images for tests."""

import zlib
from base64 import b64decode

# One grey pixel, baseline, with a JFIF header.
JPEG = b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/"
    "wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AVN//2Q=="
)


def chunk(name: bytes, data: bytes) -> bytes:
    """A part of a PNG with its checksum."""
    return len(data).to_bytes(4) + name + data + zlib.crc32(name + data).to_bytes(4)


def png(width: int, height: int, *extra: bytes, pixels: bytes | None = None, interlace: int = 0) -> bytes:
    """A PNG of 8-bit red, green and blue, black unless `pixels` says otherwise, with more parts before its pixels."""
    header = width.to_bytes(4) + height.to_bytes(4) + bytes((8, 2, 0, 0, interlace))
    rows = bytes(height * (1 + 3 * width)) if pixels is None else pixels
    parts = [chunk(b"IHDR", header), *extra, chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
