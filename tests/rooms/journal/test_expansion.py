"""One row for the events of a transfer: every reader sees the same as of one row for each event."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, format_amount, parse_amount
from hansa.rooms import journal, ledger
from hansa.rooms.journal import counting, fold, reading_store, store
from hansa.rooms.journal.feed import store as feed_store
from hansa.rooms.journal.projection import store as projection_store
from hansa.rooms.journal.reactors import store as reactors_store
from hansa.rooms.ledger import orders
from hansa.rooms.ledger.history import balance_then
from tests.all_events import ALL_EVENTS
from tests.registry import TestAgent, TestRegistry

FIRST, LAST = (0, 0), (2**63 - 1, 2**63 - 1)
# A type, and how many of its events are left out.
PAGES = (
    (None, 0),
    (None, 3),
    ("LedgerBalanceChanged", 0),
    ("TokensTransferred", 3),
    ("TransactionFeeCollected", 0),
    ("AgentOnboarded", 0),
)
READER = "a reader"
_AT_PLACE = f"""
INSERT INTO journal_reactor (name, xid, seq) VALUES ('{READER}', $1, $2)
ON CONFLICT (name) DO UPDATE SET xid = excluded.xid, seq = excluded.seq
"""
DIRECTIONS = (("after", reading_store.events_after), ("before", reading_store.events_before))
REACTIONS = (["TokensTransferred"], ["TransactionFeeCollected", "AgentOnboarded"], ["LedgerBalanceChanged"])

# What the registry would hold if each event had been written as a row of its own.
_ONE_ROW_EACH = f"""
SET LOCAL session_replication_role = replica;
CREATE TEMP TABLE expanded ON COMMIT DROP AS
  SELECT e.* FROM {ALL_EVENTS} e WHERE e.seq >= (SELECT min(seq) FROM journal_event WHERE data IS NULL);
DELETE FROM journal_event WHERE seq >= (SELECT min(seq) FROM expanded);
INSERT INTO journal_event (seq, id, event_type, aggregate_id, aggregate_type, data, metadata, recorded_at, version,
  source_service, idempotency_key, xid) OVERRIDING SYSTEM VALUE
SELECT seq, id, event_type, aggregate_id, aggregate_type, data, metadata, recorded_at, version, source_service,
  idempotency_key, xid FROM expanded;
