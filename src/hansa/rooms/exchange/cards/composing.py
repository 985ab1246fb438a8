"""The stock card: closes of the last whole day (UTC), and the listings, as one document whose digest the registry card signs.

- It is made once a day, and when a listing is approved, halted, resumed or delisted; nothing else changes its digest (decision 0286).
- The stock card and the registry card that signs it are one commit.
- A day is closed under the locks of the listings: every trade that was recorded on it is counted.
"""

from datetime import date, datetime
from typing import Any

from hansa.foundation.plumbing.jobs import Job, Retries, TransactionalKind, sweep_with_runtime
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.canonical import canonical_json, digest
from hansa.foundation.values.money import format_amount
from hansa.rooms import federation, ledger
from hansa.rooms.exchange.trading import count_all

from . import store
from .errors import StockCardMissing
from .records import Close, Listed, StockCard
from .schemas import StockCardOut

STOCK_CARD = "exchange: stock card"
STOCK_CARD_KEY = "newest"
EVERY_SECONDS = 60
VERSION = "1.0"
_TIMES = ("as_of", "market_epoch")
"""Members that alone make no other card."""


async def make_stock_card(tx: Tx, runtime: Runtime) -> None:
    """Make the stock card of the last whole day, unless it would say what the present one says. Nothing while the exchange is off."""
    settings = runtime.settings
    if not settings.exchange_enabled:
        return
    before = await store.lock_newest(tx)
    day = await store.last_whole_day(tx)
    if before is None or before.day != day:
        for ref in await store.lock_launched(tx):
            await count_all(tx, ref)
    now = await clock.now(tx)
    document = _document(settings, day, now, await ledger.newest_transaction(tx))
    listings = await store.listed(tx, day)
    document["listings"] = [_entry(one) for one in listings]
    document["closes"] = [_close(one) for one in await store.closes(tx, day)]
    if before is not None and _says_the_same(before, document):
        return
    made = StockCard(day, canonical_json(document).decode(), digest(document), now)
    await store.write(tx, made)
    mark = federation.StockCardMark(made.digest_text, len(listings), now, document["market_epoch"])
    await federation.publish_card_with_stock_card(tx, settings, runtime.seal, mark)


async def read_stock_card(tx: Tx) -> dict[str, Any]:
    """The stock card as it is served: with its digest, and its freshness now. Raises: StockCardMissing."""
    card = await store.newest(tx)
    if card is None:
        raise StockCardMissing
    return await _served(tx, card)


async def newest_stock_card(tx: Tx) -> StockCardOut | None:
    """The stock card for a page, or None before the first."""
    card = await store.newest(tx)
    return None if card is None else StockCardOut.model_validate(await _served(tx, card))


async def _served(tx: Tx, card: StockCard) -> dict[str, Any]:
    freshness = federation.market_freshness(card.made_at, await clock.now(tx))
    return {**card.content, "digest": card.digest_text, "market_freshness": freshness}


def _document(settings: Settings, day: date, now: datetime, newest_transaction: int) -> dict[str, Any]:
    return {
        "stock_card_version": VERSION,
        "registry": {
            "ledger_id": settings.ledger_id,
            "registry_name": settings.registry_name,
            "spiffe_id": federation.registry_id_of(settings.trust_domain, settings.registry_name),
        },
        "currency": settings.settlement_currency,
        "date": day.isoformat(),
        "market_epoch": f"{newest_transaction}.{day.isoformat()}",
        "as_of": now.isoformat(timespec="seconds"),
    }


def _entry(listed: Listed) -> dict[str, Any]:
    return {
        "ref": listed.ref,
        "treasury_did": listed.treasury_did,
        "status": listed.status,
        "total": listed.total,
        "sold": listed.sold,
        "price": format_amount(listed.price),
        "revenue_bps": listed.revenue_bps,
        "term_months": listed.term_months,
        "fee_bps": listed.fee_bps,
        "ends_at": None if listed.ends_at is None else listed.ends_at.isoformat(timespec="seconds"),
        "terms_sha256": listed.digest.hex(),
    }


def _close(close: Close) -> dict[str, Any]:
    return {
        "ref": close.ref,
        "close": format_amount(close.close),
        "volume": close.volume,
        "notional": format_amount(close.notional),
        "trades": close.trades,
    }


def _says_the_same(before: StockCard, document: dict[str, Any]) -> bool:
    times = {name: before.content[name] for name in _TIMES}
    return bool(before.content == {**document, **times})


async def _make(tx: Tx, runtime: Runtime, _: Job) -> None:
    await make_stock_card(tx, runtime)


async def _close_day(tx: Tx, runtime: Runtime) -> None:
    """A day that was closed already costs one statement."""
    if not await store.is_closed(tx):
        await make_stock_card(tx, runtime)


MAKE_STOCK_CARD = TransactionalKind(STOCK_CARD, _make, retries=Retries(None, 1.0, 60.0))
CLOSE_DAYS = sweep_with_runtime("exchange: close days", EVERY_SECONDS, _close_day)
