"""Messages of one peer travel in batches: one request, one transaction, an answer for each, and no failure of a neighbour."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from uuid import uuid4

import pytest
from msgspec.structs import replace

from hansa.rooms.transfers.crossing import envelope, peer_routes, received_store, send_queue
from hansa.rooms.transfers.crossing.channel import CHANNEL, PATH
from hansa.rooms.transfers.crossing.messages import Body, Code, Message, MessageType
from hansa.rooms.transfers.crossing.receiver import answer
from hansa_verify.canonical import decoded
from tests.neighbours.crossing_scene import (
    LostCalls,
    across,
    crossing_of,
    open_rows,
    refusal,
    run,
    said,
    settle,
    written,
    written_at_once,
)
from tests.neighbours.two_registries import Neighbours
from tests.registry import TestAgent

TOGETHER = 30
AMOUNT = 10 * 10**8


def body_of(payer: TestAgent, payee_did: str, amount: int = AMOUNT) -> Body:
    return Body(str(uuid4()), payer.did, payee_did, amount, "AVT")


async def test_transfers_to_one_peer_at_the_same_moment_share_requests_and_each_is_answered(
    pair: Neighbours, calls: LostCalls
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    answers = await asyncio.gather(*(across(alice, bob.did, "1") for _ in range(TOGETHER)))
    assert [answer.status_code for answer in answers] == [200] * TOGETHER
    assert len({answer.json()["transfer_id"] for answer in answers}) == TOGETHER
    await settle(pair.a, pair.b)
    # Alone, each takes three: prepare, COMMIT, and that its receipt came.
    assert calls.made < TOGETHER
    assert (await alice.balance(), await bob.balance()) == ("70", "129.85")
    assert (await open_rows(pair.a), await open_rows(pair.b)) == (0, 0)


async def test_transfers_beyond_the_balance_are_refused_beside_those_that_it_covers(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    answers = await asyncio.gather(*(across(alice, bob.did, "30") for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 402, 402]
    await settle(pair.a, pair.b)
    assert (await alice.balance(), await bob.balance()) == ("10", "189.55")


async def test_in_one_request_each_message_gets_its_own_answer_and_a_refused_one_changes_nothing_for_others(
    pair: Neighbours,
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    good, beyond = body_of(alice, bob.did), body_of(alice, bob.did, 20_000 * 10**8)
    nobody = body_of(alice, f"did:hansa:b.example:{uuid4()}")
    elsewhere = body_of(alice, f"did:hansa:c.example:{uuid4()}")
    last = body_of(alice, bob.did)
    before = await pair.b.refused(pair.a)
    texts = [
        await written(pair.a, pair.b, Message(MessageType.PREPARE, body))
        for body in (good, beyond, nobody, elsewhere, last, replace(good, amount=AMOUNT // 2))
    ]
    answers = await said(pair.a, pair.b, texts[0], "no message", *texts[1:], texts[0])
    assert [(one.type, one.code) for one in answers] == [
        (MessageType.PREPARED, None),
        (MessageType.REFUSED, Code.PEER_LIMIT),
        (MessageType.REFUSED, Code.ACCOUNT_UNKNOWN),
        (MessageType.PREPARED, None),
        (MessageType.REFUSED, Code.ID_CONFLICT),
        (MessageType.PREPARED, None),
    ]
    after = await pair.b.refused(pair.a)
    for reason in ("message_malformed", "foreign_namespace"):
        assert after[reason] == before.get(reason, 0) + 1
    aborts = [
        await written(pair.a, pair.b, Message(MessageType.ABORT, body, code="TIMEOUT"))
        for body in (good, last)
    ]
    assert [one.code for one in await said(pair.a, pair.b, *aborts)] == [Code.ABORTED] * 2
    assert await bob.balance() == "100"


async def test_what_proves_nothing_later_is_signed_for_several_transfers_at_once_and_each_is_answered(
    pair: Neighbours,
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    memos = ("\U0001f600" * 256, "", None, "\U0001f600" * 256, "\U0001f600" * 256, "\U0001f600" * 256)
    bodies = [replace(body_of(alice, bob.did), memo=memo) for memo in memos]
    prepares = await written_at_once(pair.a, pair.b, [Message(MessageType.PREPARE, one) for one in bodies])
    assert 1 < len(prepares) < len(bodies)
    prepared = await said(pair.a, pair.b, *prepares)
    assert [(one.type, one.body) for one in prepared] == [(MessageType.PREPARED, one) for one in bodies]
    fee = AMOUNT // 200
    commits = [Message(MessageType.COMMIT, one, net=AMOUNT - fee, fee=fee) for one in bodies]
    receipts = await said(pair.a, pair.b, *await written_at_once(pair.a, pair.b, commits))
    assert [one.code for one in receipts] == [Code.COMMITTED] * len(bodies)
    open_before = await open_rows(pair.b)
    confirmed = [Message(MessageType.RECEIPT, one, code=Code.CLOSED) for one in bodies]
    texts = await written_at_once(pair.a, pair.b, confirmed)
    assert len(texts) < len(bodies)
    assert await said(pair.a, pair.b, *texts) == []
    assert await open_rows(pair.b) == open_before - len(bodies)
    assert await bob.balance() == "159.7"


async def test_a_text_of_several_transfers_that_would_prove_something_is_refused_and_counted(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    bodies = [body_of(alice, bob.did) for _ in range(2)]
    fee = AMOUNT // 200
    commits = [Message(MessageType.COMMIT, one, net=AMOUNT - fee, fee=fee) for one in bodies]
    before = (await pair.b.refused(pair.a)).get("message_malformed", 0)
    with monkeypatch.context() as patch:
        patch.setattr(envelope, "TOGETHER", {(MessageType.COMMIT, None)})
        (forged,) = await written_at_once(pair.a, pair.b, commits)
    assert await said(pair.a, pair.b, forged) == []
    assert (await pair.b.refused(pair.a))["message_malformed"] == before + 1
    assert await bob.balance() == "100"


async def test_a_request_is_about_500_transfers_at_most_and_what_is_beyond_is_counted(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    bodies = [body_of(alice, bob.did) for _ in range(3)]
    before = (await pair.b.refused(pair.a)).get("message_malformed", 0)
    texts = await written_at_once(pair.a, pair.b, [Message(MessageType.PREPARE, one) for one in bodies])
    monkeypatch.setattr(peer_routes, "CHANNEL", replace(CHANNEL, messages_max=2))
    answers = await said(pair.a, pair.b, *texts)
    assert [one.body for one in answers] == bodies[:2]
    assert (await pair.b.refused(pair.a))["message_malformed"] == before + 1
    aborts = [Message(MessageType.ABORT, one, code="X") for one in bodies]
    await said(pair.a, pair.b, *await written_at_once(pair.a, pair.b, aborts))


@pytest.mark.parametrize("reads", [True, False])
async def test_only_a_peer_that_says_so_is_sent_several_transfers_in_one_text(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch, *, reads: bool
):
    right = peer_routes.TransferMessagesOut
    monkeypatch.setattr(
        peer_routes,
        "TransferMessagesOut",
        lambda *, messages, reads_transfers: right(messages=messages, reads_transfers=reads),
    )
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    # The answer to the first transfer says what the peer reads.
    assert (await across(alice, bob.did, "1")).status_code == 200
    texts: list[str] = []

    def seen(text: str, keys: Mapping[str, bytes]) -> Sequence[Message]:
        texts.append(text)
        return CHANNEL.asks(text, keys)

    monkeypatch.setattr(peer_routes, "CHANNEL", replace(CHANNEL, asks=seen))
    answers = await asyncio.gather(*(across(alice, bob.did, "1") for _ in range(TOGETHER)))
    assert [answer.status_code for answer in answers] == [200] * TOGETHER
    await settle(pair.a, pair.b)
    several = [text for text in texts if b'"transfers":' in decoded(text.split(".")[1])]
    assert bool(several) == reads


async def test_an_answer_has_several_transfers_in_one_text_only_for_a_registry_that_asks_so(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    assert [(await across(alice, bob.did, "1")).status_code for _ in range(2)] == [200] * 2
    await settle(pair.a, pair.b)
    rows = await pair.b.registry.database.query(
        lambda tx: tx.fetch("SELECT * FROM transfers_received WHERE receiver_did = $1", bob.did)
    )
    receipts = [await written(pair.b, pair.a, answer(received_store.received_of_row(row))) for row in rows]
    for asks, expected in (({}, 2), ({"reads_transfers": True}, 1)):
        said_back = await pair.b.call(pair.a, "POST", PATH, {"messages": receipts, **asks})
        document = json.loads(said_back.body)
        assert (len(document["messages"]), document["reads_transfers"]) == (expected, True)


async def test_together_prepares_do_not_pass_the_limit_that_each_of_them_keeps(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    bodies = [body_of(alice, bob.did, 4_000 * 10**8) for _ in range(3)]
    texts = [await written(pair.a, pair.b, Message(MessageType.PREPARE, body)) for body in bodies]
    answers = await said(pair.a, pair.b, *texts)
    assert [one.type for one in answers] == [MessageType.PREPARED] * 2 + [MessageType.REFUSED]
    aborts = [await written(pair.a, pair.b, Message(MessageType.ABORT, body, code="X")) for body in bodies]
    await said(pair.a, pair.b, *aborts)


async def test_a_message_and_its_successor_in_one_request_are_applied_in_their_order(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    body = body_of(alice, bob.did)
    prepare = await written(pair.a, pair.b, Message(MessageType.PREPARE, body))
    fee = AMOUNT // 200
    commit = Message(MessageType.COMMIT, body, net=AMOUNT - fee, fee=fee)
    closed = Message(MessageType.RECEIPT, body, code=Code.CLOSED)
    texts = [prepare, await written(pair.a, pair.b, commit), await written(pair.a, pair.b, closed)]
    before = await open_rows(pair.b)
    answers = await said(pair.a, pair.b, *texts)
    assert [(one.type, one.code) for one in answers] == [
        (MessageType.PREPARED, None),
        (MessageType.RECEIPT, Code.COMMITTED),
    ]
    assert await bob.balance() == "109.95"
    assert await open_rows(pair.b) == before


async def test_a_full_queue_to_a_peer_refuses_new_transfers_and_nothing_is_reserved(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    assert (await across(alice, bob.did, "1")).status_code == 200
    monkeypatch.setattr(send_queue, "WAITING_MAX", 0)
    answer = await across(alice, bob.did, "1")
    assert await refusal(answer) == (503, "SERVICE_UNAVAILABLE")
    assert answer.headers["Retry-After"] == "1"
    assert await alice.balance() == "99"
    await settle(pair.a, pair.b)


async def test_an_epoch_that_begins_within_a_request_is_seen_by_the_messages_after_it(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await settle(pair.a, pair.b)
    before, after = body_of(alice, bob.did), body_of(alice, bob.did)
    texts = [await written(pair.a, pair.b, Message(MessageType.PREPARE, before))]
    await run(pair.a, "UPDATE transfers_pair SET own_epoch = own_epoch + 1, own_seq = 0")
    texts.append(await written(pair.a, pair.b, Message(MessageType.PREPARE, after)))
    prepared, asked, refused = await said(pair.a, pair.b, *texts)
    assert (prepared.type, prepared.body) == (MessageType.PREPARED, before)
    assert asked.type is MessageType.HEADS
    assert (refused.type, refused.code) == (MessageType.REFUSED, Code.PEER_REWOUND)
    assert await crossing_of(pair.b) == "resuming"
    await settle(pair.b, pair.a)
    assert await crossing_of(pair.b) == "open"
