"""The page of a payment: its signed receipt, for everybody who has the link."""

import json
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from hansa.doors.console.rendering import page, wants_json
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import commerce, federation

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

SignatoryOfHere = Annotated[federation.Signatory, Depends(federation.SIGNATORY.given)]


@router.get("/pay/{token_id:uuid}")
async def show_receipt(
    _: Public, request: Request, db: Db, settings: Config, signatory: SignatoryOfHere, token_id: UUID
) -> Response:
    """The receipt of a settled payment: a page, or JSON where the request accepts that and no page."""
    is_json = wants_json(request)
    try:
        receipt = await commerce.signed_receipt(db, signatory, token_id, settings.settlement_currency)
    except commerce.ReceiptUnknown:
        if is_json:
            raise
        return page(request, "receipt-unknown.html", status=404, key=str(token_id))
    answer: Response = (
        JSONResponse(receipt)
        if is_json
        else page(request, "receipt.html", receipt=receipt, document=json.dumps(receipt, indent=2))
    )
    answer.headers["Vary"] = "Accept, Accept-Encoding"
    return answer
