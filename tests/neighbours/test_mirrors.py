"""Cards of one registry at another: mirrored, changed, unlisted, ended, and compared with their home."""

import asyncio
import json
from typing import Any

import pytest

from hansa.foundation.plumbing.jobs import Job
from hansa.foundation.plumbing.jobs.kinds import SCHEDULE
from hansa.foundation.plumbing.keys.trust_bundle import read_bundle
from hansa.foundation.plumbing.web.peer_caller import PeerClosed
from hansa.rooms import federation
from hansa.rooms.catalogue.exports import serving
from hansa.rooms.catalogue.peer_jobs import PEER_CARDS, PEERS_CARDS_LOOK
from hansa.rooms.catalogue.peer_reading import CARDS_KIND, HAS_DUE_CARDS, pages, reconcile_all
from hansa.rooms.federation import PEER_REMOVED, SYNC_PEER
from hansa.rooms.federation.peers.document_marks import documents_are_known
from tests.achieving import buy, select
from tests.neighbours.crossing_scene import across, settle
from tests.neighbours.reading_peers import (
    administer,
    card_at,
    names_found,
    owned_agent,
    read,
    set_unlisted,
)
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm, card_of
from tests.running_jobs import jobs_of, run_due


async def write(one: Neighbour, statement: str, *values: Any) -> None:
    await one.registry.database.transaction(lambda tx: tx.execute(statement, *values))


async def test_an_agent_of_a_peer_is_found_here_with_its_home(pair: Neighbours):
    agent = await pair.b.registry.agent(name="Wanderer of the north")
    outcome = await read(pair.a, pair.b)
    assert outcome.changed >= 1
    assert not outcome.refused
    card, home = await card_at(pair.a, agent.did), await card_at(pair.b, agent.did)
    assert (card["is_federated"], card["origin"], card["trust_domain"]) == (True, "b.example", "b.example")
    assert card["name"] == home["name"]
    assert await names_found(pair.a, "Wanderer of the north") == [agent.did]
    answer = await pair.a.registry.get("/agent-cards/discover", params={"q": "wanderer"})
    assert answer.json()["facets"]["origins"] == {"b.example": 1}


async def test_the_flare_of_an_agent_is_on_its_mirror_and_searches_here_find_it_as_encircled(
    pair: Neighbours,
):
    agent = await pair.b.registry.agent(name="Encircled in the north")
    assert (await buy(agent, "ring", "10")).status_code == 200
    query = {"q": "encircled north", "encircled_only": True}

    async def encircled() -> list[str]:
        await read(pair.a, pair.b)
        await pair.a.registry.indexed()
        answer = await pair.a.registry.get("/agent-cards/discover", params=query)
        return [one["did"] for one in answer.json()["results"]]

    assert await encircled() == []
    assert (await select(agent, encirclement="ring")).status_code == 200
    assert await encircled() == [agent.did]
    flare = (await card_at(pair.a, agent.did))["card_data"]["flare"]
    assert flare == {
        "mark": None,
        "grade": 0,
        "foreign": False,
        "corner": None,
        "encirclement": "ring",
        "overlay": None,
    }
    listed = {"include_federated": True, "bearing_encirclement": True}
    cards = (await pair.a.registry.get("/agent-cards/", params=listed)).json()["items"]
    assert [one["did"] for one in cards] == [agent.did]
    assert "Encirclement flare" in (await pair.a.registry.http.get(f"/agents/{agent.did}")).text
    assert (await select(agent)).status_code == 200
    assert await encircled() == []


async def test_own_agents_alone_are_exported(pair: Neighbours):
    await pair.b.registry.agent(name="Native of b")
    await read(pair.a, pair.b)
    answer = await pair.b.call(pair.a, "GET", "/api/v1/federation/agent-cards")
    assert answer.status == 200
    assert b"b.example" not in answer.body


