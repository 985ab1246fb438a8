"""Messages of a peer over the bridge and about slashes against the rules: counted, refused for good, and without effect."""

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from hansa.rooms import federation, transfers
from hansa.rooms.commerce.slash_settlements.envelope import signed_request
from hansa.rooms.commerce.slash_settlements.settlement import Claim
from hansa.rooms.transfers.bridge.envelope import signed_text
from hansa.rooms.transfers.bridge.messages import Direction, Message, MessageType, Terms
from hansa_verify import decoded
from tests.neighbours.two_registries import Neighbours, neighbours
from tests.registry import DatabaseFarm

MAINFRAME = {"is_central_registry": True, "sovereign_mainframes": ["a.example", "b.example"]}
BRIDGE = "/api/v1/federation/bridge/messages"
SLASHES = "/api/v1/federation/disputes/slash-request"


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    directory = tmp_path_factory.mktemp("malicious")
    async with neighbours(database_farm, directory, a=MAINFRAME, b=MAINFRAME) as pair:
        yield pair


async def key_of_a(pair: Neighbours) -> federation.SigningKey:
    return await federation.SIGNATORY.of(pair.a.registry.runtime).present_key()


async def said(pair: Neighbours, path: str, *texts: str) -> list[dict[str, Any]]:
    """Return the payloads that registry b answers to these texts of a."""
    answer = await pair.a.call(pair.b, "POST", path, {"messages": list(texts)})
    assert answer.status == 200, answer.body
    return [payload_of(text) for text in json.loads(answer.body)["messages"]]


