"""The icon of the registry card: uploaded by an administrator, rewritten, served to everybody.

The kind of the image is decided by its content; the content type of the upload does not count (Specification 2, "Admin").
JPEG images are rewritten segment by segment: only the segments that are needed to decode the picture are kept. Dropped are
EXIF data with places and times, profiles, comments, thumbnails, and everything behind the end.
"""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, Public, admin_holding
from hansa.foundation.plumbing.web.entity_tags import tagged
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.plumbing.web.uploads import read_upload
from hansa.foundation.values.errors import (
    PayloadTooLarge,
    Unauthorized,
    UnsupportedMediaType,
)

from .card_content import ICON_AT
from .card_editing import CardEditor, read_editable, set_icon
from .card_reading import read_icon
from .errors import IconUnusable, KeyDoesNotOpen
from .icon_png import MAGIC as PNG_MAGIC
from .icon_png import SIDE_MAX, NotAnImage, rewritten_png
from .schemas import RegistryCardEdited

ICON_MAX_BYTES = 500_000
MEMBER = "file"
FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": [MEMBER],
                    "properties": {
                        MEMBER: {"type": "string", "format": "binary", "description": "A PNG or JPEG image."}
                    },
                }
            }
        },
    }
}
icon_router = APIRouter(tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)])
icon_admin_router = APIRouter(tags=["administrators"], route_class=GuardedRoute)
MAGIC = b"\xff\xd8\xff"
START, END, SCAN = 0xD8, 0xD9, 0xDA
FRAMES = frozenset({0xC0, 0xC1, 0xC2})
"""Baseline, extended and progressive, all with Huffman codes."""
KEPT = frozenset({0xC4, 0xDB, 0xDD, SCAN, *FRAMES})
ADOBE = 0xEE
ADOBE_BYTES = 12
"""Says how colours are coded; what may follow is dropped."""
FRAME_BYTES_MIN = 9


# A picture for pages, as static files are: generators of clients know no media type of images.
@icon_router.get(ICON_AT, include_in_schema=False)
async def read_registry_icon(_: Public, request: Request, db: Db) -> Response:
    """The icon of the registry, a PNG or JPEG image."""
    image, media_type = await db.query(read_icon)
    headers = {
        "Cache-Control": "public, max-age=300",
        "X-Content-Type-Options": "nosniff",
        "Access-Control-Allow-Origin": "*",
    }
    return tagged(request, image, media_type=media_type, headers=headers)


@icon_admin_router.post(
    "/admin/registry-card/icon",
    openapi_extra=FORM,
    responses=problems(
        Unauthorized,
        BodyInvalid,
        IconUnusable,
        KeyDoesNotOpen,
        PayloadTooLarge,
        UnsupportedMediaType,
    ),
)
async def upload_registry_icon(
    administrator: Annotated[Developer, admin_holding("admin_platform")],
    request: Request,
    db: Db,
    settings: Config,
    seal: Sealing,
) -> RegistryCardEdited:
    """Replace the icon: a PNG or JPEG image of at most 500 KB and 1024 by 1024 pixels. Metadata is removed."""
    _, uploaded = await read_upload(request, MEMBER, ICON_MAX_BYTES)
    image, media_type = await asyncio.to_thread(rewritten_icon, uploaded)
    editor = CardEditor(administrator, settings, seal)

    async def replace(tx: Tx) -> RegistryCardEdited:
        version = await set_icon(tx, editor, image, media_type)
        return RegistryCardEdited.of(await read_editable(tx), version)

    return await db.transaction(replace)


def rewritten_icon(image: bytes) -> tuple[bytes, str]:
    """The image as it is stored, and its media type. Raises: IconUnusable."""
    if not image:
        raise IconUnusable(f"The body must have a file as the member `{MEMBER}`.", field=MEMBER)
    is_png = image.startswith(PNG_MAGIC)
    if not is_png and not image.startswith(MAGIC):
        raise IconUnusable("The icon is neither a PNG nor a JPEG image.", field=MEMBER)
    try:
        written = rewritten_png(image) if is_png else rewritten_jpeg(image)
    except NotAnImage as error:
        raise IconUnusable(f"The icon cannot be used: {error}.", field=MEMBER) from None
    if len(written) > ICON_MAX_BYTES:
        raise IconUnusable(f"The icon cannot be used: it has more than {ICON_MAX_BYTES} bytes.", field=MEMBER)
    return written, "image/png" if is_png else "image/jpeg"


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