"""


async def live(registry: TestRegistry) -> tuple[TestAgent, TestAgent]:
    """Grants, transfers with and without a fee or a message, a batch, holds and their captures; other events between."""
    payer, payee = await registry.agent(), await registry.agent()
    book = ledger.Book.of(registry.settings)
    group = ledger.GroupCommit(registry.database, book)

    async def submit(*given: ledger.Order) -> list[Any]:
        made: list[Any] = []
        await group.submit(given, None, lambda receipts: str(made.extend(receipts)))
        return made

    def pay(amount: int, message: str | None = None) -> ledger.Order:
        return orders.transfer(ledger.TransferOrder(payer.did, payee.did, Minor(amount), message))

    await payer.transfer(payee, "1", message='a "message" \\ with ü')
    await submit(pay(1))
    await submit(pay(10**8), pay(50), pay(3 * 10**8, "third"))
    until = datetime.now(UTC) + timedelta(hours=1)
    for amount, taken, final in (("10", "4", False), ("7", "2", True), ("5", "5", False)):
        held_for = ledger.NewHold("test", amount, payee.did, until)
        [held] = await submit(orders.hold(payer.did, parse_amount(amount), held_for))
        await submit(orders.capture(held.hold_id, parse_amount(taken), final=final, message="taken"))
    await registry.agent()
    await payee.transfer(payer, "2")
    return payer, payee


async def test_every_reader_sees_the_events_of_a_row_as_events_of_their_own(registry: TestRegistry):
    parties = await live(registry)
    await registry.transactions_ended()
    as_one_row = await everything_read(registry, parties)
    rows = await fetch(registry, "SELECT count(*) AS all_rows, count(data) AS with_data FROM journal_event")
    assert rows[0]["all_rows"] > rows[0]["with_data"]
    await registry.database.transaction(lambda tx: tx.execute(_ONE_ROW_EACH))
    await registry.transactions_ended()
    assert await fetch(registry, "SELECT 1 FROM journal_event WHERE data IS NULL") == []
    one_each = await everything_read(registry, parties)
    assert as_one_row.keys() == one_each.keys()
    for reading, seen in as_one_row.items():
        assert seen == one_each[reading], reading


async def test_the_events_of_a_row_are_what_the_ledger_wrote(registry: TestRegistry):
    await live(registry)
    for row in await fetch(registry, "SELECT tx_id FROM journal_event WHERE data IS NULL"):
        expected = await events_by_the_tables(registry, row["tx_id"])
        found = await fetch(
            registry,
            f"SELECT event_type, aggregate_id, data::text FROM {ALL_EVENTS} e WHERE data ->> 'tx_id' = $1 ORDER BY seq",
            str(row["tx_id"]),
        )
        assert [
            (one["event_type"], one["aggregate_id"], json.loads(one["data"])) for one in found
        ] == expected


@pytest.mark.parametrize("kept_out", ["TokensTransferred", "TransactionFeeCollected"])
async def test_an_event_that_a_policy_keeps_out_has_neither_a_number_nor_a_place(
    registry: TestRegistry, kept_out: str
):
    payer, payee = await registry.agent(), await registry.agent()
    administrator = await registry.administrator("admin_platform")
    changed = await registry.http.put(
        f"/api/v1/admin/event-emission-policies/{kept_out}",
        json={"emit_from_teg": False},
        headers=administrator.headers,
    )
    assert changed.is_success, changed.text
    await payer.transfer(payee, "1")
    await payer.transfer(payee, "1")
    newest = await fetch(registry, f"SELECT event_type, seq FROM {ALL_EVENTS} e ORDER BY seq DESC LIMIT 4")
    beside = {"TokensTransferred", "TransactionFeeCollected"} - {kept_out}
    assert [row["event_type"] for row in newest] == [*beside, "LedgerBalanceChanged"] * 2
    assert newest[0]["seq"] - newest[-1]["seq"] == 3


async def fetch(registry: TestRegistry, query: str, *values: object) -> list[Any]:
    found: list[Any] = await registry.database.read(lambda tx: tx.fetch(query, *values))
    return found


async def events_by_the_tables(registry: TestRegistry, tx_id: int) -> list[tuple[str, str, dict[str, Any]]]:
    """The events that a transaction has according to the tables of the ledger."""
    book = ledger.Book.of(registry.settings)
    [made] = await fetch(
        registry,
        "SELECT t.*, payer.did AS payer, payee.did AS payee FROM ledger_transaction t"
        " JOIN ledger_account payer ON payer.id = t.payer_id JOIN ledger_account payee ON payee.id = t.payee_id"
        " WHERE t.id = $1",
        tx_id,
    )
    postings = await fetch(
        registry,
        "SELECT a.did, p.* FROM ledger_posting p JOIN ledger_account a ON a.id = p.account_id WHERE tx_id = $1"
        " ORDER BY a.did = $2, a.did = $3, p.delta",
        tx_id,
        book.fee_collector,
        made["payer"],
    )
    # The debit, the credit, what is freed, the fee.
    postings.sort(key=lambda p: (p["delta"] > 0, p["did"] == book.fee_collector, p["did"] == made["payer"]))
    text = made["message"] or made["ref"]
    both = {"tx_id": tx_id, "currency": book.currency, "fee": format_amount(made["fee"])}
    entries = [
        {
            "account": p["did"],
            "bucket": p["bucket"],
            "delta": plain(p["delta"]),
            "balance_after": plain(p["balance_after"]),
        }
        for p in postings
    ]
    moved = {**both, "frame": book.frame, "tx_type": made["tx_type"], "memo": text, "entries": entries}
    sent = {
        **both,
        "from": made["payer"],
        "to": made["payee"],
        "amount": format_amount(made["amount"]),
        "message": text,
    }
    found = [("LedgerBalanceChanged", made["payer"], moved), ("TokensTransferred", made["payer"], sent)]
    if made["fee"]:
        paid = {**both, "payer": made["payer"], "collector": book.fee_collector}
        found.append(("TransactionFeeCollected", made["payer"], paid))
    return found


def plain(minor: int) -> str:
    """Minor units as a decimal string, negative ones too."""
    return f"{(Decimal(minor) / 10**8).normalize():f}"


async def everything_read(registry: TestRegistry, parties: tuple[TestAgent, ...]) -> dict[str, Any]:
    """Return the answers of each reader of the journal, in small pages, from every place at which one may stand."""
    seen = await registry.database.transaction(pages_read, one_snapshot=True)
    horizon = await registry.database.read(fold.horizon)
    seen["horizon"] = horizon.as_of_seq
    seen["supply"] = await registry.database.read(lambda tx: fold.fold_supply(tx, fold.ORIGIN, horizon))
    batches = await listed(registry, lambda tx: fold.fold_moves(tx, fold.ORIGIN, horizon))
    seen["moves"] = sorted((move for batch in batches for move in batch), key=str)
    seen["projection"] = await listed(
        registry, lambda tx: projection_store.fold_balances(tx, projection_store.NOTHING_YET)
    )
    seen["transactions"] = sorted(
        row["tx_id"] for row in await fetch(registry, fold.RECORDED_TRANSACTIONS, 0, 0)
    )
    for sequence in range(1, seen["newest sequence"] + 1):
        for party in parties:
            then = await registry.database.read(
                lambda tx, did=party.did, at=sequence: balance_then(  # type: ignore[misc]
                    tx, did, str(at), registry.settings.trust_domain
                )
            )
            seen[f"{party.did} as of {sequence}"] = then
    for did in (*(party.did for party in parties), ledger.Book.of(registry.settings).fee_collector):
        for order in ("asc", "desc"):
            seen[f"{order} of {did}"] = await pages_of(registry, did, order)
    await registry.database.transaction(counting.count_settled)
    seen["settled"] = (await registry.database.read(counting.count_all)).by_type
    return seen


LEFT_OUT: tuple[tuple[str, ...], ...] = (
    (),
    ("LedgerBalanceChanged",),
    ("LedgerBalanceChanged", "TransactionFeeCollected"),
    ("LedgerBalanceChanged", "TokensTransferred", "TransactionFeeCollected"),
    ("AgentOnboarded", "TokensTransferred"),
)


async def test_the_pages_of_the_log_have_every_public_event_once_whichever_types_are_left_out(
    registry: TestRegistry,
):
    payer, _ = await live(registry)
    readings = journal.LEDGER_READINGS.of(registry.runtime)

    async def walk(tx: Tx, query: journal.PublicFilter) -> list[int]:
        seen: list[int] = []
        while True:
            page = await journal.list_public_events(tx, query, readings)
            assert len(page.events) <= query.limit
            seen += [event.sequence for event in page.events]
            if page.older is None:
                return seen
            assert page.older != query.cursor
            query = replace(query, cursor=page.older)

    async def compare(tx: Tx) -> None:
        for did in (None, payer.did):
            every = journal.PublicFilter(registry.settings.ledger_id, 1000, did=did)
            found = (await journal.list_public_events(tx, every, readings)).events
            for left_out, limit in product(LEFT_OUT, (1, 2, 3, 5, 50)):
                expected = [event.sequence for event in found if event.event_type not in left_out]
                assert expected == sorted(set(expected), reverse=True)
                assert await walk(tx, replace(every, limit=limit, left_out=left_out)) == expected

    await registry.database.read(compare)


async def pages_read(tx: Tx) -> dict[str, Any]:
    """The part of it that is read page by page: some thousand statements, for which one transaction does."""
    seen: dict[str, Any] = {}

    async def read(name: str, rows: Awaitable[Any]) -> Any:
        seen[name] = await rows
        return seen[name]

    events = await read("feed", feed_store.events_after(tx, feed_store.Place(0, 0), 1000))
    for place in [FIRST, *((event.xid, event.sequence) for event in events)]:
        await read(f"feed after {place}", feed_store.events_after(tx, feed_store.Place(*place), 2))
        for types in REACTIONS:
            await tx.execute(_AT_PLACE, *place)
            await read(f"reactor of {types} after {place}", reactors_store.next_events(tx, READER, types, 2))
        for (kind, offset), (direction, page) in product(PAGES, DIRECTIONS):
            at = LAST if (direction, place) == ("before", FIRST) else place
            await read(
                f"{kind} {direction} {place}, {offset} left out",
                page(tx, at, event_type=kind, limit=2, offset=offset),
            )
        await read(
            f"public before {place}",
            reading_store.public_events_before(tx, place, ["AgentOnboarded"], limit=2),
        )
    await tx.execute("DELETE FROM journal_reactor WHERE name = $1", READER)
    for limit in (1, 2, 3, 4, 1000):
        await read(f"newest {limit}", store.recent(tx, limit, without=["AgentOnboarded"]))
        await read(f"ring of {limit}", store.count_recent(tx, limit, without=[]))
    await read("newest sequence", store.newest_sequence(tx))
    counts = await counting.count_all(tx)
    seen["counts"] = (counts.by_type, counts.first, counts.last)
    return seen


async def listed(registry: TestRegistry, query: Callable[[Tx], Any]) -> list[Any]:
    async def read(tx: Tx) -> list[Any]:
        return [one async for one in query(tx)]

    found: list[Any] = await registry.database.transaction(read)
    return found


async def pages_of(registry: TestRegistry, did: str, order: str) -> list[Any]:
    """The events of an account, two at a time, and how many there are."""
    shown: list[Any] = []
    params: dict[str, Any] = {"limit": 2, "sort_order": order}
    while True:
        answer = await registry.get(f"/events/aggregate/{did}", params=params, headers=registry.internal)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        shown += page["items"]
        if page["next"] is None:
            assert len(shown) == page["pagination"]["total_items"]
            return [shown, page["pagination"]["total_items"]]
        params["next"] = page["next"]