async def test_a_second_reading_of_an_unchanged_peer_reads_nothing(pair: Neighbours):
    await read(pair.a, pair.b)
    outcome = await read(pair.a, pair.b)
    assert (outcome.pulled, outcome.changed, outcome.hidden, dict(outcome.refused)) == (0, 0, 0, {})
    assert (await pair.a.peer(pair.b)).last_synced_at is not None


async def test_what_peers_compare_the_documents_by_is_what_the_documents_state(pair: Neighbours):
    runtime, peer = pair.a.registry.runtime, await pair.a.peer(pair.b)

    async def stated(path: str) -> Any:
        return (await federation.call_peer(runtime, peer, "GET", path)).body

    marks = json.loads(await stated("/api/v1/federation/documents"))
    card, keys, bundle = [
        json.loads(await stated(f"/.well-known/{name}.json"))
        for name in ("registry-card", "registry-jwks", "spiffe-bundle")
    ]
    assert marks == {
        "card_etag": card["lifecycle"]["card_etag"],
        "kid": card["signature"]["kid"],
        "kids": [key["kid"] for key in keys["keys"]],
        "bundle_sequence": bundle["spiffe_sequence"],
        "bundle_sha256": read_bundle(json.dumps(bundle)).thumbprint,
    }
    assert marks["kid"] in [key["kid"] for key in keys["keys"]]
    assert await documents_are_known(runtime, peer, peer.end)


async def look_for_cards(one: Neighbour) -> list[str]:
    """One look at the cards of all peers, which are due; the peers that are read by a job after it."""
    runtime = one.registry.runtime
    await write(one, "UPDATE catalogue_peer_sync SET cards_due_at = now()")
    assert await runtime.database.query(HAS_DUE_CARDS)
    await PEERS_CARDS_LOOK.work(runtime, Job(0, PEERS_CARDS_LOOK.name, SCHEDULE, {}, 1, 0))
    assert not await runtime.database.query(HAS_DUE_CARDS)
    begun = [row["key"] for row in await jobs_of(runtime, CARDS_KIND)]
    await run_due(runtime, PEER_CARDS)
    return begun


