"""Events as the pages list them: the public view, with links to the subjects of an event."""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup
from pydantic import Field

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import journal

from .event_sentences import ENTRIES_OF_THE_LEDGER, SENTENCES, Piece, sentence_of, title_of

_PARTY_NAMES = {
    "from": "From",
    "to": "To",
    "payer": "Payer",
    "payee": "Payee",
    "caller": "Caller",
    "collector": "Fee collector",
    "account": "Account",
    "contractor_did": "Contractor",
    "provider_did": "Provider",
    "complainant_did": "Complainant",
    "defendant_did": "Defendant",
}
_AMOUNTS = {"amount": "Amount", "fee": "Fee"}


class EventsOut(LazyModel):
    """Events, newest first."""

    events: list[journal.EventRecord]
    older: str | None = Field(
        description="Send it as `before` for the events before these; null at the beginning."
    )
    live_from: str = Field(
        description="Send it as `after` to /events/stream for what is committed from now on."
    )

    @classmethod
    def of(cls, page: journal.PublicPage) -> "EventsOut":
        """The page as JSON."""
        events = [journal.EventRecord.model_validate(event) for event in page.events]
        return cls(events=events, older=page.older, live_from=page.live_from)


class EventLine(msgspec.Struct, frozen=True):
    """One event of a list."""

    sequence: int
    event_type: str
    title: str
    subject: str
    sentence: list[Piece]
    timestamp: datetime

    @classmethod
    def of(cls, event: journal.EventRecord | StoredEvent) -> "EventLine":
        """The line of an event."""
        return cls(
            sequence=event.sequence,
            event_type=event.event_type,
            title=title_of(event.event_type),
            subject=event.aggregate_id,
            sentence=sentence_of(event.event_type, event.aggregate_id, event.data),
            timestamp=event.timestamp,
        )


class Party(msgspec.Struct, frozen=True):
    """An agent or account that an event names, and its role there."""

    name: str
    did: str
    address: str


class EventDetails(msgspec.Struct, frozen=True):
    """One event with its details; `data` is JSON text in ASCII."""

    line: EventLine
    parties: list[Party]
    amounts: list[tuple[str, str]]
    transaction: str | None
    contract_id: int | None
    data: str

    @classmethod
    def of(cls, event: journal.EventRecord) -> "EventDetails":
        """The details of an event as the public sees it."""
        data = event.data
        contract = data.get("contract_id")
        return cls(
            line=EventLine.of(event),
            parties=[
                Party(name, data[member], events_address(did=data[member]))
                for member, name in _PARTY_NAMES.items()
                if isinstance(data.get(member), str)
            ],
            amounts=[
                (name, f"{data[member]} {data.get('currency', '')}".strip())
                for member, name in _AMOUNTS.items()
                if isinstance(data.get(member), str)
            ],
            transaction=_transaction(data),
            contract_id=contract if isinstance(contract, int) else None,
            data=json.dumps(data, indent=2),
        )


def events_address(**filters: str | None) -> str:
    """The address of the list with these filters."""
    given = urlencode({name: value for name, value in filters.items() if value}, quote_via=quote)
    return f"/events?{given}" if given else "/events"


def lines_of(events: Sequence[journal.EventRecord | StoredEvent]) -> list[EventLine]:
    """The lines of a list."""
    return [EventLine.of(event) for event in events]


@cache
def sentences_for_script(left_out: tuple[str, ...]) -> Markup:
    """Return what `static/event_rows.js` writes new rows with, as JSON for an attribute of a page."""
    return htmlsafe_json_dumps({"sentences": SENTENCES, "left_out": left_out})


def summary_of(lines: Sequence[EventLine]) -> EventLine | None:
    """The line that describes a transaction best: the first that is no mere entry of the ledger, else the first."""
    return next(
        (line for line in lines if line.event_type not in ENTRIES_OF_THE_LEDGER), next(iter(lines), None)
    )


def _transaction(data: dict[str, Any]) -> str | None:
    tx_id = data.get("tx_id")
    return f"tx-{tx_id}" if isinstance(tx_id, int) and tx_id > 0 else None
