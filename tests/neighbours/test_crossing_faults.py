"""Transfers across registries when calls are lost, processes end, and the other registry misbehaves."""

import asyncio
from uuid import uuid4

import pytest
from msgspec.structs import replace

from hansa.rooms.transfers.crossing import is_settled_with
from hansa.rooms.transfers.crossing.messages import Body, Code, Message, MessageType
from tests.neighbours.crossing_scene import (
    LostCalls,
    across,
    ask_for_heads,
    crossing_of,
    deadlines_pass,
    open_rows,
    refusal,
    run,
    said,
    settle,
    written,
)
from tests.neighbours.two_registries import Neighbours
from tests.registry import TestAgent

AMOUNT = 10 * 10**8
NET, FEE = 995_000_000, 5_000_000


async def parties(pair: Neighbours) -> tuple[TestAgent, TestAgent]:
    return await pair.a.registry.agent(), await pair.b.registry.agent()


async def balances(payer: TestAgent, payee: TestAgent) -> tuple[str, str]:
    return await payer.balance(), await payee.balance()


async def require_quiet(pair: Neighbours) -> None:
    assert (await open_rows(pair.a), await open_rows(pair.b)) == (0, 0)
    for one in (pair.a, pair.b):
        supply = await one.registry.supply()
        assert (supply["status"], supply["delta"]) == ("OK", "0")


def body_of(payer: TestAgent, payee: TestAgent, amount: int = AMOUNT) -> Body:
    return Body(str(uuid4()), payer.did, payee.did, amount, "AVT")


@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_a_prepare_without_an_answer_is_503_and_nothing_moved(
    pair: Neighbours, calls: LostCalls, lost: str
):
    alice, bob = await parties(pair)
    calls.loses = lambda number: lost if number == 1 else None
    answer = await across(alice, bob.did, "10")
    assert await refusal(answer) == (503, "CROSSING_TIMEOUT")
    assert answer.json()["error"]["context"]["state"] == "aborted"
    assert int(answer.headers["Retry-After"]) > 0
    await settle(pair.a, pair.b)
    assert await balances(alice, bob) == ("100", "100")
    await require_quiet(pair)


@pytest.mark.parametrize("lost", ["request", "answer"])
@pytest.mark.parametrize("number", [1, 2])
async def test_a_committed_transfer_is_credited_once_whatever_call_is_lost(
    pair: Neighbours, calls: LostCalls, lost: str, number: int
):
    alice, bob = await parties(pair)
    # The prepare is the first; what follows it is sent as soon as it is answered.
    calls.loses = lambda made: lost if made == 1 + number else None
    assert (await across(alice, bob.did, "10")).status_code == 200
    await settle(pair.a, pair.b)
    assert await balances(alice, bob) == ("90", "109.95")
    await require_quiet(pair)


async def test_nothing_is_under_way_with_a_peer_once_both_hold_the_receipts(pair: Neighbours):
    alice, bob = await parties(pair)
    await settle(pair.a, pair.b)
    assert (await across(alice, bob.did, "10")).status_code == 200
    for one, other in ((pair.a, pair.b), (pair.b, pair.a)):
        peer = await one.peer(other)
        assert not await one.registry.database.query(lambda tx, peer=peer: is_settled_with(tx, peer))
    await settle(pair.a, pair.b)
    for one, other in ((pair.a, pair.b), (pair.b, pair.a)):
        peer = await one.peer(other)
        assert await one.registry.database.query(lambda tx, peer=peer: is_settled_with(tx, peer))


async def test_a_process_that_ends_while_its_caller_waits_leaves_nothing_reserved(
    pair: Neighbours, calls: LostCalls
):
    alice, bob = await parties(pair)
    reached = asyncio.Event()

    def ends(_: int) -> str | None:
        reached.set()
        raise asyncio.CancelledError

    calls.loses = ends
    with pytest.raises(asyncio.CancelledError):
        await across(alice, bob.did, "10")
    assert reached.is_set()
    assert await alice.balance() == "90"
    calls.loses = lambda _: None
    await deadlines_pass(pair.a)
    await settle(pair.a, pair.b)
    assert await balances(alice, bob) == ("100", "100")
    await require_quiet(pair)


async def test_an_abort_of_an_unknown_transfer_leaves_a_tombstone_and_a_late_prepare_is_refused(
    pair: Neighbours,
):
    alice, bob = await parties(pair)
    body = body_of(alice, bob)
    prepare = await written(pair.a, pair.b, Message(MessageType.PREPARE, body))
    abort = await written(pair.a, pair.b, Message(MessageType.ABORT, body, code="TIMEOUT"))
    (receipt,) = await said(pair.a, pair.b, abort)
    assert (receipt.type, receipt.code) == (MessageType.RECEIPT, Code.ABORTED)
    (late,) = await said(pair.a, pair.b, prepare)
    assert (late.type, late.code) == (MessageType.RECEIPT, Code.ABORTED)
    assert await bob.balance() == "100"
    await close(pair, body)


