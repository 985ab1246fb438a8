"""One of two registries is served from an old backup: no saga of the bridge is lost, and wrapped units equal the locked units again."""

from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import uuid4

import pytest

from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import federation, ledger, transfers
from hansa.rooms.transfers.bridge.channel import PATH
from hansa.rooms.transfers.bridge.envelope import signed_text
from hansa.rooms.transfers.bridge.messages import Direction, Message, MessageType, Terms
from hansa.rooms.transfers.crossing import HIGH_WATER, HighWater
from hansa.rooms.transfers.crossing.high_water import FILE
from tests.conversations.test_bridge import MAINFRAME, ask, audit, holds, status, wrapped
from tests.neighbours.crossing_scene import LostCalls, crossing_of, refusal, run, settle
from tests.neighbours.restoring import backed_up, put_back
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm, TestAgent
from tests.running_jobs import run_due, run_scheduled_transactions

DELIVERY, DUE = transfers.BRIDGE_OUTBOX.kinds
UNIT_OF_A = "AVT.a.example"


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    directory = tmp_path_factory.mktemp("restored")
    async with neighbours(database_farm, directory, a=MAINFRAME, b=MAINFRAME) as pair:
        for one in (pair.a, pair.b):
            await compare(one, anew=True)
        yield pair


async def compare(one: Neighbour, *, anew: bool = False) -> None:
    """Compare the high water as a process does each second, and with `anew` at its start."""
    if anew:
        HIGH_WATER.put(one.registry.runtime, HighWater(one.registry.runtime))
    await HIGH_WATER.of(one.registry.runtime).compare()


async def heal(pair: Neighbours) -> None:
    """Send and answer the due messages of transfers and of sagas, until nothing is due any more."""
    for _ in range(4):
        await settle(pair.a, pair.b, rounds=1)
        for one in (pair.a, pair.b):
            for table in ("transfers_bridge_saga", "transfers_bridge_decision"):
                await run(one, f"UPDATE {table} SET next_at = now() WHERE next_at IS NOT NULL")
            await run_scheduled_transactions(one.registry.runtime, DUE)
            await run_due(one.registry.runtime, DELIVERY)


async def restore(one: Neighbour, backup: str, *, notices: bool = True) -> None:
    """The registry is served from the backup. Without `notices` the file of high-water marks is as old."""
    await compare(one)
    await put_back(one, backup)
    if not notices:
        (one.registry.settings.data_dir / "keys" / FILE).write_text('{"pairs": {}}')
    await compare(one, anew=True)


async def both_agree(pair: Neighbours) -> None:
    """Nothing is under way, and of each unit as much is wrapped as is locked."""
    home, holding = await audit(pair.a), await audit(pair.b)
    for one, other in ((home, holding), (holding, home)):
        locked = {line["locked"] for line in one["locked"]} - {"0"}
        assert locked == {line["wrapped"] for line in other["wrapped"]} - {"0"}
    for one in (pair.a, pair.b):
        assert await crossing_of(one) == "open"
        due = "SELECT count(*) FROM {} WHERE next_at IS NOT NULL"
        for table in ("transfers_bridge_saga", "transfers_bridge_decision"):
            assert await one.registry.database.query(lambda tx: tx.fetchval(due.format(table))) == 0  # noqa: B023


async def redeemed(holder: TestAgent, receiver: TestAgent, amount: str) -> str:
    asked = {"wrapped_currency": UNIT_OF_A, "amount": amount, "receiver_did": receiver.did}
    answer = await ask(holder, "redeem", **asked)
    assert answer.json()["state"] == "COMPLETED", answer.text
    saga_id: str = answer.json()["saga_id"]
    return saga_id


