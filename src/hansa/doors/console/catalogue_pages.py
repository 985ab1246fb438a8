"""The pages of the catalogue: the listed agents, and each agent by itself.

- The statements of the registry stand apart from the text of an owner, in other elements.
- Every state of the catalogue page is an address; nothing needs a script but checking a signature in the browser.
- The page of an agent under its DID is kept while nothing that it shows changes (`cached_pages`), and answered as a direct route.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.agent_list import AgentView
from hansa.doors.console.agent_page import AgentPage, path_of
from hansa.doors.console.cached_agent_pages import AGENT_PAGES, CONTRACTS_SHOWN, OTHERS_SHOWN, AgentPages
from hansa.doors.console.filter_counts import count_filters
from hansa.doors.console.prices import own_amount, price_of
from hansa.doors.console.rendering import page
from hansa.doors.console.reputation_panel import ReputationPanel, panel_of
from hansa.doors.console.search_parameters import PAGE, SearchParameters, chosen, offered, orders
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.page_states import States
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import catalogue, commerce

VERSIONS_SHOWN = 10

agent_router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=DirectRoute,
    dependencies=[Depends(within_read_limit)],
)
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
    except catalogue.SearchNotReady as error:
        answer = page(request, "not-ready.html", status=error.status, address=parameters.address)
        answer.headers["Retry-After"] = "1"
        return answer
    last = parameters.offset + PAGE
    return page(
        request,
        "catalogue.html",
        parameters=parameters,
        total=found.total,
        agents=[AgentView.of(card) for card in found.results],
        groups=offered(parameters, counts.facets, counts.only),
        chosen=chosen(parameters),
        orders=orders(parameters),
        earlier=parameters.but(offset=max(0, parameters.offset - PAGE)) if parameters.offset else None,
        later=parameters.but(offset=last) if last < found.total else None,
    )


@agent_router.get("/agents/{card_key}")
async def show_agent(
    _: Public,
    request: Request,
    settings: Config,
    pages: Annotated[AgentPages, Depends(AGENT_PAGES.given)],
    card_key: Annotated[str, Path()],
) -> Response:
    """One agent: by its DID, or by the UUID or number of its card."""

    async def find(tx: Tx) -> catalogue.Card:
        return await catalogue.card_of(tx, card_key)

    read_from = await pages.states_of(card_key) if card_key.startswith("did:") else None
    if read_from is not None and (known := pages.kept.find(card_key, read_from)) is not None:
        return known.answer(request)
    # What changes between two statements changes the states too, and the next visitor has a page of the new ones.
    reading = pages.database.read if read_from is None else pages.database.query
    try:
        shown = await reading(lambda tx: _read_agent(tx, find, settings, read_from))
    except catalogue.CardUnknown:
        return _unknown(request, card_key)
    content = shown.content(settings)
    if read_from is None or not shown.is_lasting:
        return page(request, "agent.html", **content)
    fresh = await pages.kept.render(request, read_from, "agent.html", **content)
    pages.kept.keep(card_key, fresh)
    return fresh.answer(request)


@router.get("/agents/{organization}/{name}")
async def show_agent_by_name(
    _: Public, request: Request, db: Db, settings: Config, organization: str, name: str
) -> HTMLResponse:
    """The same page by the humanReadableId of the card."""
    key = f"{organization}/{name}"
    try:
        shown = await db.read(lambda tx: _read_agent(tx, lambda tx: catalogue.card_called(tx, key), settings))
    except catalogue.CardUnknown:
        return _unknown(request, key)
    return page(request, "agent.html", **shown.content(settings))


def _unknown(request: Request, key: str) -> HTMLResponse:
    return page(request, "agent-unknown.html", status=404, key=key)


class _ShownAgent(msgspec.Struct, frozen=True):
    """A card with the data beside it; only an agent of this registry has reputation, contracts and versions here.

    `is_exported`: this registry exports the card signed. `is_lasting`: nothing of the database is shown but the states that `cached_agent_pages` covers.
    """

    card: catalogue.Card
    is_exported: bool = False
    reputation: ReputationPanel | None = None
    contracts: Sequence[commerce.Contract] = ()
    versions: Sequence[catalogue.CardVersion] = ()
    others: Sequence[catalogue.CardName] = ()
    own_amount: str | None = None
    """What the price in another currency costs now in units of this registry."""
    is_lasting: bool = True

    def content(self, settings: Settings) -> dict[str, Any]:
        """Return the variables of the template."""
        return {
            "agent": AgentPage.of(self.card, settings, is_exported=self.is_exported),
            "own_amount": self.own_amount,
            "reputation": self.reputation,
            "contracts": self.contracts,
            "versions": self.versions,
            "others": [(path_of(other.did, other.card_id), other.name) for other in self.others],
        }


async def _read_agent(
    tx: Tx,
    find: Callable[[Tx], Awaitable[catalogue.Card]],
    settings: Settings,
    states: States | None = None,
) -> _ShownAgent:
    """Read an agent for its page, without the parts that have nothing to show by `states`. Raises: CardUnknown."""
    card = await find(tx)
    if card.did is None:
        return _ShownAgent(card)
    if card.source_registry is not None:
        return await _read_mirrored(tx, card, card.did, settings)

    def has(part: str) -> bool:
        return states is None or states[part] is not None

    has_history = card.version > 1 and not card.is_withdrawn
    return _ShownAgent(
        card,
        card.status != "revoked" or await catalogue.is_exported(tx, card.did),
        await panel_of(tx, card.did, has_record=has("record"), has_grades=has("grades"))
        if has("score")
        else None,
        await commerce.public_contracts_of(tx, card.did, CONTRACTS_SHOWN) if has("contracts") else (),
        (await catalogue.history_of(tx, card.did, None))[:VERSIONS_SHOWN] if has_history else (),
        await catalogue.other_agents_of_owner(tx, card, OTHERS_SHOWN)
        if has("others") and not card.is_withdrawn
        else (),
    )


async def _read_mirrored(tx: Tx, card: catalogue.Card, did: str, settings: Settings) -> _ShownAgent:
    price = price_of(card.card_data or {}, card.settlement_currency)
    if price.is_free or price.unit == settings.settlement_currency:
        return _ShownAgent(card)
    # The rate of its currency moves with every swap.
    return _ShownAgent(card, own_amount=await own_amount(tx, did, price, settings), is_lasting=False)
