"""The pages of the catalogue: who is listed, and each agent by itself.

- What the registry says stands apart from what an owner wrote, in other elements.
- Every state of the catalogue page is an address; nothing needs a script but checking a signature in the browser.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.agent_list import ShownAgent
from hansa.doors.console.agent_page import AgentPage, path_of
from hansa.doors.console.filter_counts import count_filters
from hansa.doors.console.prices import own_amount, price_of
from hansa.doors.console.rendering import page
from hansa.doors.console.reputation_panel import ReputationPanel, panel_of
from hansa.doors.console.search_parameters import PAGE, SearchParameters, chosen, offered, orders
from hansa.foundation.plumbing.caller import Public
from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.plumbing.lazy_routes import LazyRoute
from hansa.foundation.plumbing.limits import within_read_limit
from hansa.foundation.plumbing.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import catalogue, commerce

CONTRACTS_SHOWN = 20
VERSIONS_SHOWN = 10
OTHERS_SHOWN = 10

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
        counts = await count_filters(searcher, parameters)
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
        groups=offered(parameters, counts.facets, counts.only),
        chosen=chosen(parameters),
        orders=orders(parameters),
        earlier=parameters.but(offset=max(0, parameters.offset - PAGE)) if parameters.offset else None,
        later=parameters.but(offset=last) if last < found.total else None,
    )


@router.get("/agents/{card_key}")
async def show_agent(_: Public, request: Request, db: Db, settings: Config, card_key: str) -> HTMLResponse:
    """One agent: by its DID, or by the UUID or number of its card."""
    return await _agent_page(request, db, settings, card_key, lambda tx: catalogue.card_of(tx, card_key))


@router.get("/agents/{organization}/{name}")
async def show_agent_by_name(
    _: Public, request: Request, db: Db, settings: Config, organization: str, name: str
) -> HTMLResponse:
    """The same page by the humanReadableId of the card."""
    key = f"{organization}/{name}"
    return await _agent_page(request, db, settings, key, lambda tx: catalogue.card_called(tx, key))


async def _agent_page(
    request: Request,
    db: Database,
    settings: Settings,
    key: str,
    find: Callable[[Tx], Awaitable[catalogue.Card]],
) -> HTMLResponse:
    try:
        shown = await db.read(lambda tx: _read_agent(tx, find, settings))
    except catalogue.CardUnknown:
        return page(request, "agent-unknown.html", status=404, key=key)
    return page(
        request,
        "agent.html",
        agent=AgentPage.of(shown.card, settings, is_exported=shown.is_exported),
        own_amount=shown.own_amount,
        reputation=shown.reputation,
        contracts=shown.contracts,
        versions=shown.versions,
        others=[(path_of(other.did, other.card_id), other.name) for other in shown.others],
    )


@dataclass(frozen=True)
class _ShownAgent:
    """A card with what stands beside it; only an agent of this registry has reputation, contracts and versions here.

    `is_exported`: this registry exports the card signed.
    """

    card: catalogue.Card
    is_exported: bool = False
    reputation: ReputationPanel | None = None
    contracts: Sequence[commerce.Contract] = ()
    versions: Sequence[catalogue.CardVersion] = ()
    others: Sequence[catalogue.CardName] = ()
    own_amount: str | None = None
    """What the price in another currency costs now in units of this registry."""


async def _read_agent(
    tx: Tx, find: Callable[[Tx], Awaitable[catalogue.Card]], settings: Settings
) -> _ShownAgent:
    """Raises: CardUnknown."""
    card = await find(tx)
    if card.did is None:
        return _ShownAgent(card)
    is_exported = await catalogue.is_exported(tx, card.did)
    if card.source_registry is not None:
        price = price_of(card.card_data or {}, card.settlement_currency)
        return _ShownAgent(card, is_exported, own_amount=await own_amount(tx, card.did, price, settings))
    return _ShownAgent(
        card,
        is_exported,
        await panel_of(tx, card.did),
        await commerce.public_contracts_of(tx, card.did, CONTRACTS_SHOWN),
        () if card.is_withdrawn else (await catalogue.history_of(tx, card.did, None))[:VERSIONS_SHOWN],
        () if card.is_withdrawn else await catalogue.other_agents_of_owner(tx, card, OTHERS_SHOWN),
    )
