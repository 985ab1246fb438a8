"""The journal takes events and gives none of them up."""

import json

import asyncpg
import pytest

from hansa.foundation.events import Entry, LedgerBalanceChanged, TokensIssued
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal
from tests.registry import TestRegistry

CHANGES = [
    "UPDATE journal_event SET data = '{}'",
    "UPDATE journal_event SET data = '{}' WHERE false",
    "DELETE FROM journal_event",
    "DELETE FROM journal_event WHERE false",
    "TRUNCATE journal_event",
    "TRUNCATE journal_event RESTART IDENTITY CASCADE",
]


def mover(tx_id: int) -> LedgerBalanceChanged:
    """An event that may be recorded once."""
    entry = Entry(account="did:hansa:hansa.local:test", bucket="liquid", delta="0", balance_after="0")
    return LedgerBalanceChanged(
        frame="test", tx_id=tx_id, tx_type="transfer", currency="AVT", entries=[entry], fee="0"
    )


async def events_of(registry: TestRegistry) -> list[asyncpg.Record]:
    return await registry.database.read(lambda tx: tx.fetch("SELECT * FROM journal_event ORDER BY seq"))


@pytest.mark.parametrize("change", CHANGES)
async def test_no_event_is_ever_changed_or_deleted(registry: TestRegistry, change: str) -> None:
    before = await events_of(registry)
    assert before
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="append-only"):
        await registry.database.transaction(lambda tx: tx.execute(change))
    assert await events_of(registry) == before


async def test_an_event_is_recorded_with_what_caused_it_or_not_at_all(registry: TestRegistry) -> None:
    before = await events_of(registry)

    async def fail_after_append(tx: Tx) -> None:
        await journal.append(tx, mover(1))
        raise LookupError

    with pytest.raises(LookupError):
        await registry.database.transaction(fail_after_append)
    assert await events_of(registry) == before


async def test_an_event_with_a_key_is_recorded_once(registry: TestRegistry) -> None:
    await registry.database.transaction(lambda tx: journal.append(tx, mover(1_000_000)))
    with pytest.raises(asyncpg.UniqueViolationError):
        await registry.database.transaction(lambda tx: journal.append(tx, mover(1_000_000)))


async def test_events_of_one_append_stand_in_their_order(registry: TestRegistry) -> None:
    facts = [mover(1_000_000 + number) for number in range(50)]
    await registry.database.transaction(lambda tx: journal.append(tx, *facts))
    returned = (await events_of(registry))[-50:]
    assert [json.loads(event["data"])["tx_id"] for event in returned] == [fact.tx_id for fact in facts]


async def test_the_text_of_an_event_is_kept_byte_for_byte(registry: TestRegistry) -> None:
    issued = TokensIssued(
        tx_id=2**53 + 1, to="did:x", amount="0.00000001", currency="AVT", ref="\"ü\\👾\u2028'"
    )
    await registry.database.transaction(lambda tx: journal.append(tx, issued))
    assert json.loads((await events_of(registry))[-1]["data"]) == {
        "tx_id": 2**53 + 1,
        "to": "did:x",
        "amount": "0.00000001",
        "currency": "AVT",
        "ref": "\"ü\\👾\u2028'",
    }
