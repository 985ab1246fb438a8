"""Keys that a peer reads are rotated, retired and stolen while units cross and cards are read."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.rooms import auditor, federation
from hansa.rooms.auditor.witnessing import follow_peers
from hansa.rooms.catalogue.peer_acts import HINTS
from hansa.rooms.federation.peers import READ_A_PEER
from hansa.rooms.transfers.crossing import store
from hansa.rooms.transfers.crossing.channel import PATH
from hansa.rooms.transfers.crossing.envelope import signed_text
from hansa.rooms.transfers.crossing.messages import Message, MessageType
from hansa_verify import AuditorKey, log, read_auditor_keys
from tests.neighbours.crossing_scene import across, run, settle
from tests.neighbours.reading_peers import names_found, read
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm
from tests.running_jobs import working

PAYMENTS = 12
"""In each direction; the key is rotated among them."""


@pytest.fixture
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("rotation")) as pair:
        yield pair


async def rotate(one: Neighbour) -> str:
    """The kid of the new registry key."""
    runtime = one.registry.runtime
    key = await runtime.database.transaction(
        lambda tx: federation.rotate_key(tx, runtime.settings, runtime.seal)
    )
    return key.kid


async def pays(one: Neighbour, other: Neighbour, times: int = PAYMENTS) -> list[int]:
    """The statuses of payments from an agent of the one registry to an agent of the other."""
    payer, payee = await one.registry.agent(), await other.registry.agent()
    return [(await across(payer, payee.did, "1")).status_code for _ in range(times)]


async def test_no_payment_is_refused_while_either_registry_rotates_its_key(pair: Neighbours):
    payments = [asyncio.create_task(pays(pair.a, pair.b)), asyncio.create_task(pays(pair.b, pair.a))]
    await asyncio.sleep(0)
    await rotate(pair.a)
    await rotate(pair.b)
    assert await asyncio.gather(*payments) == [[200] * PAYMENTS] * 2
    await settle(pair.a, pair.b)
    for one, other in ((pair.a, pair.b), (pair.b, pair.a)):
        assert await one.refused(other) == {}
        supply = await one.registry.supply()
        assert (supply["status"], supply["delta"]) == ("OK", "0")


@pytest.mark.parametrize("times", [1, 3])
async def test_both_directions_are_open_after_rotations_although_nothing_else_of_the_card_changed(
    pair: Neighbours, times: int
):
    for _ in range(times):
        kid = await rotate(pair.a)
    assert await pays(pair.a, pair.b, 1) == [200]
    assert await pays(pair.b, pair.a, 1) == [200]
    assert (await pair.b.peer(pair.a)).card_kid == kid


async def test_new_cards_are_mirrored_at_once_after_a_rotation(pair: Neighbours):
    await read(pair.b, pair.a)
    await rotate(pair.a)
    agent = await pair.a.registry.agent(name="Begun after the rotation")
    outcome = await read(pair.b, pair.a)
    assert dict(outcome.refused) == {}
    assert await names_found(pair.b, "Begun after the rotation") == [agent.did]


async def test_peers_are_notified_of_a_rotation_and_know_the_new_key_before_a_message_names_it(
    pair: Neighbours,
):
    a, b = pair.a.registry.runtime, pair.b.registry.runtime
    async with working(a, HINTS), working(b, READ_A_PEER), asyncio.timeout(60):
        kid = await rotate(pair.a)
        while (await pair.b.peer(pair.a)).card_kid != kid:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    keys = (await pair.b.peer(pair.a)).keys
    assert keys is not None
    present, retired = keys["keys"]
    assert (present["kid"], present.get("retired_at")) == (kid, None)
    assert retired["kid"] == kid.replace("#2", "#1")
    assert retired["retired_at"]


async def test_a_message_that_was_under_way_when_its_key_was_retired_counts(pair: Neighbours):
    key = await federation.SIGNATORY.of(pair.a.registry.runtime).present_key()
    await rotate(pair.a)
    assert await pays(pair.a, pair.b, 1) == [200]
    assert await answered(pair, key) == 1
    assert await pair.b.refused(pair.a) == {}


async def test_a_retired_key_signs_no_message_once_those_under_way_have_arrived(pair: Neighbours):
    key = await federation.SIGNATORY.of(pair.a.registry.runtime).present_key()
    await rotate(pair.a)
    assert await pays(pair.a, pair.b, 1) == [200]
    await retired_earlier(pair.b, "2 minutes")
    assert await answered(pair, key) == 0
    assert await pair.b.refused(pair.a) == {"message_malformed": 1}


async def test_a_key_that_its_registry_no_longer_publishes_is_forgotten_with_the_next_reading(
    pair: Neighbours,
):
    await run(
        pair.b,
        "UPDATE federation_peer SET keys = jsonb_set(keys::jsonb, '{keys,1}',"
        " (keys::jsonb #> '{keys,0}') || '{\"kid\": \"spiffe://a.example/registry/registry-a#0\"}')::text::json",
    )
    assert len((await pair.b.peer(pair.a)).kids) == 2
    await federation.sync_by_name(pair.b.registry.runtime, None, "registry-a")
    assert (await pair.b.peer(pair.a)).kids == ["spiffe://a.example/registry/registry-a#1"]


async def retired_earlier(one: Neighbour, interval: str) -> None:
    """Move the stored time of retirement of the peer's key back by the interval."""
    await run(
        one,
        "UPDATE federation_peer SET keys = jsonb_set(keys::jsonb, '{keys,1,retired_at}', to_jsonb("
        f"(keys::jsonb #>> '{{keys,1,retired_at}}')::timestamptz - interval '{interval}'))::text::json",
    )


