"""Relay: cards of a registry that is no peer come by a peer that passes them on, and only as their home signed them."""

import copy
import re
from collections.abc import AsyncIterator

import pytest

from hansa.rooms import federation
from hansa.rooms.catalogue.peer_reading import relayed
from hansa.rooms.catalogue.relays import StoredHome, settle, store
from tests.neighbours.reading_peers import administer, card_at, names_found, owned_agent, read, set_unlisted
from tests.neighbours.relayed_registries import HOME, RELAY, Relayed, three_registries
from tests.neighbours.two_registries import befriend
from tests.registry import DatabaseFarm, card_of

PATH = "/api/v1/federation/relayed-agent-cards"


@pytest.fixture(scope="module")
async def three(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Relayed]:
    async with three_registries(database_farm, tmp_path_factory.mktemp("three")) as three:
        yield three


async def test_an_agent_of_a_registry_that_is_no_peer_is_found_by_a_relay(three: Relayed):
    agent = await three.home.registry.agent(name="Wanderer by relay")
    outcome = await three.arrive()
    assert not outcome.refused
    assert await names_found(three.reader, "Wanderer by relay") == [agent.did]
    card = await card_at(three.reader, agent.did)
    assert (card["origin"], card["trust_domain"], card["is_federated"]) == (HOME, HOME, True)
    synced = card["card_data"]["federation_metadata"]
    assert synced == {"source_registry": HOME, "first_synced_from": RELAY}
    (shown,) = await three.homes()
    assert (shown["ledger_id"], shown["relay"], shown["hop_distance"]) == (HOME, RELAY, 2)
    assert shown["trouble"] is None


async def test_the_structure_of_the_federation_shows_a_registry_that_is_known_by_a_relay(three: Relayed):
    await three.home.registry.agent(name="Shown by relay")
    await three.arrive()
    shown = (await three.reader.registry.get("/public/topology")).json()
    (home,) = [node for node in shown["nodes"] if node["ledger_id"] == HOME]
    (relay,) = [node for node in shown["nodes"] if node["ledger_id"] == RELAY]
    assert (home["hop_distance"], home["trust_domain"], home["tier"], home["status"]) == (
        2,
        HOME,
        None,
        "active",
    )
    assert [node["hop_distance"] for node in shown["nodes"]] == [0, 1, 2]
    edges = [(edge["from"], edge["to"], edge["kind"]) for edge in shown["edges"]]
    assert edges == [
        (shown["self"], relay["name"], "direct_peer"),
        (relay["name"], home["name"], "discovered"),
    ]
    page = (await three.reader.registry.http.get("/federation", headers={"Accept": "text/html"})).text
    assert (page.count("<circle"), page.count("<line")) == (3, 2)
    assert "Known by a peer" in page
    row = re.sub(r'</?bdi>| data-label="[^"]*"', "", page)
    assert f"<td>{home['name']}</td><td>{HOME}</td><td>{relay['name']}</td><td>2 hops</td>" in row


async def test_an_item_travels_word_for_word_and_never_back_to_its_home(three: Relayed):
    agent = await three.home.registry.agent(name="Verbatim")
    await three.arrive()
    await three.home.registry.transactions_ended()
    served = await three.relay.call(three.home, "GET", "/api/v1/federation/agent-cards")
    passed_on = await three.reader.call(three.relay, "GET", PATH)
    assert agent.did.encode() in served.body
    assert agent.did.encode() in passed_on.body
    assert (await three.item(agent.did))["signature"]["signature"].encode() in served.body
    back = await three.home.call(three.relay, "GET", PATH)
    assert (back.status, HOME.encode() in back.body) == (200, False)


