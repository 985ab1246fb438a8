"""The client for users of this registry: its wheel, and a page that states its digest and how to install it."""

import asyncio

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

from hansa.doors.console.client_wheel import client_wheel
from hansa.doors.console.rendering import page
from hansa.doors.console.static_files import PieceByPiece
from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.errors import NotFound

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)


class ClientFileUnknown(NotFound):
    """There is no file of the client with this name."""

    code = "CLIENT_FILE_UNKNOWN"
    sentence = "There is no file of the client with this name."
    remedy = "Choose one of the list at /client/."


@router.get("/client/")
async def show_client(_: Public, request: Request) -> HTMLResponse:
    """The client: its wheel with the SHA-256, which `pip install --find-links` reads, and how to install it."""
    wheel = await asyncio.to_thread(client_wheel)
    return page(request, "client.html", wheel=wheel, base_url=runtime_of(request).settings.base_url)


@router.get("/client/{name}")
async def send_client(_: Public, name: str) -> Response:
    """The wheel, or with `.sha256` behind its name a line that `sha256sum --check` reads. Raises: ClientFileUnknown."""
    wheel = await asyncio.to_thread(client_wheel)
    if name == f"{wheel.name}.sha256":
        return PlainTextResponse(f"{wheel.sha256}  {wheel.name}\n")
    if name != wheel.name:
        raise ClientFileUnknown
    return PieceByPiece(wheel.content, media_type="application/octet-stream")