async def test_a_look_at_the_cards_of_an_unchanged_peer_begins_no_reading_and_counts_as_one(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    await read(pair.a, pair.b)
    peer = await pair.a.peer(pair.b)
    assert await look_for_cards(pair.a) == []
    looked_at = await pair.a.peer(pair.b)
    assert peer.last_synced_at < looked_at.last_synced_at
    agent = await pair.b.registry.agent(name="Newcomer of the look")
    await pair.b.registry.transactions_ended()
    assert await look_for_cards(pair.a) == [str(peer.id)]
    assert (await card_at(pair.a, agent.did))["name"] == "Newcomer of the look"
    # A card of another shape is read anew, although none was changed.
    monkeypatch.setattr(serving, "EXPORT_VERSION", serving.EXPORT_VERSION + 1)
    assert await look_for_cards(pair.a) == [str(peer.id)]
    monkeypatch.undo()
    await look_for_cards(pair.a)
    assert await look_for_cards(pair.a) == []


async def test_a_peer_that_is_out_of_reach_or_due_to_be_compared_is_read_by_its_own_job(pair: Neighbours):
    await read(pair.a, pair.b)
    peer = await pair.a.peer(pair.b)
    await write(pair.a, "UPDATE catalogue_peer_sync SET reconcile_due_at = now()")
    assert await look_for_cards(pair.a) == [str(peer.id)]
    move = "UPDATE federation_peer SET federation_base_url = $1"
    await write(pair.a, move, "https://127.0.0.1:9")
    assert await look_for_cards(pair.a) == [str(peer.id)]
    await write(pair.a, move, peer.federation_base_url)
    await write(pair.a, "DELETE FROM plumbing_job WHERE kind = $1", CARDS_KIND)
    assert await look_for_cards(pair.a) == []


async def test_a_changed_card_is_changed_here_with_the_extensions_of_its_home(pair: Neighbours):
    owner, agent = await owned_agent(pair.b, name="Before")
    await read(pair.a, pair.b)
    number = (await card_at(pair.b, agent.did))["id"]
    changed = {"card_data": card_of("After", description="Changed.")}
    answer = await pair.b.registry.http.put(
        f"/api/v1/agent-cards/{number}", json=changed, headers=owner.headers
    )
    assert answer.status_code == 200, answer.text
    await administer(pair.b, "suspend", agent.did)
    assert (await read(pair.a, pair.b)).changed == 1
    card = await card_at(pair.a, agent.did)
    assert card["name"] == "After"
    uris = [extension["uri"] for extension in card["card_data"]["extensions"]]
    assert [uri for uri in uris if uri.endswith("/extensions/v1/enforcement")]


async def test_an_unlisted_card_leaves_searches_here_and_can_be_read_by_its_did(pair: Neighbours):
    owner, agent = await owned_agent(pair.b, name="Hermit of the valley")
    await read(pair.a, pair.b)
    await set_unlisted(owner, agent.did, unlisted=True)
    assert (await read(pair.a, pair.b)).hidden == 1
    assert await names_found(pair.a, "Hermit of the valley") == []
    assert (await card_at(pair.a, agent.did))["listing"] == {"unlisted": True}
    await set_unlisted(owner, agent.did, unlisted=False)
    await read(pair.a, pair.b)
    assert await names_found(pair.a, "Hermit of the valley") == [agent.did]


async def test_a_tombstone_of_an_unlisted_card_has_neither_name_nor_text(pair: Neighbours):
    owner, agent = await owned_agent(pair.b, name="Secretive", description="Private text.")
    await set_unlisted(owner, agent.did, unlisted=True)
    await pair.b.registry.transactions_ended()
    answer = await pair.a.call(pair.b, "GET", "/api/v1/federation/agent-cards")
    assert agent.did.encode() in answer.body
    assert b"Secretive" not in answer.body
    assert b"Private text" not in answer.body


async def test_a_revoked_agent_is_hidden_here_in_every_mode(pair: Neighbours):
    agent = await pair.b.registry.agent(name="Short-lived of the hill")
    await read(pair.a, pair.b)
    await administer(pair.b, "suspend", agent.did)
    await administer(pair.b, "revoke", agent.did)
    await read(pair.a, pair.b)
    assert await names_found(pair.a, "Short-lived of the hill") == []


async def test_a_page_that_is_applied_when_another_reader_was_quicker_changes_nothing(pair: Neighbours):
    await pair.b.registry.agent(name="Racing")
    await read(pair.a, pair.b)
    await asyncio.gather(*(read(pair.a, pair.b) for _ in range(4)))
    for number in range(3):
        await pair.b.registry.agent(name=f"Racing {number}")
    outcomes = await asyncio.gather(*(read(pair.a, pair.b) for _ in range(4)))
    assert sum(outcome.changed for outcome in outcomes) == 3
    assert sum(outcome.pulled for outcome in outcomes) == 3


async def test_a_reading_that_is_killed_before_its_commit_goes_on_from_the_stored_cursor(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    agent = await pair.b.registry.agent(name="Interrupted")

    async def killed(*_: Any) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(pages, "_count", killed)
    with pytest.raises(asyncio.CancelledError):
        await read(pair.a, pair.b)
    monkeypatch.undo()
    assert (await pair.a.registry.get(f"/agents/by-did/{agent.did}")).status_code == 404
    assert (await read(pair.a, pair.b)).changed == 1
    assert (await card_at(pair.a, agent.did))["name"] == "Interrupted"


async def test_a_card_that_was_missed_or_kept_is_put_right_by_the_daily_comparison(pair: Neighbours):
    missed = await pair.b.registry.agent(name="Missed")
    kept = await pair.b.registry.agent(name="Kept")
    await read(pair.a, pair.b)
    await write(pair.a, "DELETE FROM catalogue_card WHERE did = $1", missed.did)
    await write(pair.b, "DELETE FROM catalogue_card WHERE did = $1", kept.did)
    await read(pair.a, pair.b)
    assert (await pair.a.registry.get(f"/agents/by-did/{missed.did}")).status_code == 404
    await pair.a.registry.database.transaction(reconcile_all)
    assert (await read(pair.a, pair.b)).changed == 2
    assert (await card_at(pair.a, missed.did))["name"] == "Missed"
    assert (await pair.a.registry.get(f"/agents/by-did/{kept.did}")).status_code == 404


async def test_after_a_restore_the_peer_is_read_from_the_start_and_its_older_versions_count(pair: Neighbours):
    agent = await pair.b.registry.agent(name="Lost version")
    await read(pair.a, pair.b)
    # What a restored backup looks like: an older card, in a database that began anew.
    await write(
        pair.a, "UPDATE catalogue_card SET peer_version = peer_version + 1000 WHERE did = $1", agent.did
    )
    await write(
        pair.b,
        "UPDATE catalogue_card SET name = 'Restored', card_data = jsonb_set(card_data::jsonb, '{name}', '\"Restored\"')"
        " WHERE did = $1",
        agent.did,
    )
    assert (await read(pair.a, pair.b)).refused["version_older"] == 1
    await write(pair.b, "UPDATE plumbing_cluster SET first_position = first_position + 1")
    outcome = await read(pair.a, pair.b)
    assert outcome.changed == 1
    assert not outcome.refused
    assert (await card_at(pair.a, agent.did))["name"] == "Restored"


async def test_no_change_is_missed_by_a_reader_while_transactions_are_open(pair: Neighbours):
    """Eight writers, each of whose transactions stays open for a while; a reader pages through meanwhile."""
    agents = [await pair.b.registry.agent(name=f"Busy {number}") for number in range(8)]
    await read(pair.a, pair.b)
    is_over = asyncio.Event()

    async def writer(did: str) -> None:
        for turn in range(12):

            async def change(tx: Any, turn: int = turn) -> None:
                await tx.execute(
                    "UPDATE catalogue_card SET tee_type = NULL, description = $2 WHERE did = $1",
                    did,
                    f"{turn}",
                )
                await tx.execute("SELECT pg_sleep(random() * 0.02)")

            await pair.b.registry.database.transaction(change)

    async def reader() -> None:
        while not is_over.is_set():
            await read_once(pair)

    reading = asyncio.create_task(reader())
    await asyncio.gather(*(writer(agent.did) for agent in agents))
    is_over.set()
    await reading
    await read(pair.a, pair.b)
    expected = await versions(pair.b, "coalesce(item_version, changed_xid)", "source_registry IS NULL")
    assert expected == await versions(pair.a, "peer_version", "source_registry = 'b.example'")


async def read_once(pair: Neighbours) -> None:
    runtime = pair.a.registry.runtime
    await federation.SYNC_PEER.of(runtime)(runtime, await pair.a.peer(pair.b))


async def versions(one: Neighbour, version: str, whose: str) -> dict[str, int]:
    rows = await one.registry.database.query(
        lambda tx: tx.fetch(
            f"SELECT did, {version} AS version FROM catalogue_card WHERE {whose} AND is_active AND NOT unlisted"
        )
    )
    return {row["did"]: row["version"] for row in rows}


async def test_a_paused_peer_is_neither_read_nor_served(pair: Neighbours):
    await write(pair.a, "UPDATE federation_peer SET status = 'inactive', paused_at = now()")
    try:
        with pytest.raises(PeerClosed):
            await read(pair.a, pair.b)
        answer = await pair.b.call(pair.a, "GET", "/api/v1/federation/agent-cards")
        assert answer.status == 403
    finally:
        await write(pair.a, "UPDATE federation_peer SET status = 'active', paused_at = NULL")


async def test_a_peer_that_is_removed_while_it_is_read_leaves_no_mirror(
    database_farm: DatabaseFarm, tmp_path: Any
):
    async with neighbours(database_farm, tmp_path) as pair:
        for number in range(3):
            await pair.b.registry.agent(name=f"Fleeting {number}")
        peer, runtime = await pair.a.peer(pair.b), pair.a.registry.runtime

        async def remove(tx: Any) -> None:
            await PEER_REMOVED.of(runtime)(tx, peer)
            await tx.execute("DELETE FROM federation_peer WHERE id = $1", peer.id)

        await asyncio.gather(
            *(SYNC_PEER.of(runtime)(runtime, peer) for _ in range(3)),
            pair.a.registry.database.transaction(remove),
        )
        left = "SELECT count(*) FROM catalogue_card WHERE source_registry IS NOT NULL"
        assert await pair.a.registry.database.query(lambda tx: tx.fetchval(left)) == 0


async def test_a_removed_peer_takes_its_mirrors_along_at_once(database_farm: DatabaseFarm, tmp_path: Any):
    async with neighbours(database_farm, tmp_path) as pair:
        agent = await pair.b.registry.agent(name="Gone with its registry")
        own = await pair.a.registry.agent(name="Stays")
        await read(pair.a, pair.b)
        assert await names_found(pair.a, "Gone with its registry") == [agent.did]
        peer = await pair.a.peer(pair.b)
        removed = PEER_REMOVED.of(pair.a.registry.runtime)
        await pair.a.registry.database.transaction(lambda tx: removed(tx, peer))
        assert (await pair.a.registry.get(f"/agents/by-did/{agent.did}")).status_code == 404
        assert await names_found(pair.a, "Gone with its registry") == []
        await pair.a.registry.indexed()
        facets = (await pair.a.registry.get("/agent-cards/discover")).json()["facets"]["origins"]
        assert facets == {"local": 1}
        assert (await card_at(pair.a, own.did))["name"] == "Stays"


async def test_the_registry_card_counts_the_peers(pair: Neighbours):
    card = (await pair.a.registry.http.get("/.well-known/registry-card.json")).json()
    listed = (await pair.a.registry.get("/federation/peers")).json()
    assert card["federation"]["peer_count"] == listed["count"] == 1


async def test_an_agent_that_was_unlisted_before_the_first_reading_is_resolved_and_paid_by_its_did(
    pair: Neighbours,
):
    owner, agent = await owned_agent(pair.b, name="Hidden from the start")
    await set_unlisted(owner, agent.did, unlisted=True)
    outcome = await read(pair.a, pair.b)
    assert dict(outcome.refused) == {}
    card = await card_at(pair.a, agent.did)
    assert (card["name"], card["listing"], card["origin"]) == (
        "Hidden from the start",
        {"unlisted": True},
        "b.example",
    )
    assert await names_found(pair.a, "Hidden from the start") == []
    payer = await pair.a.registry.agent()
    assert (await across(payer, agent.did, "1")).status_code == 200
    await settle(pair.a, pair.b)
    assert await agent.balance() == "100.995"
    # It becomes listed, and unlisted again, as every mirror does.
    await set_unlisted(owner, agent.did, unlisted=False)
    await read(pair.a, pair.b)
    assert await names_found(pair.a, "Hidden from the start") == [agent.did]


async def test_the_feed_has_no_card_of_an_unlisted_agent_unless_its_did_is_named(pair: Neighbours):
    owner, agent = await owned_agent(pair.b, name="Secret by default")
    await set_unlisted(owner, agent.did, unlisted=True)
    await pair.b.registry.transactions_ended()
    path = "/api/v1/federation/agent-cards"
    assert b"Secret by default" not in (await pair.a.call(pair.b, "GET", path)).body
    named = json.loads((await pair.a.call(pair.b, "GET", f"{path}?did={agent.did}")).body)
    ((did, listing, name),) = [
        (item["did"], item["listing"], item["card_data"]["name"]) for item in named["items"]
    ]
    assert (did, listing, name) == (agent.did, {"unlisted": True}, "Secret by default")
    stranger = json.loads((await pair.a.call(pair.b, "GET", f"{path}?did=did:hansa:b.example:none")).body)
    assert (stranger["items"], stranger["more"]) == ([], False)
