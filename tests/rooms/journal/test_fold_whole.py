"""A fold from the first event on gives the same as a fold since a place, whatever the events are."""

import json
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.journal import fold
from tests.properties.scale import by_tier, printed_seed
from tests.registry import TestRegistry

ROUNDS = by_tier(12, 200, 1000)
EVENTS = 40
# A bound below the first event: the same events, by the queries of a fold since a place.
SINCE_BEFORE_ALL = fold.FoldedFrom(0, -1)
BUCKETS = ("liquid", "staked", "escrow", "transit")
_NUMBERS = f"""
SELECT count(*), sum(hashint8extended(tx_id, $3)) FROM ({fold.RECORDED_TRANSACTIONS}) r WHERE tx_id > 0
"""
_EMPTY = "SET LOCAL session_replication_role = replica; DELETE FROM journal_event"
_IN_JSON = """
INSERT INTO journal_event (event_type, aggregate_id, aggregate_type, data, source_service, xid)
VALUES ($1, $2, 'ledger_transaction', $3, 'ledger', $4)
"""
_PAID = """
INSERT INTO journal_event (event_type, aggregate_id, aggregate_type, source_service, xid, terms, admitted, tx_id, tx_type, payee,
  amount, fee, freed, payer_after, payee_after, freed_after, collector_after)
VALUES ('LedgerBalanceChanged', $1, 'ledger_transaction', 'ledger', $2, $3, 7, $4, $5, $6, $7, $8, $9, 0, 0, $10, $11)
"""
_TERMS = """
INSERT INTO journal_transfer_terms (frame, currency, collector) VALUES ('hansa.local', 'AVT', 'collector-' || $1) RETURNING id
"""


async def test_a_fold_from_the_first_event_on_is_the_fold_since_a_place_before_it(
    registry: TestRegistry,
) -> None:
    draw = random.Random(printed_seed())
    for _ in range(ROUNDS):
        await registry.database.transaction(lambda tx: both_agree(tx, draw), one_snapshot=True)


async def both_agree(tx: Tx, draw: random.Random) -> None:
    undone = tx.transaction()
    await undone.start()
    await tx.execute(_EMPTY)
    await add_events(tx, draw)
    seen = fold.Horizon(
        began_at=datetime.now(UTC), oldest_open=draw.randrange(50, 90), not_begun=90, as_of_seq=0, cluster=1
    )
    moves = await listed(fold.fold_moves(tx, SINCE_BEFORE_ALL, seen))
    whole = await fold.fold_whole(tx, seen)
    assert whole.supply == await fold.fold_supply(tx, SINCE_BEFORE_ALL, seen)
    assert await listed(whole.moves) == moves
    numbers = await tx.fetchrow(_NUMBERS, 0, 0, whole.numbers.seed)
    assert numbers is not None
    assert (whole.numbers.count, whole.numbers.total) == tuple(numbers)
    await undone.rollback()


async def listed(moves: AsyncIterator[list[fold.Move]]) -> list[fold.Move]:
    return sorted([one async for some in moves for one in some], key=str)


async def add_events(tx: Tx, draw: random.Random) -> None:
    """Ledger events of both forms, settled, open and of another cluster; sound ones and others; other events between."""
    terms = [await tx.fetchval(_TERMS, str(draw.getrandbits(60))) for _ in range(2)]
    for _ in range(draw.randrange(1, EVENTS)):
        account, xid = f"account-{draw.randrange(5)}", draw.randrange(1, 100)
        if draw.random() < 0.5:
            kind = draw.choice(["LedgerBalanceChanged"] * 4 + ["AgentOnboarded"])
            await tx.execute(_IN_JSON, kind, account, json.dumps(in_json(draw)), xid)
            continue
        fee, freed = draw.choice([0, 0, 7, 10**12]), draw.choice([None, 0, 5])
        await tx.execute(
            _PAID,
            account,
            xid,
            draw.choice(terms),
            # One row for each transaction; numbers below 1 are left out of the count.
            draw.randrange(-(2**40), 2**40),
            draw.choice(["transfer", "capture"]),
            f"account-{draw.randrange(5)}",
            draw.randrange(2**40),
            fee,
            freed,
            None if freed is None else 0,
            0 if fee else None,
        )


def in_json(draw: random.Random) -> dict[str, Any]:
    """A ledger event in JSON."""
    entries = [
        {
            "account": f"account-{draw.randrange(5)}",
            "bucket": draw.choice(BUCKETS),
            "delta": str(Decimal(draw.randrange(-(10**14), 10**14)) / 10**8),
        }
        for _ in range(draw.randrange(4))
    ]
    if draw.random() < 0.5:
        entries += [{**one, "delta": str(-Decimal(one["delta"]))} for one in entries]
    kinds = ["issue", "destroy", "transfer", "stake", None]
    return {
        "tx_id": draw.choice([None, 0, draw.randrange(1, 2**40)]),
        "tx_type": draw.choice(kinds),
        "fee": draw.choice(["0", "0.00000001"]),
        "entries": entries,
    }
