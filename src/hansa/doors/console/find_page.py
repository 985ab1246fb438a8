"""One search for everything that has a page: an agent, a transaction, an event, a contract, a position of the log, a payment.

An input that names one thing leads to its page; one that may name several shows a choice; any other searches the catalogue.
"""

import re
from typing import Annotated
from urllib.parse import quote, urlencode
from uuid import UUID

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import see_other
from hansa.doors.console.access.cookies import SESSION, cookie_of
from hansa.doors.console.access.pages import FORM_HEADERS
from hansa.doors.console.agent_page import path_of
from hansa.doors.console.event_lines import events_address
from hansa.doors.console.identity import system_name
from hansa.doors.console.rendering import page
from hansa.foundation.events import ledger_key
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import agents, auditor, catalogue, commerce, journal, people

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

TEXT_MAX = 512
AGENTS_COMPARED = 2
KINDS = {
    "transaction": "transaction",
    "tx": "transaction",
    "event": "event",
    "contract": "contract",
    "log": "log",
    "leaf": "log",
    "block": "log",
    "position": "log",
}

_NUMBER = re.compile(r"(?:(?P<kind>[a-z]+)[\s:#-]*|#)?(?P<number>[0-9]{1,18})", re.ASCII | re.IGNORECASE)
_HANDLE = re.compile(r"[^\s/]{1,100}/[^\s/]{1,100}")


class Found(msgspec.Struct, frozen=True):
    """One thing that the input may name: its kind and number or name in words, and its page."""

    words: str
    address: str


@router.get("/find")
async def find(
    _: Public,
    request: Request,
    searcher: catalogue.Search,
    db: Db,
    settings: Config,
    q: Annotated[str, Query(max_length=TEXT_MAX)] = "",
) -> Response:
    """Lead to the page of the thing that is named, or show the choice; without input show what can be found."""
    text = " ".join(q.split())
    number = _NUMBER.fullmatch(text)
    is_numbered = number is not None and (not number["kind"] or number["kind"].lower() in KINDS)
    found: list[Found] = []
    if number is not None and is_numbered:
        kind = KINDS.get((number["kind"] or "").lower())
        found = await _numbered(request, db, settings, kind, int(number["number"]))
    elif text.startswith("did:"):
        found = await db.read(lambda tx: _with_did(tx, text))
    elif text:
        found = await db.read(lambda tx: _with_key(tx, text)) or await _called(searcher, db, text)
        if not found:
            return see_other(f"/catalogue?{urlencode({'q': text})}")
    answer: Response
    if len(found) == 1:
        answer = see_other(found[0].address)
    else:
        answer = page(request, "find.html", status=200 if found or not text else 404, text=text, found=found)
    # The contracts of own agents are found for their owner alone.
    answer.headers.update(FORM_HEADERS)
    return answer


async def _numbered(
    request: Request, db: Database, settings: Settings, kind: str | None, number: int
) -> list[Found]:
    """The things of this kind, or of every kind, that have this number."""
    token = cookie_of(request, settings, SESSION)
    session = await people.check_browser_session(db, token) if token else None

    async def reading(tx: Tx) -> list[Found]:
        found = []
        if kind in {None, "transaction"} and await journal.sequence_of(
            tx, ledger_key(settings.ledger_id, number)
        ):
            found.append(Found(f"Transaction tx-{number}", f"/transactions/tx-{number}"))
        if kind in {None, "event"} and number and await journal.find_public_event(tx, number):
            found.append(Found(f"Event {number}", f"/events/{number}"))
        if kind in {None, "contract"} and (
            address := await _contract(tx, number, session.developer.id if session else None)
        ):
            found.append(Found(f"Contract {number}", address))
        if kind in {None, "log"} and number < await _size_of_log(tx):
            document = quote(f"/log/proof?index={number}", safe="/")
            found.append(Found(f"Position {number} of the log", f"/verify?document={document}"))
        return found

    return await db.read(reading)


async def _contract(tx: Tx, contract_id: int, developer_id: int | None) -> str | None:
    """The page of a contract of an own agent, or the public one; None where the reader has none."""
    if developer_id is not None:
        parties = await commerce.parties_of(tx, contract_id)
        own = await agents.readable_among(tx, developer_id, parties) if parties else frozenset()
        if own:
            return f"/account/agents/{min(own)}/contracts/{contract_id}"
    try:
        await commerce.read_public_contract(tx, contract_id)
    except commerce.ContractUnknown:
        return None
    return f"/contracts/{contract_id}"


async def _size_of_log(tx: Tx) -> int:
    try:
        size, _ = await auditor.read_checkpoint(tx)
    except auditor.LogEmpty:
        return 0
    return size


async def _with_did(tx: Tx, did: str) -> list[Found]:
    """The page of an agent, or the events of an account of the registry."""
    if name := system_name(did):
        return [Found(name, events_address(did=did))]
    try:
        card = await catalogue.card_of(tx, did)
    except catalogue.CardUnknown:
        return []
    return [Found(card.name, path_of(card.did, card.card_id))]


async def _with_key(tx: Tx, text: str) -> list[Found]:
    """The agent with this handle or UUID, or the payment with this UUID."""
    if _HANDLE.fullmatch(text):
        try:
            card = await catalogue.card_called(tx, text)
        except catalogue.CardUnknown:
            return []
        return [Found(card.name, path_of(card.did, card.card_id))]
    try:
        uuid = UUID(text)
    except ValueError:
        return []
    try:
        card = await catalogue.card_of(tx, str(uuid))
    except catalogue.CardUnknown:
        return [Found(f"Payment {uuid}", f"/pay/{uuid}")]
    return [Found(card.name, path_of(card.did, card.card_id))]


async def _called(searcher: catalogue.Searcher, db: Database, text: str) -> list[Found]:
    """The one agent that has this name; none where several have it, or the search is not ready."""
    try:
        query = catalogue.SearchQuery(q=text, limit=AGENTS_COMPARED)
        cards = (await catalogue.discover(searcher, db, query)).results
    except catalogue.SearchNotReady:
        return []
    named = [card for card in cards if card.name.casefold() == text.casefold()]
    return [Found(card.name, path_of(card.did, card.card_id)) for card in named] if len(named) == 1 else []
