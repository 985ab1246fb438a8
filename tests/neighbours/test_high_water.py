"""The file beside the keys shows that a database was restored: a new epoch begins before anything is decided by time."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec.structs import replace

from hansa.foundation.values.money import Minor
from hansa.rooms import ledger
from hansa.rooms.transfers.crossing import HIGH_WATER, HighWater
from hansa.rooms.transfers.crossing.high_water import FILE
from hansa.rooms.transfers.crossing.messages import Body, Code, Message, MessageType
from hansa.rooms.transfers.crossing.row_columns import body_of
from tests.neighbours.crossing_scene import (
    LostCalls,
    across,
    crossing_of,
    deadlines_pass,
    open_rows,
    refusal,
    run,
    said,
    settle,
    written,
)
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm


@pytest.fixture
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("pair")) as pair:
        yield pair


def file_of(one: Neighbour) -> Path:
    return one.registry.settings.data_dir / "keys" / FILE


async def started_again(one: Neighbour) -> None:
    """Compare the high water as each start of a process does."""
    HIGH_WATER.put(one.registry.runtime, HighWater(one.registry.runtime))
    await HIGH_WATER.of(one.registry.runtime).compare()


async def own_epoch(one: Neighbour) -> int:
    epoch: int = await one.registry.database.query(
        lambda tx: tx.fetchval("SELECT own_epoch FROM transfers_pair")
    )
    return epoch


async def test_a_database_behind_the_file_begins_an_epoch_and_crossing_waits_for_the_peer(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await started_again(pair.a)
    for _ in range(2):
        assert (await across(alice, bob.did, "10")).status_code == 200
    await settle(pair.a, pair.b)
    await HIGH_WATER.of(pair.a.registry.runtime).compare()
    (place,) = json.loads(file_of(pair.a).read_text())["pairs"].values()
    assert file_of(pair.a).stat().st_mode & 0o777 == 0o600
    assert place == [1, 2]
    await run(pair.a, "DELETE FROM transfers_entry WHERE seq = 2")
    await run(
        pair.a,
        "UPDATE transfers_pair SET own_seq = 1, own_head = (SELECT head FROM transfers_entry WHERE seq = 1)",
    )
    await started_again(pair.a)
    begun = await own_epoch(pair.a)
    assert (begun > 1, await crossing_of(pair.a)) == (True, "awaiting_heads")
    assert await refusal(await across(alice, bob.did, "1")) == (409, "PEER_REWOUND")
    await settle(pair.a, pair.b)
    assert (await crossing_of(pair.a), await crossing_of(pair.b)) == ("open", "open")
    assert (await across(alice, bob.did, "10")).status_code == 200
    await settle(pair.a, pair.b)
    assert (await alice.balance(), await bob.balance()) == ("70", "129.85")
    # What was begun is written down: the next start begins no other.
    await HIGH_WATER.of(pair.a.registry.runtime).compare()
    await started_again(pair.a)
    assert await own_epoch(pair.a) == begun


@pytest.mark.parametrize("content", [None, '{"pairs": [1]}'])
async def test_without_a_readable_file_nothing_is_aborted_by_time_before_the_peer_stated_its_heads(
    pair: Neighbours, content: str | None
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    assert (await across(alice, bob.did, "10")).status_code == 200
    await settle(pair.a, pair.b)
    assert (await across(alice, bob.did, "10", backend="async")).status_code == 200
    if content is None:
        file_of(pair.a).unlink(missing_ok=True)
    else:
        file_of(pair.a).write_text(content)
    await started_again(pair.a)
    assert (await own_epoch(pair.a), await crossing_of(pair.a)) == (1, "awaiting_heads")
    await deadlines_pass(pair.a)
    await settle(pair.a, pair.b)
    assert await crossing_of(pair.a) == "open"
    await deadlines_pass(pair.a)
    await settle(pair.a, pair.b)
    assert (await own_epoch(pair.a), float(await alice.balance()) + float(await bob.balance())) in {
        (1, 200.0 - 0.05),
        (1, 200.0 - 0.1),
    }


async def test_a_file_that_cannot_be_written_stops_neither_the_start_nor_crossing(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    file_of(pair.a).mkdir()
    await started_again(pair.a)
    assert (await across(alice, bob.did, "10")).status_code == 200
    await settle(pair.a, pair.b)
    await HIGH_WATER.of(pair.a.registry.runtime).compare()
    assert (await alice.balance(), await bob.balance()) == ("90", "109.95")
    assert file_of(pair.a).is_dir()
    assert [draft.name for draft in file_of(pair.a).parent.glob("crossing-high-water.*")] == [FILE]


async def test_a_registry_that_never_crossed_has_nothing_to_compare(pair: Neighbours):
    await started_again(pair.a)
    await started_again(pair.a)
    assert (
        await pair.a.registry.database.query(lambda tx: tx.fetchval("SELECT count(*) FROM transfers_pair"))
        == 0
    )


async def test_a_commit_that_the_payer_cannot_pay_after_a_restore_is_charged_to_the_account_for_shortfalls(
    pair: Neighbours,
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    body = Body(str(uuid4()), alice.did, bob.did, 150 * 10**8, "AVT")
    # What a committed before its restore: b holds the signature and has credited.
    prepare = await written(pair.a, pair.b, Message(MessageType.PREPARE, body))
    (promise,) = await said(pair.a, pair.b, prepare)
    commit = Message(MessageType.COMMIT, body, net=promise.net, fee=promise.fee)
    await said(pair.a, pair.b, await written(pair.a, pair.b, commit))
    assert await bob.balance() == "249.25"
    await settle(pair.b, pair.a)
    state = "SELECT state FROM transfers_sent"
    database, book = pair.a.registry.database, ledger.Book.of(pair.a.registry.settings)
    assert await database.query(lambda tx: tx.fetchval(state)) == "in_doubt"
    assert await alice.balance() == "100"
    assert await refusal(await across(alice, bob.did, "1")) == (409, "PEER_REWOUND")
    await database.transaction(
        lambda tx: ledger.grant(
            tx, payee=book.shortfall, amount=Minor(150 * 10**8), ref="a shortfall", book=book
        )
    )
    await settle(pair.b, pair.a)
    assert await database.query(lambda tx: tx.fetchval(state)) == "committed"
    holding = await database.query(lambda tx: ledger.balance_of(tx, book.shortfall))
    assert (holding.liquid, await alice.balance()) == (0, "100")
    assert (await across(alice, bob.did, "1")).status_code == 200
    supply = await pair.a.registry.supply()
    assert (supply["status"], supply["delta"]) == ("OK", "0")


async def test_a_commit_by_the_own_signature_holds_although_the_restored_registry_aborted_it_since(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    calls = LostCalls(monkeypatch)
    calls.loses = lambda _: "request"
    assert await refusal(await across(alice, bob.did, "10")) == (503, "CROSSING_TIMEOUT")
    assert await alice.balance() == "100"
    calls.loses = lambda _: None
    body = await only_sent(pair.a)
    # What a committed before its restore: b holds the signature and has credited.
    prepare = await written(pair.a, pair.b, Message(MessageType.PREPARE, body))
    (promise,) = await said(pair.a, pair.b, prepare)
    commit = Message(MessageType.COMMIT, body, net=promise.net, fee=promise.fee)
    await said(pair.a, pair.b, await written(pair.a, pair.b, commit))
    await settle(pair.a, pair.b)
    assert (await alice.balance(), await bob.balance()) == ("90", "109.95")
    await require_equal_books(pair)


async def test_a_commit_at_a_later_place_than_the_abort_is_credited_by_the_receivers_own_promise(
    pair: Neighbours,
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    body = Body(str(uuid4()), alice.did, bob.did, 10 * 10**8, "AVT")
    prepare = await written(pair.a, pair.b, Message(MessageType.PREPARE, body))
    (promise,) = await said(pair.a, pair.b, prepare)
    commit = Message(MessageType.COMMIT, body, net=promise.net, fee=promise.fee, proof=promise)
    late = await written(pair.a, pair.b, commit)
    abort = Message(MessageType.ABORT, body, code=Code.TIMEOUT)
    await said(pair.a, pair.b, await written(pair.a, pair.b, abort))
    (receipt,) = await said(pair.a, pair.b, late)
    assert (receipt.code, await bob.balance()) == (Code.ABORTED, "100")
    assert (await across(alice, bob.did, "1")).status_code == 200
    # As a registry states it that was restored since, and committed what its lost state had aborted.
    (receipt,) = await said(pair.a, pair.b, await written(pair.a, pair.b, commit))
    assert receipt.code == Code.COMMITTED
    await settle(pair.a, pair.b)
    assert (await alice.balance(), await bob.balance()) == ("89", "110.945")
    await require_equal_books(pair)


async def test_a_commit_of_a_promise_that_was_forgotten_counts_beside_the_promise_that_was_made_since(
    pair: Neighbours,
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    body = Body(str(uuid4()), alice.did, bob.did, 10 * 10**8, "AVT")
    await said(pair.a, pair.b, await written(pair.a, pair.b, Message(MessageType.PREPARE, body)))
    forgotten = Message(MessageType.PREPARED, body, net=9 * 10**8, fee=10**8)
    proof = replace(forgotten, raw=await written(pair.b, pair.a, forgotten))
    commit = Message(MessageType.COMMIT, body, net=forgotten.net, fee=forgotten.fee)
    (refused,) = await said(pair.a, pair.b, await written(pair.a, pair.b, commit))
    assert (refused.code, await bob.balance()) == (Code.ID_CONFLICT, "100")
    for _ in range(2):
        text = await written(pair.a, pair.b, replace(commit, proof=proof))
        (receipt,) = await said(pair.a, pair.b, text)
        assert (receipt.code, await bob.balance()) == (Code.COMMITTED, "109")
    await settle(pair.b, pair.a)
    assert (await alice.balance(), await bob.balance()) == ("90", "109")
    await require_equal_books(pair)


async def only_sent(one: Neighbour) -> Body:
    row = await one.registry.database.query(lambda tx: tx.fetchrow("SELECT * FROM transfers_sent"))
    assert row is not None
    return body_of(row)


async def require_equal_books(pair: Neighbours) -> None:
    assert (await open_rows(pair.a), await open_rows(pair.b)) == (0, 0)
    for one in (pair.a, pair.b):
        supply = await one.registry.supply()
        assert (supply["status"], supply["delta"]) == ("OK", "0")