async def answered(pair: Neighbours, key: federation.SigningKey) -> int:
    """How many answers b has for a question that is signed with this key of a."""
    at = await pair.a.registry.database.query(
        lambda tx: store.find_pair(tx, "spiffe://b.example/registry/registry-b")
    )
    question = replace(Message(MessageType.HEADS, nonce="asked-once"), own=at.own, seen=at.seen)
    text = signed_text(key, question)
    answer = await pair.a.call(pair.b, "POST", PATH, {"messages": [text]})
    assert answer.status == 200
    return len(json.loads(answer.body)["messages"])


async def test_a_peer_goes_on_cosigning_the_log_when_the_key_of_its_auditor_is_rotated(pair: Neighbours):
    runtime = pair.a.registry.runtime

    async def cosigned() -> tuple[int, str]:
        """The size of the published checkpoint, which b has cosigned, and the checkpoint."""
        await runtime.database.transaction(lambda tx: record_leaf(tx, "card", "1", bytes(32)))
        await auditor.run_cycle(runtime)
        await auditor.ask_witnesses(runtime)
        (witness,) = (await pair.a.registry.http.get("/log/witnesses")).json()["witnesses"]
        note = (await pair.a.registry.http.get("/log/checkpoint")).text
        assert witness["trouble"] is None
        assert "b.example/witness" in note
        return int(note.split("\n")[1]), note

    for one in (pair.a, pair.b):
        await auditor.run_cycle(one.registry.runtime)
        await follow_peers(one.registry.runtime)
    before, _ = await cosigned()
    former = await auditor_keys(pair.a)
    await runtime.database.transaction(
        lambda tx: auditor.rotate_auditor_key(tx, runtime.settings.ledger_id, runtime.seal)
    )
    assert await pays(pair.a, pair.b, 1) == [200]
    after, note = await cosigned()
    present = [key for key in await auditor_keys(pair.a) if key.retired_at_id is None]
    assert after > before
    assert present[0].kid not in {key.kid for key in former}
    for keys in (former, present):
        assert log.read_checkpoint(note, [key.public_key for key in keys]).size == after


async def auditor_keys(one: Neighbour) -> tuple[AuditorKey, ...]:
    return read_auditor_keys((await one.registry.http.get("/.well-known/auditor-jwks.json")).json())