async def close(pair: Neighbours, body: Body) -> None:
    """The sender confirms the receipt of a transfer that only the test made."""
    await said(
        pair.a, pair.b, await written(pair.a, pair.b, Message(MessageType.RECEIPT, body, code=Code.CLOSED))
    )
    await require_quiet(pair)


async def test_messages_are_answered_from_what_is_stored_and_credit_once(pair: Neighbours):
    alice, bob = await parties(pair)
    body = body_of(alice, bob)
    prepare = await written(pair.a, pair.b, Message(MessageType.PREPARE, body))
    first, second = await said(pair.a, pair.b, prepare, prepare)
    assert (first.type, first.net, first.fee) == (MessageType.PREPARED, NET, FEE)
    assert (second.type, second.net, second.fee) == (MessageType.PREPARED, NET, FEE)
    assert await bob.balance() == "100"
    commit = Message(MessageType.COMMIT, body, net=NET, fee=FEE, proof=first)
    text = await written(pair.a, pair.b, commit)
    receipts = await said(pair.a, pair.b, text, text)
    assert [(one.type, one.code) for one in receipts] == [(MessageType.RECEIPT, Code.COMMITTED)] * 2
    assert await bob.balance() == "109.95"
    abort = await written(pair.a, pair.b, Message(MessageType.ABORT, body))
    (kept,) = await said(pair.a, pair.b, abort)
    assert kept.code == Code.COMMITTED
    assert await bob.balance() == "109.95"
    await said(
        pair.a, pair.b, await written(pair.a, pair.b, Message(MessageType.RECEIPT, body, code=Code.CLOSED))
    )


async def test_the_same_id_with_another_body_is_id_conflict(pair: Neighbours):
    alice, bob = await parties(pair)
    body = body_of(alice, bob)
    (prepared,) = await said(
        pair.a, pair.b, await written(pair.a, pair.b, Message(MessageType.PREPARE, body))
    )
    assert prepared.type is MessageType.PREPARED
    larger = replace(body, amount=2 * AMOUNT)
    for message in (
        Message(MessageType.PREPARE, larger),
        Message(MessageType.COMMIT, larger, net=NET, fee=FEE),
        Message(MessageType.COMMIT, body, net=AMOUNT, fee=0),
        Message(MessageType.ABORT, larger),
    ):
        (refused,) = await said(pair.a, pair.b, await written(pair.a, pair.b, message))
        assert (refused.type, refused.code) == (MessageType.REFUSED, Code.ID_CONFLICT), message
    assert await bob.balance() == "100"
    await said(pair.a, pair.b, await written(pair.a, pair.b, Message(MessageType.ABORT, body)))
    await close(pair, body)


async def test_a_commit_counts_only_with_the_receivers_own_promise(pair: Neighbours):
    alice, bob = await parties(pair)
    body = body_of(alice, bob)
    bare = Message(MessageType.COMMIT, body, net=NET, fee=FEE)
    (refused,) = await said(pair.a, pair.b, await written(pair.a, pair.b, bare))
    assert (refused.type, refused.code) == (MessageType.REFUSED, Code.NOT_PREPARED)
    own = Message(MessageType.PREPARED, body, net=NET, fee=FEE)
    forged = replace(own, raw=await written(pair.a, pair.b, own))
    before = await pair.b.refused(pair.a)
    assert await said(pair.a, pair.b, await written(pair.a, pair.b, replace(bare, proof=forged))) == []
    assert (await pair.b.refused(pair.a))["message_malformed"] == before.get("message_malformed", 0) + 1
    assert await bob.balance() == "100"


async def test_a_registry_that_lost_what_it_promised_credits_by_its_own_signature(pair: Neighbours):
    alice, bob = await parties(pair)
    body = body_of(alice, bob)
    promise = Message(MessageType.PREPARED, body, net=NET, fee=FEE)
    own = replace(promise, raw=await written(pair.b, pair.a, promise))
    commit = Message(MessageType.COMMIT, body, net=NET, fee=FEE, proof=own)
    for _ in range(2):
        (receipt,) = await said(pair.a, pair.b, await written(pair.a, pair.b, commit))
        assert (receipt.type, receipt.code) == (MessageType.RECEIPT, Code.COMMITTED)
    assert await bob.balance() == "109.95"
    await said(
        pair.a, pair.b, await written(pair.a, pair.b, Message(MessageType.RECEIPT, body, code=Code.CLOSED))
    )