def payload_of(text: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(decoded(text.split(".")[1]))
    return read


async def bridge(pair: Neighbours, kind: MessageType, terms: Terms) -> list[dict[str, Any]]:
    return await said(pair, BRIDGE, signed_text(await key_of_a(pair), Message(kind, terms)))


async def minted(pair: Neighbours) -> int:
    supply = await pair.b.registry.database.read(transfers.wrapped_supply)
    assert all(one.is_ok for one in supply), supply
    return sum(one.wrapped for one in supply)


async def terms(pair: Neighbours, **other: Any) -> Terms:
    bob = await pair.b.registry.agent()
    made = Terms(str(uuid4()), Direction.WRAP, f"did:hansa:a.example:{uuid4()}", bob.did, 10**8, "AVT")
    return replace(made, **other)


async def test_a_text_that_is_no_message_is_counted_and_gets_no_answer(pair: Neighbours):
    before = (await pair.b.refused(pair.a)).get("message_malformed", 0)
    text = signed_text(await key_of_a(pair), Message(MessageType.MINT, await terms(pair)))
    head, payload, signature = text.split(".")
    for bad in ("x", "e30.e30.e30", f"{head}.{payload[:-4]}AAAA.{signature}", text + "\u2603"):
        assert await said(pair, BRIDGE, bad) == []
    assert (await pair.b.refused(pair.a))["message_malformed"] == before + 4


async def test_a_peer_speaks_for_its_own_namespace_only(pair: Neighbours):
    before = await minted(pair)
    bob = await pair.b.registry.agent()
    assert await bridge(pair, MessageType.MINT, await terms(pair, sender_did=bob.did)) == []
    elsewhere = f"did:hansa:c.example:{uuid4()}"
    assert await bridge(pair, MessageType.MINT, await terms(pair, receiver_did=elsewhere)) == []
    assert await minted(pair) == before


async def test_one_id_mints_once_and_other_terms_under_it_are_refused(pair: Neighbours):
    before, first = await minted(pair), await terms(pair)
    for _ in range(2):
        (answer,) = await bridge(pair, MessageType.MINT, first)
        assert answer["type"] == "minted"
    (answer,) = await bridge(pair, MessageType.MINT, replace(first, amount=2 * 10**8))
    assert (answer["type"], answer["code"]) == ("cancelled", "ID_CONFLICT")
    (answer,) = await bridge(pair, MessageType.CANCEL, first)
    assert answer["type"] == "minted"
    assert await minted(pair) == before + 10**8


async def test_a_cancelled_id_is_never_minted_and_a_currency_that_is_not_the_peers_is_refused(
    pair: Neighbours,
):
    before, cancelled = await minted(pair), await terms(pair)
    for kind in (MessageType.CANCEL, MessageType.MINT):
        (answer,) = await bridge(pair, kind, cancelled)
        assert (answer["type"], answer["code"]) == ("cancelled", "CANCELLED")
    (answer,) = await bridge(pair, MessageType.MINT, await terms(pair, currency="GOLD"))
    assert (answer["type"], answer["code"]) == ("cancelled", "CURRENCY_DIFFERS")
    assert await minted(pair) == before


async def test_no_more_is_unlocked_than_is_locked_for_that_peer(pair: Neighbours):
    bob = await pair.b.registry.agent()
    asked = await terms(pair, direction=Direction.REDEEM, receiver_did=bob.did)
    (answer,) = await bridge(pair, MessageType.UNLOCK, asked)
    assert (answer["type"], answer["code"]) == ("cancelled", "INSUFFICIENT_LOCK")
    assert await bob.balance() == "100"


async def test_no_more_is_minted_than_a_supply_may_be(pair: Neighbours):
    before = await minted(pair)
    for _ in range(10):
        await bridge(pair, MessageType.MINT, await terms(pair, amount=10**18))
    assert await minted(pair) <= 9 * 10**18
    assert await minted(pair) > before
    supply = await pair.b.registry.supply()
    assert (supply["status"], supply["delta"]) == ("OK", "0")


async def test_an_answer_about_a_saga_that_nobody_began_changes_nothing(pair: Neighbours):
    bob = await pair.b.registry.agent()
    stray = Terms(str(uuid4()), Direction.WRAP, bob.did, f"did:hansa:a.example:{uuid4()}", 10**8, "AVT")
    for kind in (MessageType.MINTED, MessageType.CANCELLED):
        assert await bridge(pair, kind, stray) == []
    assert await bob.balance() == "100"


async def test_a_slash_needs_the_signed_facts_of_its_dispute(pair: Neighbours):
    before = await pair.b.refused(pair.a)
    bob = await pair.b.registry.agent()
    claim = Claim(1, bob.did, f"did:hansa:a.example:{uuid4()}", 10**8, "AVT")
    (answer,) = await said(pair, SLASHES, signed_request(await key_of_a(pair), claim, {"kind": "x"}))
    assert (answer["status"], answer["reason"]) == ("FAILED", "VERDICT_INVALID")
    stranger = replace(claim, dispute_id=2, defendant_did=f"did:hansa:c.example:{uuid4()}")
    assert await said(pair, SLASHES, signed_request(await key_of_a(pair), stranger, {})) == []
    assert await said(pair, SLASHES, "x", "e30.e30.e30") == []
    other = replace(claim, complainant_did=f"did:hansa:a.example:{uuid4()}")
    assert await said(pair, SLASHES, signed_request(await key_of_a(pair), other, {"kind": "x"})) == []
    # A ruling that a restore lost may be made again with another amount: what was decided is answered.
    larger = signed_request(await key_of_a(pair), replace(claim, amount=2 * 10**8), {"kind": "x"})
    (answer,) = await said(pair, SLASHES, larger)
    assert (answer["status"], answer["amount"]) == ("FAILED", "1")
    foreign = signed_request(await key_of_a(pair), replace(claim, dispute_id=3, currency="XYZ"), {})
    (answer,) = await said(pair, SLASHES, foreign)
    assert (answer["status"], answer["reason"]) == ("FAILED", "CURRENCY_DIFFERS")
    counted = await pair.b.refused(pair.a)
    for reason in ("settlement_conflict", "foreign_namespace"):
        assert counted[reason] == before.get(reason, 0) + 1, reason
    assert await bob.balance() == "100"
