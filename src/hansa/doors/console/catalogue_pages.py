"""The pages of the catalogue: who is listed, and each agent by itself.

- What the registry says stands apart from what an owner wrote, in other elements.
- Every state of the catalogue page is an address; nothing needs a script but checking a signature in the browser.
"""

from collections.abc import Sequence

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.agent_list import ShownAgent
from hansa.doors.console.agent_page import AgentPage
from hansa.doors.console.rendering import page
from hansa.doors.console.reputation_panel import ReputationPanel, panel_of
from hansa.doors.console.search_parameters import PAGE, SearchParameters, chosen, offered, orders
from hansa.foundation.plumbing.caller import Public
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.lazy_routes import LazyRoute
from hansa.foundation.plumbing.limits import within_read_limit
from hansa.foundation.plumbing.runtime import Config, Db
from hansa.rooms import catalogue, commerce

CONTRACTS_SHOWN = 20

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)


@router.get("/catalogue")
async def show_catalogue(_: Public, request: Request, searcher: catalogue.Search, db: Db) -> HTMLResponse:
    """The agents that may be shown, searched and narrowed as the address says."""
    parameters = SearchParameters.at(request.query_params)
    try:
        found = await catalogue.discover(searcher, db, parameters.search_query())
    except catalogue.SearchNotReady as trouble:
        answer = page(request, "not-ready.html", status=trouble.status, address=parameters.address)
        answer.headers["Retry-After"] = "1"
        return answer
    last = parameters.offset + PAGE
    return page(
        request,
        "catalogue.html",
        parameters=parameters,
        total=found.total,
        agents=[ShownAgent.of(card) for card in found.results],
        groups=offered(parameters, found.facets),
        chosen=chosen(parameters),
        orders=orders(parameters),
        earlier=parameters.but(offset=max(0, parameters.offset - PAGE)) if parameters.offset else None,
        later=parameters.but(offset=last) if last < found.total else None,
    )


@router.get("/agents/{card_key}")
async def show_agent(_: Public, request: Request, db: Db, settings: Config, card_key: str) -> HTMLResponse:
    """One agent: by its DID, or by the UUID or number of its card."""
    try:
        card, is_exported, panel, contracts = await db.read(lambda tx: _shown(tx, card_key))
    except catalogue.CardUnknown:
        return page(request, "agent-unknown.html", status=404, key=card_key)
    return page(
        request,
        "agent.html",
        agent=AgentPage.of(card, settings, is_exported=is_exported),
        reputation=panel,
        contracts=contracts,
    )


async def _shown(
    tx: Tx, card_key: str
) -> tuple[catalogue.Card, bool, ReputationPanel | None, Sequence[commerce.Contract]]:
    """The card, whether this registry exports it signed, the reputation and the public contracts of an own agent.

    Raises: CardUnknown.
    """
    card = await catalogue.card_of(tx, card_key)
    if card.did is None:
        return card, False, None, ()
    is_exported = await catalogue.is_exported(tx, card.did)
    if card.source_registry is not None:
        return card, is_exported, None, ()
    contracts = await commerce.public_contracts_of(tx, card.did, CONTRACTS_SHOWN)
    return card, is_exported, await panel_of(tx, card.did), contracts