async def test_what_is_no_message_of_the_peer_is_counted_and_gets_no_answer(pair: Neighbours):
    alice, bob = await parties(pair)
    body = body_of(alice, bob)
    foreign = replace(body, sender_did=f"did:hansa:elsewhere.example:{uuid4()}")
    text = await written(pair.a, pair.b, Message(MessageType.PREPARE, body))
    payload, signature = text.rsplit(".", 1)
    of_another = await written(pair.b, pair.a, Message(MessageType.PREPARE, body))
    before = await pair.b.refused(pair.a)
    texts = [
        "x",
        "e30.e30.e30",
        f"{payload}.{signature[::-1]}",
        text[:-1],
        of_another,
        await written(pair.a, pair.b, Message(MessageType.PREPARE, foreign)),
    ]
    assert await said(pair.a, pair.b, *texts) == []
    after = await pair.b.refused(pair.a)
    assert after["message_malformed"] == before.get("message_malformed", 0) + 5
    assert after["foreign_namespace"] == before.get("foreign_namespace", 0) + 1


async def test_a_receiver_that_waits_for_the_decision_asks_and_an_unknown_transfer_is_aborted(
    pair: Neighbours,
):
    alice, bob = await parties(pair)
    body = body_of(alice, bob)
    (prepared,) = await said(
        pair.a, pair.b, await written(pair.a, pair.b, Message(MessageType.PREPARE, body))
    )
    assert prepared.type is MessageType.PREPARED
    read = await bob.registry.get(f"/teg/transfers/{body.transfer_id}", headers=bob.headers)
    assert read.json()["state"] == "prepared"
    await run(pair.b, "UPDATE transfers_received SET created_at = created_at - interval '2 minutes'")
    read = await bob.registry.get(f"/teg/transfers/{body.transfer_id}", headers=bob.headers)
    assert read.json()["state"] == "in_doubt"
    await settle(pair.b, pair.a)
    read = await bob.registry.get(f"/teg/transfers/{body.transfer_id}", headers=bob.headers)
    assert read.json()["state"] == "aborted"
    await require_quiet(pair)


async def test_a_registry_whose_chain_is_shorter_than_its_peer_saw_begins_an_epoch_and_crossing_resumes(
    pair: Neighbours,
):
    alice, bob = await parties(pair)
    for _ in range(2):
        assert (await across(alice, bob.did, "10")).status_code == 200
        await settle(pair.a, pair.b)
    # As after the restore of a database in which the last receipt was not written yet.
    await run(
        pair.b,
        "UPDATE transfers_pair SET own_seq = own_seq - 1, own_head = (SELECT head FROM transfers_entry"
        " WHERE epoch = own_epoch AND seq = own_seq - 1)",
    )
    await run(
        pair.b,
        "DELETE FROM transfers_entry USING transfers_pair WHERE transfers_entry.seq > own_seq AND epoch = own_epoch",
    )
    await ask_for_heads(pair.a)
    await run_once(pair)
    epoch = await pair.b.registry.database.query(
        lambda tx: tx.fetchval("SELECT own_epoch FROM transfers_pair")
    )
    assert epoch > 1
    await settle(pair.a, pair.b)
    assert (await crossing_of(pair.a), await crossing_of(pair.b)) == ("open", "open")
    assert await balances(alice, bob) == ("80", "119.9")
    assert (await across(alice, bob.did, "10")).status_code == 200
    await settle(pair.a, pair.b)
    assert await balances(alice, bob) == ("70", "129.85")
    await require_quiet(pair)


async def run_once(pair: Neighbours) -> None:
    await settle(pair.a, rounds=1)


async def test_while_the_heads_are_not_known_nothing_new_crosses(pair: Neighbours):
    alice, bob = await parties(pair)
    stopped = (
        "UPDATE transfers_pair SET crossing = 'peer_rewound', nonce = 'n', ask_at = now() + interval '1 hour'"
    )
    await run(pair.a, stopped)
    try:
        assert await refusal(await across(alice, bob.did, "1")) == (409, "PEER_REWOUND")
        dry = {"receiver_did": bob.did, "amount": "1", "dry_run": True}
        planned = await alice.registry.post("/teg/send", json=dry, headers=alice.headers)
        assert await refusal(planned) == (409, "PEER_REWOUND")
    finally:
        await run(pair.a, "UPDATE transfers_pair SET crossing = 'open', nonce = NULL, ask_at = NULL")
    assert await alice.balance() == "100"
