"""False statements of a peer about the chain of another registry, which never signed them: nothing waits for them."""

import json
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from msgspec.structs import replace

from hansa.foundation.values.money import Minor
from hansa.rooms import federation, transfers
from hansa.rooms.commerce.slash_settlements.envelope import signed_confirmation
from hansa.rooms.commerce.slash_settlements.settlement import Claim, Outcome, Status
from hansa.rooms.federation import SigningKey
from hansa.rooms.transfers.bridge.envelope import signed_text as signed_bridge_text
from hansa.rooms.transfers.bridge.messages import Direction, Terms
from hansa.rooms.transfers.bridge.messages import Message as BridgeMessage
from hansa.rooms.transfers.bridge.messages import MessageType as BridgeType
from hansa.rooms.transfers.crossing import store
from hansa.rooms.transfers.crossing.channel import PATH
from hansa.rooms.transfers.crossing.envelope import signed_text, stored_message
from hansa.rooms.transfers.crossing.messages import Message, MessageType, Position, positions_at
from hansa.rooms.transfers.crossing.pair_chain import Pair
from tests.neighbours.crossing_scene import LostCalls, across, crossing_of, deadlines_pass, settle
from tests.neighbours.two_registries import Neighbours, neighbours
from tests.registry import DatabaseFarm, TestAgent

BRIDGE = "/api/v1/federation/bridge/messages"
CONFIRMATIONS = "/api/v1/federation/disputes/slash-confirmation"
BEYOND = Position(1, 1, "f" * 64)
"""A place to which the chain of the other registry never came."""


@pytest.fixture
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("pair")) as pair:
        yield pair


async def key_of_b(pair: Neighbours) -> SigningKey:
    return await federation.SIGNATORY.of(pair.b.registry.runtime).present_key()


async def said_by_b(pair: Neighbours, path: str, text: str) -> list[str]:
    """Return the messages that a answers to this text of b."""
    answer = await pair.b.call(pair.a, "POST", path, {"messages": [text]})
    assert answer.status == 200, answer.body
    messages: list[str] = json.loads(answer.body)["messages"]
    return messages


async def pair_at_a(pair: Neighbours) -> Pair:
    spiffe_id = (await pair.a.peer(pair.b)).spiffe_id or ""
    return await pair.a.registry.database.query(lambda tx: store.find_pair(tx, spiffe_id))


async def reserved(pair: Neighbours, monkeypatch: pytest.MonkeyPatch) -> tuple[TestAgent, TestAgent]:
    """A transfer from a to b that b does not answer."""
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    with monkeypatch.context() as patch:
        LostCalls(patch).loses = lambda _: "request"
        assert (await across(alice, bob.did, "5", backend="async")).status_code == 200
    assert await alice.balance() == "95"
    return alice, bob


async def test_a_peer_that_states_a_place_beyond_the_own_chain_keeps_no_units_of_senders(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await reserved(pair, monkeypatch)
    forged = Message(MessageType.HEADS, nonce="x", own=Position(1), seen=BEYOND)
    (question,) = await said_by_b(pair, PATH, signed_text(await key_of_b(pair), forged))
    # The peer is asked about the heads: it shows there what it has seen, if it has seen anything.
    assert stored_message(question).type is MessageType.HEADS
    assert await crossing_of(pair.a) == "open"
    assert (await pair.a.refused(pair.b))["position_forged"] == 1
    with monkeypatch.context() as patch:
        LostCalls(patch).loses = lambda _: "request"
        await deadlines_pass(pair.a)
        await settle(pair.a)
    assert await alice.balance() == "100"
    # Transfers with that registry go on.
    assert (await across(alice, bob.did, "5")).status_code == 200


async def test_a_peer_that_states_another_hash_at_a_place_of_the_own_chain_is_not_believed(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    assert (await across(alice, bob.did, "5")).status_code == 200
    await settle(pair.a, pair.b)
    place = (await pair_at_a(pair)).own
    forged = Message(
        MessageType.HEADS, nonce="x", own=Position(1), seen=Position(place.epoch, place.seq, "f" * 64)
    )
    await said_by_b(pair, PATH, signed_text(await key_of_b(pair), forged))
    assert (await crossing_of(pair.a), (await pair_at_a(pair)).own) == ("open", place)
    assert (await pair.a.refused(pair.b))["position_forged"] == 1


async def test_what_a_registry_signed_for_one_peer_proves_nothing_to_it_when_another_peer_shows_it(
    pair: Neighbours,
):
    """A peer that received a text about its own pair gives it to another peer."""
    key = await federation.SIGNATORY.of(pair.a.registry.runtime).present_key()
    own = (await pair.a.peer(pair.b)).spiffe_id
    for addressee in ("spiffe://c.example/registry/c", None):
        given = signed_text(
            key, Message(MessageType.HEADS_STATE, nonce="n", own=BEYOND, seen=Position(), to=addressee)
        )
        await _show(pair, given)
        assert await crossing_of(pair.a) == "open"
    # At another place than the stated one it proves nothing either; at that place it does.
    elsewhere = Message(MessageType.HEADS_STATE, nonce="n", own=replace(BEYOND, seq=2), to=own)
    await _show(pair, signed_text(key, elsewhere))
    assert await crossing_of(pair.a) == "open"
    await _show(pair, signed_text(key, replace(elsewhere, own=BEYOND)))
    assert await crossing_of(pair.a) == "awaiting_heads"


async def _show(pair: Neighbours, text: str) -> None:
    shown = Message(
        MessageType.HEADS,
        nonce="x",
        own=Position(1),
        seen=BEYOND,
        proof=positions_at(BEYOND, Position(), raw=text),
    )
    await said_by_b(pair, PATH, signed_text(await key_of_b(pair), shown))


async def test_messages_of_the_bridge_and_about_slashes_that_state_a_forged_place_change_nothing(
    pair: Neighbours,
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    terms = Terms(str(uuid4()), Direction.WRAP, bob.did, alice.did, Minor(10**8), "AVT")
    of_bridge = BridgeMessage(BridgeType.CANCEL, terms, own=Position(1), seen=BEYOND)
    key = await key_of_b(pair)
    assert await said_by_b(pair, BRIDGE, signed_bridge_text(key, of_bridge)) == []
    outcome = Outcome(Claim(1, bob.did, alice.did, 10**8, "AVT"), Status.FAILED, reason="x")
    positions = transfers.positions_at(Position(1), BEYOND)
    assert await said_by_b(pair, CONFIRMATIONS, signed_confirmation(key, 1, outcome, positions)) == []
    assert await crossing_of(pair.a) == "open"
    assert (await pair.a.refused(pair.b))["position_forged"] == 2
    decided = await pair.a.registry.database.query(
        lambda tx: tx.fetchval("SELECT count(*) FROM transfers_bridge_decision")
    )
    assert decided == 0
