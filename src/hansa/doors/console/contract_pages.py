"""The page of a contract: public for attestation contracts, for its parties by a link with a ticket."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.rendering import both_forms, page_or_json
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import commerce

BIGINT_MAX = 2**63 - 1

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)


@both_forms(router, "/contracts/{contract_id:int}")
async def show_contract(
    _: Public,
    request: Request,
    db: Db,
    seal: Sealing,
    settings: Config,
    *,
    contract_id: Annotated[int, Path(ge=1, le=BIGINT_MAX)],
    ticket: Annotated[str, Query(max_length=1024)] = "",
) -> Response:
    """One contract with its history. Raises: ContractUnknown, PageLinkInvalid."""

    async def reading(tx: Tx) -> commerce.ContractShown:
        if ticket:
            return await commerce.read_by_ticket(tx, seal, contract_id, ticket)
        return await commerce.read_public_contract(tx, contract_id)

    found = commerce.ContractOut.of(await db.read(reading), settings.ledger_id)
    return page_or_json(
        request,
        "contract.html",
        found,
        terms=wording(found.terms),
        criteria=wording(found.acceptance_criteria),
        is_private=bool(ticket),
    )


def wording(agreed: str | dict[str, Any] | list[Any]) -> str:
    """Return the agreed content as text: members and elements on lines of their own, each level set in."""
    return agreed if isinstance(agreed, str) else "\n".join(_lines(agreed))


def _lines(agreed: Any) -> Iterator[str]:
    for name, value in agreed.items() if isinstance(agreed, dict) else (("–", one) for one in agreed):
        lead = name if name == "–" else f"{name}:"
        if isinstance(value, dict | list) and value:
            yield lead
            yield from (f"  {line}" for line in _lines(value))
        else:
            yield f"{lead} {value if isinstance(value, str) else json.dumps(value)}"