async def test_a_change_a_suspension_and_an_unlisting_arrive_by_the_relay(three: Relayed):
    owner, agent = await owned_agent(three.home, name="Changing by relay")
    await three.arrive()
    number = (await card_at(three.home, agent.did))["id"]
    changed = {"card_data": card_of("Metamorphosis")}
    answer = await three.home.registry.http.put(
        f"/api/v1/agent-cards/{number}", json=changed, headers=owner.headers
    )
    assert answer.status_code == 200, answer.text
    await three.arrive()
    assert await names_found(three.reader, "Metamorphosis") == [agent.did]
    await set_unlisted(owner, agent.did, unlisted=True)
    await three.arrive()
    assert await names_found(three.reader, "Metamorphosis") == []
    await set_unlisted(owner, agent.did, unlisted=False)
    await administer(three.home, "suspend", agent.did)
    await three.arrive()
    assert (await card_at(three.reader, agent.did))["status"] == "suspended"


async def test_nothing_crosses_to_a_registry_that_is_known_by_a_relay(three: Relayed):
    payee = await three.home.registry.agent(name="Payee by relay")
    await three.arrive()
    payer = await three.reader.registry.agent()
    answer = await three.reader.registry.post(
        "/teg/cross-registry-transfer",
        json={"receiver_did": payee.did, "amount": "1"},
        headers=payer.headers,
    )
    assert answer.status_code == 404, answer.text


async def test_a_forged_relay_is_refused_counted_and_evidence_against_the_relay(three: Relayed):
    agent = await three.home.registry.agent(name="Genuine")
    await three.arrive()
    genuine = await three.item(agent.did)
    renamed = copy.deepcopy(genuine)
    renamed["version"] += 1
    renamed["card_data"]["name"] = "Forged"
    await three.pass_on(renamed)
    assert (await read(three.reader, three.relay)).refused == {"relayed_digest_mismatch": 1}
    restated = copy.deepcopy(genuine)
    restated["version"] += 1
    restated["status"] = "revoked"
    await three.pass_on(restated)
    assert (await read(three.reader, three.relay)).refused == {"relayed_signature_invalid": 1}
    card = await card_at(three.reader, agent.did)
    assert (card["name"], card["status"]) == ("Genuine", "active")
    counted = await three.reader.refused(three.relay)
    assert (counted["relayed_digest_mismatch"], counted["relayed_signature_invalid"]) == (1, 1)
    peer = await three.reader.peer(three.relay)
    signals = await three.reader.registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT count(*) FROM federation_peer_signal WHERE peer_id = $1 AND kind = 'card_refused'",
            peer.id,
        )
    )
    assert signals >= 1
    await three.pass_on(genuine)


async def test_a_replayed_old_version_of_a_relay_changes_nothing(three: Relayed):
    owner, agent = await owned_agent(three.home, name="Young")
    await three.arrive()
    old = await three.item(agent.did)
    await set_unlisted(owner, agent.did, unlisted=True)
    await three.arrive()
    newest = await three.item(agent.did)
    await three.pass_on(old)
    assert (await read(three.reader, three.relay)).refused == {"relayed_version_older": 1}
    assert await names_found(three.reader, "Young") == []
    await three.pass_on(newest)


async def test_a_home_is_verified_at_its_own_address_alone_and_tried_again_later(three: Relayed):
    agent = await three.home.registry.agent(name="Elsewhere")
    address = three.home.public_url
    move = "UPDATE federation_peer SET registry_url = $1 WHERE ledger_id = $2"
    other = address.replace("127.0.0.1", "localhost")
    await three.relay.registry.database.transaction(lambda tx: tx.execute(move, other, HOME))
    outcome = await three.arrive()
    assert outcome.refused["relayed_home_address_foreign"] >= 1
    assert (await three.reader.registry.get(f"/agents/by-did/{agent.did}")).status_code == 404
    assert [home["trouble"] for home in await three.homes()] == ["home_address_foreign"]
    await three.relay.registry.database.transaction(lambda tx: tx.execute(move, address, HOME))
    await three.reader.registry.database.transaction(
        lambda tx: tx.execute("UPDATE catalogue_home SET read_at = now() - interval '2 hours'")
    )
    await read(three.reader, three.relay)
    assert (await card_at(three.reader, agent.did))["name"] == "Elsewhere"
    assert [home["trouble"] for home in await three.homes()] == [None]


