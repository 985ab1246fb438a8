"""One search for every identifier that a page, an answer or an event shows: names, numbers, DIDs and UUIDs, codes of errors and types of events.

An input that names one thing leads to its page; one that may name several shows a choice; any other searches the catalogue.
"""

import re
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import see_other
from hansa.doors.console.access.cookies import SESSION
from hansa.doors.console.access.pages import FORM_HEADERS
from hansa.doors.console.agent_page import path_of
from hansa.doors.console.event_lines import events_address
from hansa.doors.console.event_pages import PUBLIC_TYPES
from hansa.doors.console.find_by_id import Found, calls_with, of_organization, with_uuid
from hansa.doors.console.identity import system_name
from hansa.doors.console.navigation import ENFORCEMENT
from hansa.doors.console.rendering import page
from hansa.foundation.events import ledger_key
from hansa.foundation.plumbing.process.runtime import Config, Db, runtime_of
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.caller import Developer, Public
from hansa.foundation.plumbing.web.cookies import cookie_of
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import every_refusal
from hansa.rooms import agents, auditor, catalogue, commerce, federation, journal, people

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
    "dispute": "dispute",
    "log": "log",
    "leaf": "log",
    "block": "log",
    "position": "log",
}

_NUMBER = re.compile(r"(?:(?P<kind>[a-z]+)[\s:#-]*|#)?(?P<number>[0-9]{1,18})", re.ASCII | re.IGNORECASE)
_CODE = re.compile(r"[A-Z][A-Z0-9_]{2,79}|[a-z]+(?:_[a-z]+)+")
_ORGANIZATION = re.compile(r"organization[\s:]+(?P<slug>[a-z0-9-]{2,39})", re.ASCII)
_HANDLE = re.compile(r"[^\s/]{1,100}/[^\s/]{1,100}")


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
    person = await _person(request, db, settings)
    found: list[Found] = []
    if number is not None and is_numbered:
        kind = KINDS.get((number["kind"] or "").lower())
        found = await _numbered(db, settings, person, kind, int(number["number"]))
    elif text.startswith("did:"):
        found = await db.read(lambda tx: _with_did(tx, text))
    elif text:
        found = await _named(request, searcher, db, settings, person=person, text=text)
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


async def _person(request: Request, db: Database, settings: Settings) -> Developer | None:
    """The person who is logged in: what is not public is found for its owner alone."""
    token = cookie_of(request, settings, SESSION)
    session = await people.check_browser_session(db, token) if token else None
    return session.developer if session else None


async def _named(
    request: Request,
    searcher: catalogue.Searcher,
    db: Database,
    settings: Settings,
    *,
    person: Developer | None,
    text: str,
) -> list[Found]:
    """The things that a text names: a code, a handle, a UUID, a request, a peer, or the one agent with this name."""
    if found := _published(text):
        return found
    if organization := _ORGANIZATION.fullmatch(text):
        return await db.read(lambda tx: of_organization(tx, person, organization["slug"]))
    if found := await db.read(lambda tx: _with_handle(tx, text)):
        return found
    if person is not None and (found := await calls_with(runtime_of(request), person, text)):
        return found
    if found := await db.read(lambda tx: with_uuid(tx, settings, person, text)):
        return found
    return await db.read(lambda tx: _of_federation(tx, text)) or await _called(searcher, db, text)


def _published(text: str) -> list[Found]:
    """The page of an error code, or the events of a type."""
    if _CODE.fullmatch(text) and text in every_refusal():
        return [Found(f"Error {text}", f"/docs/problems/{quote(text)}")]
    return [Found(f"Events {text}", events_address(type=text))] if text in PUBLIC_TYPES else []


async def _numbered(
    db: Database, settings: Settings, person: Developer | None, kind: str | None, number: int
) -> list[Found]:
    """The things of this kind, or of every kind, that have this number."""

    async def reading(tx: Tx) -> list[Found]:
        found = []
        if kind in {None, "transaction"} and await journal.sequence_of(
            tx, ledger_key(settings.ledger_id, number)
        ):
            found.append(Found(f"Transaction tx-{number}", f"/transactions/tx-{number}"))
        if kind in {None, "event"} and number and await journal.find_public_event(tx, number):
            found.append(Found(f"Event {number}", f"/events/{number}"))
        if kind in {None, "contract"} and (
            address := await _contract(tx, number, person.id if person else None)
        ):
            found.append(Found(f"Contract {number}", address))
        if kind in {None, "dispute"} and person and (address := await _dispute(tx, number, person)):
            found.append(Found(f"Dispute {number}", address))
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


async def _dispute(tx: Tx, dispute_id: int, person: Developer) -> str | None:
    """The page of a dispute of an own agent, or that of the administration; None where the person may read neither."""
    parties = await commerce.parties_of_dispute(tx, dispute_id)
    if own := await agents.readable_among(tx, person.id, parties) if parties else frozenset():
        return f"/account/agents/{min(own)}/disputes/{dispute_id}"
    if parties and ENFORCEMENT in person.areas_in_reach:
        return f"/administration/disputes/{dispute_id}"
    return None


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


async def _with_handle(tx: Tx, text: str) -> list[Found]:
    """The agent with this handle."""
    if not _HANDLE.fullmatch(text):
        return []
    try:
        card = await catalogue.card_called(tx, text)
    except catalogue.CardUnknown:
        return []
    return [Found(card.name, path_of(card.did, card.card_id))]


async def _of_federation(tx: Tx, text: str) -> list[Found]:
    """The licence with this hash, or the peer with this name, trust domain or ledger id."""
    if lid := await federation.issued_licence_id(tx, text):
        return [Found(f"Licence {lid}", f"/licences/{lid}")]
    try:
        view = await federation.view_by_name(tx, text)
    except (federation.PeerUnknown, federation.PeerAmbiguous):
        return []
    if not view.peer.is_member:
        return []
    return [Found(f"Registry {text}", f"/federation/peers/{quote(text, safe='')}")]


async def _called(searcher: catalogue.Searcher, db: Database, text: str) -> list[Found]:
    """The one agent that has this name; none where several have it, or the search is not ready."""
    try:
        query = catalogue.SearchQuery(q=text, limit=AGENTS_COMPARED)
        cards = (await catalogue.discover(searcher, db, query)).results
    except catalogue.SearchNotReady:
        return []
    named = [card for card in cards if card.name.casefold() == text.casefold()]
    return [Found(card.name, path_of(card.did, card.card_id)) for card in named] if len(named) == 1 else []
