"""Read a saga of the bridge, for one of its parties, and the wrapped units of an agent.

Wrapped units for the rooms above: their supply, and the balances and sagas that bind an agent.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger

from . import store, wrapped_store
from .errors import AgentHoldsWrapped, SagaUnknown
from .messages import Direction
from .wrapped_store import WrappedSupply


class SagaView(msgspec.Struct, frozen=True):
    """A saga as a party sees it; minor units. `source` and `destination` are ledger ids, `home` that of the units."""

    saga_id: UUID
    direction: Direction
    state: str
    reason: str | None
    sender_did: str
    receiver_did: str
    amount: Minor
    currency: str
    source: str
    destination: str
    history: list[dict[str, Any]]
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None

    @property
    def home(self) -> str:
        """The ledger id of the registry whose units they are."""
        return self.source if self.direction is Direction.WRAP else self.destination

    @property
    def wrapped_currency(self) -> str:
        """The name of the wrapped units: `<CODE>.<home trust domain>`."""
        return f"{self.currency}.{self.home.partition('/')[0]}"


async def find_saga(tx: Tx, saga_id: UUID, did: str, book: ledger.Book) -> SagaView:
    """The saga that this agent began, or of which it is the receiver. Raises: SagaUnknown."""
    row = await store.saga_row(tx, saga_id)
    if row is not None and row["sender_did"] == did:
        return view_of(row, book)
    for decided in await store.decision_rows(tx, saga_id):
        if decided["receiver_did"] == did:
            return _view_of_decision(decided, book)
    raise SagaUnknown


async def parties_of(tx: Tx, saga_id: UUID) -> list[str]:
    """Agents of this registry that read sagas with this id: the one that began it here, the receivers of those of peers."""
    row = await store.saga_row(tx, saga_id)
    begun = [] if row is None else [row["sender_did"]]
    return begun + [decided["receiver_did"] for decided in await store.decision_rows(tx, saga_id)]


async def sagas_of(tx: Tx, did: str, book: ledger.Book, most: int) -> list[SagaView]:
    """The newest sagas that an agent began."""
    return [view_of(row, book) for row in await store.rows_of_sender(tx, did, most)]


def view_of(row: asyncpg.Record, book: ledger.Book) -> SagaView:
    """A saga as its sender sees it."""
    return SagaView(
        state=row["state"],
        reason=row["code"],
        source=book.frame,
        destination=row["frame"],
        history=store.history_of(row),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        expires_at=row["deadline"],
        **_shared(row),
    )


def _view_of_decision(row: asyncpg.Record, book: ledger.Book) -> SagaView:
    state = "COMPLETED" if row["is_done"] else "FAILED"
    return SagaView(
        state=state,
        reason=row["code"],
        source=row["frame"],
        destination=book.frame,
        history=[{"state": state, "at": row["decided_at"]}],
        created_at=row["decided_at"],
        updated_at=row["decided_at"],
        expires_at=None,
        **_shared(row),
    )


def _shared(row: asyncpg.Record) -> dict[str, Any]:
    return {
        "saga_id": row["saga_id"],
        "direction": Direction(row["direction"]),
        "sender_did": row["sender_did"],
        "receiver_did": row["receiver_did"],
        "amount": Minor(row["amount"]),
        "currency": row["currency"],
    }


async def wrapped_supply(tx: Tx) -> list[WrappedSupply]:
    """Return the supply of each unit of another registry that is held here; `tx` must be one snapshot."""
    return await wrapped_store.supply(tx)


async def require_no_wrapped(tx: Tx, did: str) -> None:
    """The agent, which the caller has locked, holds no wrapped units. Raises: AgentHoldsWrapped."""
    if await wrapped_store.is_bound(tx, did):
        raise AgentHoldsWrapped
