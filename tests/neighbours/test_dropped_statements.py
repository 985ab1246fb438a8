"""Signed statements of transfers across are dropped when nothing rests on them any more, and never before."""

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import asyncpg
import pytest

from hansa.rooms import ledger
from hansa.rooms.auditor.cross_registry import compare_with_peers
from hansa.rooms.transfers.crossing import sent_store
from hansa.rooms.transfers.crossing.dropping import drop_statements
from hansa.rooms.transfers.crossing.messages import Message, MessageType
from hansa.rooms.transfers.crossing.states import SentState
from tests.neighbours.crossing_scene import across, ask_for_heads, open_rows, run, said, settle, written
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm

DAYS = 400
SENT = "created_at = created_at - $1::interval, decided_at = decided_at - $1::interval, credited_at = credited_at - $1::interval"


@pytest.fixture
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("pair")) as pair:
        yield pair


async def days_pass(one: Neighbour, days: int) -> None:
    """Make the stored records of transfers so many days older."""
    await run(one, f"UPDATE transfers_sent SET {SENT}", timedelta(days))
    await run(one, "UPDATE transfers_entry SET recorded_at = recorded_at - $1::interval", timedelta(days))


async def row_of(one: Neighbour, transfer_id: str) -> asyncpg.Record:
    row = await one.registry.database.query(lambda tx: sent_store.sent_row(tx, UUID(transfer_id)))
    assert row is not None
    return row


async def crossed(pair: Neighbours) -> str:
    """A transfer that both sides hold the receipt of."""
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    answer = await across(alice, bob.did, "10")
    assert answer.status_code == 200, answer.text
    await settle(pair.a, pair.b)
    transfer_id: str = answer.json()["transfer_id"]
    return transfer_id


async def test_a_receipt_is_dropped_after_its_days_and_after_totals_that_include_it_agreed(pair: Neighbours):
    a = pair.a.registry
    transfer_id = await crossed(pair)
    kept = await row_of(pair.a, transfer_id)
    asked = await written(pair.b, pair.a, Message(MessageType.QUERY, sent_store.sent_of(kept).body))
    (answered,) = await said(pair.b, pair.a, asked)
    await days_pass(pair.a, DAYS + 1)
    await drop_statements(a.runtime)
    assert (await row_of(pair.a, transfer_id))["receipt"] == kept["receipt"], "the totals did not agree yet"
    await compare_with_peers(a.runtime)
    await drop_statements(a.runtime)
    dropped = await row_of(pair.a, transfer_id)
    assert (dropped["receipt"], dropped["prepared"], dropped["state"]) == ("", kept["prepared"], "committed")
    assert await open_rows(pair.a) == 0
    (again,) = await said(pair.b, pair.a, asked)
    assert (again.type, again.claim) == (MessageType.COMMIT, answered.claim), "the proof stays"


async def test_before_its_days_have_passed_nothing_is_dropped(pair: Neighbours):
    transfer_id = await crossed(pair)
    await compare_with_peers(pair.a.registry.runtime)
    await days_pass(pair.a, DAYS - 1)
    await drop_statements(pair.a.registry.runtime)
    assert (await row_of(pair.a, transfer_id))["receipt"]
    await days_pass(pair.a, 2)
    await drop_statements(pair.a.registry.runtime)
    assert (await row_of(pair.a, transfer_id))["receipt"] == ""


async def test_totals_that_disagree_or_are_older_than_the_receipt_drop_nothing(pair: Neighbours):
    runtime = pair.a.registry.runtime
    first = await crossed(pair)
    await run(pair.b, "UPDATE ledger_corridor SET committed_in = committed_in + 1")
    await compare_with_peers(runtime)
    await days_pass(pair.a, DAYS + 1)
    await drop_statements(runtime)
    assert (await row_of(pair.a, first))["receipt"]
    await run(pair.b, "UPDATE ledger_corridor SET committed_in = committed_in - 1")
    await compare_with_peers(runtime)
    later = await crossed(pair)
    await run(pair.a, "UPDATE auditor_pair SET agreed_at = agreed_at - interval '500 days'")
    await days_pass(pair.a, DAYS + 1)
    await drop_statements(runtime)
    assert (await row_of(pair.a, later))["receipt"]


async def test_what_is_not_closed_keeps_its_statements_and_those_of_everything_after_it(pair: Neighbours):
    runtime = pair.a.registry.runtime
    first, second = await crossed(pair), await crossed(pair)
    await compare_with_peers(runtime)
    await days_pass(pair.a, DAYS + 1)
    reopened = (
        "UPDATE transfers_sent SET receipt = NULL, credited_at = NULL, next_at = now() WHERE transfer_id = $1"
    )
    await run(pair.a, reopened, UUID(first))
    await drop_statements(runtime)
    assert (await row_of(pair.a, second))["receipt"]


async def test_an_aborted_transfer_loses_its_promise_and_its_receipt(pair: Neighbours):
    runtime = pair.a.registry.runtime
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await run(pair.b, "UPDATE ledger_account SET status = 'suspended' WHERE did = $1", bob.did)
    assert (await across(alice, bob.did, "10")).status_code == 403
    transfer_id = str(
        await pair.a.registry.database.query(lambda tx: tx.fetchval("SELECT transfer_id FROM transfers_sent"))
    )
    await settle(pair.a, pair.b)
    await run(pair.a, "UPDATE transfers_sent SET prepared = receipt")
    await compare_with_peers(runtime)
    await days_pass(pair.a, DAYS + 1)
    await drop_statements(runtime)
    row = await row_of(pair.a, transfer_id)
    assert (row["state"], row["prepared"], row["receipt"]) == ("aborted", None, "")


async def test_a_peer_that_was_restored_is_sent_everything_it_lost_and_its_new_receipts_are_kept(
    pair: Neighbours,
):
    runtime = pair.a.registry.runtime
    transfer_id = await crossed(pair)
    await compare_with_peers(runtime)
    await days_pass(pair.a, DAYS + 1)
    await drop_statements(runtime)
    (credited,) = await pair.b.registry.database.read(ledger.corridor_totals)
    # The peer begins an epoch, as after a restore: every decision is sent again.
    await run(pair.b, "UPDATE transfers_pair SET own_epoch = own_epoch + 1, own_seq = 0")
    await ask_for_heads(pair.b)
    await settle(pair.b, pair.a, rounds=6)
    row = await row_of(pair.a, transfer_id)
    assert row["receipt"], "the receipt of the new epoch"
    assert sent_store.sent_of(row).state is SentState.COMMITTED
    assert await pair.b.registry.database.read(ledger.corridor_totals) == [credited]
    await drop_statements(runtime)
    assert (await row_of(pair.a, transfer_id))["receipt"], "its receipt is new"