async def test_a_source_that_forgot_a_lock_makes_it_again_and_keeps_the_redemption_that_it_forgot(
    pair: Neighbours,
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    backup = await backed_up(pair.a)
    saga_id = await wrapped(alice, bob, "10")
    await redeemed(bob, alice, "4")
    await heal(pair)
    await restore(pair.a, backup)
    assert await alice.balance() == "100"
    assert await refusal(await ask(alice, "transfer", receiver_did=bob.did, amount="1")) == (
        409,
        "PEER_REWOUND",
    )
    await heal(pair)
    assert (await alice.balance(), await holds(bob)) == ("94", {UNIT_OF_A: "6"})
    assert (await status(alice, saga_id))["state"] == "COMPLETED"
    await both_agree(pair)
    await redeemed(bob, alice, "6")
    await heal(pair)
    assert (await alice.balance(), await holds(bob)) == ("100", {})
    await both_agree(pair)


async def test_a_destination_that_forgot_a_mint_makes_it_again_and_ends_the_redemption_that_it_forgot(
    pair: Neighbours,
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    backup = await backed_up(pair.b)
    await wrapped(alice, bob, "10")
    await redeemed(bob, alice, "4")
    await heal(pair)
    await restore(pair.b, backup)
    assert await holds(bob) == {}
    await heal(pair)
    assert (await alice.balance(), await holds(bob)) == ("94", {UNIT_OF_A: "6"})
    await both_agree(pair)


async def test_a_mint_of_which_the_source_kept_nothing_is_shown_to_it_without_a_sign_of_the_restore(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await heal(pair)
    backup = await backed_up(pair.a)
    calls = LostCalls(monkeypatch)
    calls.loses = lambda made: "answer" if made == 1 else None
    answer = await ask(alice, "transfer", receiver_did=bob.did, amount="10")
    assert answer.json()["state"] == "MINT_REQUESTED"
    await restore(pair.a, backup, notices=False)
    assert (await alice.balance(), await holds(bob)) == ("100", {UNIT_OF_A: "10"})
    await heal(pair)
    assert (await alice.balance(), await holds(bob)) == ("90", {UNIT_OF_A: "10"})
    await both_agree(pair)


async def test_what_was_minted_and_cannot_be_locked_again_stops_crossing_until_the_shortfall_is_funded(
    pair: Neighbours,
):
    alice, bob, carol = (
        await pair.a.registry.agent(),
        await pair.b.registry.agent(),
        await pair.a.registry.agent(),
    )
    backup = await backed_up(pair.a)
    saga_id = await wrapped(alice, bob, "60")
    await heal(pair)
    await restore(pair.a, backup)
    database, book = pair.a.registry.database, ledger.Book.of(pair.a.registry.settings)
    spent = {"receiver_agent_id": carol.did, "amount": "80"}
    assert (await alice.registry.post("/teg/transfer", json=spent, headers=alice.headers)).status_code == 200
    await heal(pair)
    assert (await status(alice, saga_id))["state"] == "IN_DOUBT"
    assert await refusal(await ask(carol, "transfer", receiver_did=bob.did, amount="1")) == (
        409,
        "PEER_REWOUND",
    )
    (undecided,) = await database.query(transfers.undecided_transfers)
    assert (str(undecided.transfer_id), undecided.state) == (saga_id, "in_doubt")
    amount = Minor(parse_amount("60"))
    await database.transaction(
        lambda tx: ledger.grant(tx, payee=book.shortfall, amount=amount, ref="a shortfall", book=book)
    )
    await heal(pair)
    assert (await status(alice, saga_id))["state"] == "COMPLETED"
    holding = await database.query(lambda tx: ledger.balance_of(tx, book.shortfall))
    assert holding.liquid == 0
    await both_agree(pair)


async def late(pair: Neighbours, kind: MessageType, terms: Terms, by: Neighbour, to: Neighbour) -> None:
    """A message of before the restore arrives, without the positions that it had."""
    key: federation.SigningKey = await federation.SIGNATORY.of(by.registry.runtime).present_key()
    text = signed_text(key, Message(kind, terms))
    answer = await by.call(to, "POST", PATH, {"messages": [text]})
    assert answer.status == 200, answer.body


@pytest.mark.parametrize("direction", list(Direction))
async def test_what_was_cancelled_before_a_restore_and_carried_out_after_it_is_taken_back(
    pair: Neighbours,
    monkeypatch: pytest.MonkeyPatch,
    direction: Direction,
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    await wrapped(alice, bob, "20")
    await heal(pair)
    is_wrap = direction is Direction.WRAP
    source, destination = (pair.a, pair.b) if is_wrap else (pair.b, pair.a)
    sender, receiver = (alice, bob) if is_wrap else (bob, alice)
    backup = await backed_up(destination)
    calls = LostCalls(monkeypatch)
    calls.loses = lambda made: "request" if made == 1 else None
    more = {} if is_wrap else {"wrapped_currency": UNIT_OF_A}
    act = "transfer" if is_wrap else "redeem"
    saga_id = (await ask(sender, act, receiver_did=receiver.did, amount="5", **more)).json()["saga_id"]
    await run(source, "UPDATE transfers_bridge_saga SET deadline = now() WHERE saga_id = $1", saga_id)
    await heal(pair)
    assert (await status(sender, saga_id))["reason"] == "CANCELLED"
    await restore(destination, backup, notices=False)
    terms = Terms(saga_id, direction, sender.did, receiver.did, 5 * 10**8, "AVT")
    kind = MessageType.MINT if is_wrap else MessageType.UNLOCK
    await late(pair, kind, terms, source, destination)
    forked = ("80", {UNIT_OF_A: "25"}) if is_wrap else ("85", {UNIT_OF_A: "20"})
    assert (await alice.balance(), await holds(bob)) == forked
    # What the source knows of the other chain is more than the destination knows itself.
    begun = await ask(sender, act, receiver_did=receiver.did, amount="1", **more)
    assert begun.json()["state"] == ("MINT_REQUESTED" if is_wrap else "UNLOCK_REQUESTED")
    await heal(pair)
    ended = ("79", {UNIT_OF_A: "21"}) if is_wrap else ("81", {UNIT_OF_A: "19"})
    assert (await alice.balance(), await holds(bob)) == ended
    await both_agree(pair)


async def test_a_proof_that_is_not_the_own_signature_counts_for_nothing(pair: Neighbours):
    bob = await pair.b.registry.agent()
    key = await federation.SIGNATORY.of(pair.a.registry.runtime).present_key()
    terms = Terms(str(uuid4()), Direction.WRAP, f"did:hansa:a.example:{uuid4()}", bob.did, 10**8, "GOLD")
    forged = Message(MessageType.MINTED, terms)
    shown = replace(forged, raw=signed_text(key, forged))
    before = (await pair.b.refused(pair.a)).get("message_malformed", 0)
    text = signed_text(key, Message(MessageType.MINT, terms, proof=shown))
    answer = await pair.a.call(pair.b, "POST", PATH, {"messages": [text]})
    assert (answer.status, answer.body) == (200, b'{"messages":[]}')
    assert (await pair.b.refused(pair.a))["message_malformed"] == before + 1
    assert await holds(bob) == {}