async def test_of_two_relays_the_nearer_one_counts_while_it_may_be_read(three: Relayed):
    await three.arrive()
    database = three.reader.registry.database
    (kept,) = await database.query(store.homes)
    open_peers = [kept.peer_id, 777]

    async def offered(hop_distance: int, open_now: list[int]) -> bool:
        by_another: StoredHome = kept._replace(
            peer_id=777, relay_ledger_id="other.example", hop_distance=hop_distance
        )
        return await database.transaction(lambda tx: store.keep_home(tx, by_another, open_now))

    assert not await offered(3, open_peers)
    assert not await offered(2, open_peers)
    assert await offered(3, [777])
    await database.transaction(lambda tx: store.keep_home(tx, kept, open_peers))
    assert [home["relay"] for home in await three.homes()] == [RELAY]


async def test_a_registry_that_begins_to_pass_on_reads_its_peers_anew_and_one_that_ends_keeps_nothing(
    three: Relayed,
):
    agent = await three.home.registry.agent(name="Kept before")
    await three.arrive()
    database = three.relay.registry.database
    await database.transaction(lambda tx: settle(tx, is_relay=False))
    assert await database.query(lambda tx: tx.fetchval("SELECT count(*) FROM catalogue_signed_item")) == 0
    await read(three.relay, three.home)
    assert await database.query(lambda tx: tx.fetchval("SELECT count(*) FROM catalogue_signed_item")) == 0
    await database.transaction(lambda tx: settle(tx, is_relay=True))
    await read(three.relay, three.home)
    assert (await three.item(agent.did))["card_data"]["name"] == "Kept before"
    assert not (await read(three.reader, three.relay)).refused


async def test_a_relay_brings_a_bounded_number_of_homes(three: Relayed, monkeypatch: pytest.MonkeyPatch):
    agent = await three.home.registry.agent(name="One home too many")
    database = three.reader.registry.database
    await read(three.relay, three.home)
    await database.transaction(lambda tx: tx.execute("DELETE FROM catalogue_home"))
    await database.transaction(store.read_relays_anew)
    monkeypatch.setattr(relayed, "HOMES_PER_RELAY_MAX", 0)
    outcome = await read(three.reader, three.relay)
    assert outcome.refused["relayed_homes_too_many"] >= 1
    assert await three.homes() == []
    monkeypatch.undo()
    await database.transaction(store.read_relays_anew)
    await read(three.reader, three.relay)
    assert (await card_at(three.reader, agent.did))["name"] == "One home too many"


async def test_a_registry_that_passes_nothing_on_answers_409_and_is_read_all_the_same(three: Relayed):
    answer = await three.relay.call(three.home, "GET", PATH)
    assert (answer.status, b"RELAY_OFF" in answer.body) == (409, True)


async def test_a_home_that_becomes_a_peer_is_read_itself(three: Relayed):
    agent = await three.home.registry.agent(name="Soon near")
    await three.arrive()
    await befriend(three.reader, three.home)
    await befriend(three.home, three.reader)
    assert not (await read(three.reader, three.home)).refused
    assert await three.homes() == []
    later = await three.home.registry.agent(name="By relay no more")
    await three.arrive()
    assert (await three.reader.registry.get(f"/agents/by-did/{later.did}")).status_code == 404
    await read(three.reader, three.home)
    assert (await card_at(three.reader, later.did))["name"] == "By relay no more"
    runtime = three.reader.registry.runtime
    await runtime.database.transaction(lambda tx: federation.remove_peer(tx, None, runtime, HOME))
    await read(three.reader, three.relay)
    assert (await card_at(three.reader, agent.did))["name"] == "Soon near"


async def test_the_removal_of_a_relay_removes_what_it_brought(three: Relayed):
    agent = await three.home.registry.agent(name="Gone with the relay")
    await three.arrive()
    assert (await card_at(three.reader, agent.did))["name"] == "Gone with the relay"
    runtime = three.reader.registry.runtime
    await runtime.database.transaction(lambda tx: federation.remove_peer(tx, None, runtime, RELAY))
    assert (await three.reader.registry.get(f"/agents/by-did/{agent.did}")).status_code == 404
    assert await three.homes() == []
