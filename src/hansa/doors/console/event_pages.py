"""The pages of the event log: a list with a live stream, each event, each transaction of the ledger.

They show the events and members that the public reading rules of the journal leave: no memos, no balances, no private events (Specification 2,
event store).
"""

from collections.abc import Sequence
from contextlib import aclosing
from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from starlette.types import Send

from hansa.doors.console.event_lines import (
    EventDetails,
    EventsOut,
    events_address,
    lines_of,
    sentences_for_script,
    summary_of,
)
from hansa.doors.console.event_sentences import ENTRIES_OF_THE_LEDGER
from hansa.doors.console.rendering import both_forms, json_of_page, page_or_json, page_with_json, wants_json
from hansa.foundation.events import NOT_EMITTED_YET, event_types
from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.errors import NotFound
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import UNIT, format_amount
from hansa.rooms import catalogue, journal

PAGE_SIZE = 50
BIGINT_MAX = 2**63 - 1
PUBLIC_TYPES = sorted({kind.__name__ for kind in event_types() if not kind.is_private} - NOT_EMITTED_YET)

direct_router = APIRouter(
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

EventType = Annotated[str, Query(alias="type", pattern=r"^([A-Z][A-Za-z0-9]{1,79})?$")]
Did = Annotated[str, Query(max_length=512)]
Cursor = Annotated[str, Query(max_length=64)]
Ledger = Annotated[journal.LedgerReadings, Depends(journal.LEDGER_READINGS.given)]
Feed = Annotated[journal.LiveFeed, Depends(journal.LIVE_FEED.given)]


class EventUnknown(NotFound):
    """The log has no event with this number that the public may read."""

    code = "EVENT_UNKNOWN"
    sentence = "The log has no public event with this number."


class TransactionUnknown(NotFound):
    """The ledger has no transaction with this id."""

    code = "TRANSACTION_UNKNOWN"
    sentence = "This registry has no transaction with this id."


class TransactionOut(LazyModel):
    """The public events of one transaction of the ledger, in the order of the log."""

    transaction_id: str
    tx_type: str
    currency: str
    events: list[journal.EventRecord]


class EventStream(StreamingResponse):
    """A stream whose source is closed with the connection, not when it is collected."""

    async def stream_response(self, send: Send) -> None:
        """Send until the source or the connection ends."""
        async with aclosing(self.body_iterator):  # type: ignore[type-var]
            await super().stream_response(send)


@both_forms(direct_router, "/events")
async def show_events(
    _: Public,
    request: Request,
    db: Db,
    settings: Config,
    ledger: Ledger,
    *,
    event_type: EventType = "",
    did: Did = "",
    before: Cursor = "",
    with_entries: Annotated[bool, Query(alias="entries")] = False,
) -> Response:
    """The event log, newest first, by type and by agent; a page leaves out what repeats others as entries of the ledger."""
    # Programs that read the list get every event of it.
    is_folded = not (event_type or with_entries or wants_json(request))
    query = journal.PublicFilter(
        settings.ledger_id,
        PAGE_SIZE,
        event_type or None,
        await _did_of(db, did.strip()) or None,
        before or None,
        ENTRIES_OF_THE_LEDGER if is_folded else (),
    )
    read = db.query if query.did is None else db.read
    found = await read(lambda tx: journal.list_public_events(tx, query, ledger))
    if query.cursor and query.did is None:
        await db.query(lambda tx: journal.require_stored(tx, query.cursor))
    if wants_json(request):
        return json_of_page(EventsOut.of(found))
    filters = {"type": query.event_type, "did": query.did, "entries": "true" if with_entries else None}
    older = found.older and events_address(**filters, before=found.older)
    answer = page_with_json(
        request,
        "events.html",
        lines=lines_of(found.events),
        sentences=sentences_for_script(query.left_out),
        everything=events_address(did=query.did, entries="true") if is_folded else None,
        query=query,
        types=PUBLIC_TYPES,
        older=older,
        newest=events_address(**filters) if query.cursor else None,
        stream=events_address(**filters, after=found.live_from).replace("/events", "/events/stream", 1),
    )
    return await answer.completed(request)


@router.get("/events/stream")
async def stream_events(
    _: Public,
    db: Db,
    feed: Feed,
    *,
    event_type: EventType = "",
    did: Did = "",
    after: Cursor = "",
    last_event_id: Annotated[str, Header(max_length=64)] = "",
) -> Response:
    """Public events as they are committed, as server-sent events; `Last-Event-ID` resumes after the last one received."""
    query = journal.StreamFilter.of(event_type or None, did.strip() or None, last_event_id or after or None)
    return EventStream(
        journal.event_stream(feed, db, query),
        media_type="text/event-stream",
        # A proxy that collects an answer before it passes it on would hold back every event.
        headers={"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"},
    )


@both_forms(router, "/events/{sequence:int}")
async def show_event(
    _: Public, request: Request, db: Db, sequence: Annotated[int, Path(ge=1, le=BIGINT_MAX)]
) -> Response:
    """One event of the log. Raises: EventUnknown."""
    event = await db.read(lambda tx: journal.find_public_event(tx, sequence))
    if event is None:
        raise EventUnknown
    record = journal.EventRecord.model_validate(event)
    return page_or_json(request, "event.html", record, event=EventDetails.of(record))


@both_forms(router, "/transactions/tx-{tx_id:int}")
async def show_transaction(
    _: Public, request: Request, db: Db, settings: Config, tx_id: Annotated[int, Path(ge=1, le=BIGINT_MAX)]
) -> Response:
    """Show one transaction of the ledger: its postings, and the events recorded with it. Raises: TransactionUnknown."""
    frame = settings.ledger_id
    events = await db.read(lambda tx: journal.public_events_of_transaction(tx, frame, tx_id))
    if not events:
        raise TransactionUnknown
    found = _transaction(tx_id, events)
    movement, details = events[0].data, [EventDetails.of(event) for event in found.events]
    lines = lines_of(found.events)
    return page_or_json(
        request,
        "transaction.html",
        found,
        summary=summary_of(lines),
        amounts=[one for detail in details for one in detail.amounts],
        contract_id=next((one.contract_id for one in details if one.contract_id), None),
        entries=movement["entries"],
        sum_of_entries=format_amount(
            int(sum(Decimal(entry["delta"]) for entry in movement["entries"]) * UNIT)
        ),
        timestamp=events[0].timestamp,
        lines=lines,
    )


async def _did_of(db: Database, text: str) -> str:
    """The DID of the agent with this handle; any other text as it is."""
    if "/" not in text or text.startswith("did:"):
        return text
    try:
        card = await db.read(lambda tx: catalogue.card_called(tx, text))
    except catalogue.CardUnknown:
        return text
    return card.did or text


def _transaction(tx_id: int, events: Sequence[StoredEvent]) -> TransactionOut:
    movement = events[0].data
    return TransactionOut(
        transaction_id=f"tx-{tx_id}",
        tx_type=movement["tx_type"],
        currency=movement["currency"],
        events=[journal.EventRecord.model_validate(event) for event in events],
    )
