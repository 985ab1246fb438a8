"""Registry card as it is served: the newest signed version, with the members that change by themselves and are not signed."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms import journal, ledger

from . import card_store
from .card_publication import market_freshness
from .card_store import CardVersion
from .errors import CardUnsigned, CardVersionUnknown, IconMissing


class LastAudit(msgspec.Struct, frozen=True):
    """Findings of the newest audit cycle; `delta` is a decimal string."""

    status: str
    delta: str
    checked_at: datetime


ReadLastAudit: TypeAlias = Callable[[Tx], Awaitable[LastAudit | None]]
LAST_AUDIT: Slot[ReadLastAudit] = Slot("federation: the newest audit, for the registry card")


class ServedCard(msgspec.Struct, frozen=True):
    """The card and its entity tag."""

    etag: str
    card: dict[str, Any]


async def read_card(tx: Tx, currency: str, last_audit: ReadLastAudit) -> ServedCard:
    """The card now. Raises: CardUnsigned."""
    version, now, peer_count, audit, transactions, events = await read_together(
        tx,
        card_store.newest_version,
        clock.now,
        card_store.peer_count,
        last_audit,
        ledger.newest_transaction,
        journal.newest_sequence,
    )
    if version is None:
        raise CardUnsigned
    card = json.loads(version.document)
    signature = card.pop("signature")
    card["federation"]["peer_count"] = peer_count
    stock_card = card["fees"]["exchange"].get("stock_card", {})
    if made_at := stock_card.get("updated_at"):
        stock_card["market_freshness"] = market_freshness(datetime.fromisoformat(made_at), now)
    live = {
        "economic": {"currency": currency, "last_audit": _economic(audit)},
        "stats": {"transactions": transactions, "events": events},
    }
    return ServedCard(version.card_etag, {**card, **live, "signature": signature})


async def read_operator(tx: Tx) -> dict[str, Any]:
    """The operator block of the newest card; empty where none is stated or no card was signed yet."""
    version = await card_store.newest_version(tx)
    return {} if version is None else json.loads(version.document).get("operator") or {}


async def read_card_version(tx: Tx, number: int) -> CardVersion:
    """A signed version as the log proves it. Raises: CardVersionUnknown."""
    version = await card_store.one_version(tx, number)
    if version is None:
        raise CardVersionUnknown
    return version


async def read_icon(tx: Tx) -> tuple[bytes, str]:
    """The icon and its media type. Raises: IconMissing."""
    icon = await card_store.icon(tx)
    if icon is None:
        raise IconMissing
    return icon


def has_card(if_none_match: str | None, etag: str) -> bool:
    """Return whether the reader has the card already; the tag counts quoted, weak or bare."""
    named = [tag.strip().removeprefix("W/").strip('"') for tag in (if_none_match or "").split(",")]
    return etag in named or named == ["*"]


def _economic(audit: LastAudit | None) -> dict[str, str] | None:
    if audit is None:
        return None
    checked_at = audit.checked_at.astimezone(UTC).replace(microsecond=0)
    return {"status": audit.status, "delta": audit.delta, "checked_at": checked_at.isoformat()}
