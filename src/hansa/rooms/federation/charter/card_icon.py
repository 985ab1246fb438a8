"""The icon of the registry card: uploaded by an administrator, rewritten, served to everybody.

The kind of the image is decided by its content; the content type of the upload does not count (Specification 2, "Admin").
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
from .card_schemas import RegistryCardEdited
from .errors import IconUnusable, KeyDoesNotOpen
from .icon_jpeg import MAGIC as JPEG_MAGIC
from .icon_jpeg import rewritten_jpeg
from .icon_png import MAGIC as PNG_MAGIC
from .icon_png import NotAnImage, rewritten_png

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
    if not is_png and not image.startswith(JPEG_MAGIC):
        raise IconUnusable("The icon is neither a PNG nor a JPEG image.", field=MEMBER)
    try:
        written = rewritten_png(image) if is_png else rewritten_jpeg(image)
    except NotAnImage as error:
        raise IconUnusable(f"The icon cannot be used: {error}.", field=MEMBER) from None
    if len(written) > ICON_MAX_BYTES:
        raise IconUnusable(f"The icon cannot be used: it has more than {ICON_MAX_BYTES} bytes.", field=MEMBER)
    return written, "image/png" if is_png else "image/jpeg"
