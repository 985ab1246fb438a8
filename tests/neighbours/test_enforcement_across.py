"""Suspensions, reinstatements and revocations at the home of an agent are effective at its peers, with signed receipts."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from hansa.foundation.plumbing.telemetry.metrics import peer_acts_total
from hansa.rooms.catalogue.peer_acts import HINTS, NOTICES
from hansa.rooms.catalogue.peer_jobs import PEER_ACTS, PEER_CARDS, PEER_PLAN, PEERS_LOOK
from hansa.rooms.catalogue.peer_reading import peers_with_acts
from hansa.rooms.journal.reactors import reactor_jobs
from hansa_verify import read_keys
from hansa_verify.jws import read_compact
from tests.neighbours.reading_peers import administer, card_at, names_found, read
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm
from tests.running_jobs import run_due, run_scheduled_transactions, working

ENFORCING = {"enforcement_propagation_mode": "enforce", "federation_sync_interval_seconds": 604_800}


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("pair"), a=ENFORCING) as pair:
        yield pair


async def react(one: Neighbour) -> None:
    """Run the reactor that notifies peers, for all events until now."""
    runtime = one.registry.runtime
    (kind,) = reactor_jobs((NOTICES,))
    assert kind.has_work is not None
    await one.registry.transactions_ended()
    async with working(runtime, kind), asyncio.timeout(60):
        while await runtime.database.query(kind.has_work):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def until(condition: Callable[[], Any], seconds: float = 120.0) -> Any:
    """Wait until the condition holds, and return its value."""
    async with asyncio.timeout(seconds):
        while not (found := await condition()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        return found


async def receipts(one: Neighbour, did: str) -> list[dict[str, Any]]:
    answer = await one.registry.get(f"/agents/{did}/enforcement-receipts")
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def act_and_step(pair: Neighbours, act: str, *dids: str) -> None:
    """One act at its home, and one turn of every job that brings it to the peer."""
    await administer(pair.b, act, *dids)
    await react(pair.b)
    await run_due(pair.b.registry.runtime, HINTS)
    await run_due(pair.a.registry.runtime, PEER_ACTS)


async def test_a_suspension_is_effective_at_a_peer_within_seconds_and_its_receipt_says_so(pair: Neighbours):
    agents = [await pair.b.registry.agent(name=f"Dubious {number}") for number in range(10)]
    dids = [agent.did for agent in agents]
    await read(pair.a, pair.b)
    async with (
        working(pair.a.registry.runtime, PEER_ACTS),
        working(pair.b.registry.runtime, *reactor_jobs((NOTICES,)), HINTS),
    ):
        for did in dids:
            await administer(pair.b, "suspend", did)

        async def all_receipted() -> list[dict[str, Any]]:
            found = [item for did in dids for item in await receipts(pair.b, did)]
            return found if len(found) == len(dids) and all(item["received_at"] for item in found) else []

        found = await until(all_receipted)
    assert {item["state"] for item in found} == {"applied"}
    assert max(item["seconds"] for item in found) < 30
    for did in dids:
        assert (await card_at(pair.a, did))["status"] == "suspended"
    assert await names_found(pair.a, "Dubious") == []


async def test_a_receipt_is_signed_by_the_peer_over_who_what_when_and_where(pair: Neighbours):
    agent = await pair.b.registry.agent(name="Receipted")
    await read(pair.a, pair.b)
    await act_and_step(pair, "suspend", agent.did)
    (item,) = await receipts(pair.b, agent.did)
    signed = read_compact(item["receipt"], "federation-receipt+jws")
    assert signed is not None
    keys = (await pair.a.registry.http.get("/.well-known/registry-jwks.json")).json()
    (key,) = [key for key in read_keys(keys) if key.kid == signed.entry.kid]
    assert signed.is_by(key.public_key)
    said = dict(signed.payload)
    assert isinstance(said.pop("log_position"), int)
    assert said.pop("version") == item["version"]
    assert said.pop("applied_at")
    assert said == {
        "kind": "fed.receipt.v1",
        "agent_did": agent.did,
        "act": "suspended",
        "by": "a.example",
        "mode": "enforce",
    }
    assert (item["peer"], item["ledger_id"], item["mode"]) == ("registry-a", "a.example", "enforce")


async def test_a_reinstatement_shows_the_agent_again_and_a_revocation_ends_it(pair: Neighbours):
    agent = await pair.b.registry.agent(name="Penitent of the lake")
    await read(pair.a, pair.b)
    await act_and_step(pair, "suspend", agent.did)
    assert await names_found(pair.a, "Penitent of the lake") == []
    await act_and_step(pair, "reinstate", agent.did)
    assert await names_found(pair.a, "Penitent of the lake") == [agent.did]
    await act_and_step(pair, "suspend", agent.did)
    await act_and_step(pair, "revoke", agent.did)
    assert (await card_at(pair.a, agent.did))["status"] == "revoked"
    acts = [item["act"] for item in await receipts(pair.b, agent.did)]
    assert acts == ["revoked", "suspended", "reinstated", "suspended"]


async def test_acts_that_follow_each_other_at_once_are_receipted_by_the_last(pair: Neighbours):
    agent = await pair.b.registry.agent(name="Hasty")
    await read(pair.a, pair.b)
    await administer(pair.b, "suspend", agent.did)
    await react(pair.b)
    await act_and_step(pair, "reinstate", agent.did)
    assert (await card_at(pair.a, agent.did))["status"] == "active"
    found = await receipts(pair.b, agent.did)
    assert [(item["act"], item["state"]) for item in found] == [
        ("reinstated", "applied"),
        ("suspended", "applied"),
    ]


async def test_a_receipt_that_comes_before_the_notice_is_not_lost(pair: Neighbours):
    agent = await pair.b.registry.agent(name="Early")
    await read(pair.a, pair.b)
    await administer(pair.b, "suspend", agent.did)
    await read(pair.a, pair.b)
    (early,) = await receipts(pair.b, agent.did)
    assert early["state"] == "applied"
    await react(pair.b)
    assert await receipts(pair.b, agent.did) == [early]


async def test_an_act_on_an_agent_that_is_not_mirrored_is_receipted_too(pair: Neighbours):
    agent = await pair.b.registry.agent(name="Not mirrored")
    await act_and_step(pair, "suspend", agent.did)
    assert (await pair.a.registry.get(f"/agents/by-did/{agent.did}")).status_code == 404
    (item,) = await receipts(pair.b, agent.did)
    assert (item["state"], item["act"]) == ("applied", "suspended")


async def test_without_a_hint_the_acts_are_read_at_their_own_interval(pair: Neighbours):
    agent = await pair.b.registry.agent(name="Unannounced")
    await read(pair.a, pair.b)
    await administer(pair.b, "suspend", agent.did)
    await pair.b.registry.transactions_ended()
    await pair.a.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE catalogue_peer_sync SET acts_due_at = now(), cards_due_at = now() + interval '1 day'"
        )
    )
    await run_due(pair.a.registry.runtime, PEER_ACTS)
    await run_scheduled_transactions(pair.a.registry.runtime, PEER_PLAN)
    await run_due(pair.a.registry.runtime, PEERS_LOOK, PEER_ACTS)
    assert (await card_at(pair.a, agent.did))["status"] == "suspended"


async def test_a_look_at_a_peer_without_news_begins_no_reading_and_one_out_of_reach_does(pair: Neighbours):
    await read(pair.a, pair.b)
    runtime, peer = pair.a.registry.runtime, await pair.a.peer(pair.b)
    assert await peers_with_acts(runtime) == []
    agent = await pair.b.registry.agent(name="Looked for")
    await administer(pair.b, "suspend", agent.did)
    await pair.b.registry.transactions_ended()
    assert await peers_with_acts(runtime) == [peer.id]
    await read(pair.a, pair.b)
    assert await peers_with_acts(runtime) == []
    move = "UPDATE federation_peer SET federation_base_url = $1"
    await runtime.database.transaction(lambda tx: tx.execute(move, "https://127.0.0.1:9"))
    assert await peers_with_acts(runtime) == [peer.id]
    await runtime.database.transaction(lambda tx: tx.execute(move, peer.federation_base_url))


async def test_a_peer_that_does_not_answer_shows_as_late_to_everyone(pair: Neighbours):
    agent = await pair.b.registry.agent(name="Unheard")
    await read(pair.a, pair.b)
    await administer(pair.b, "suspend", agent.did)
    await react(pair.b)
    (item,) = await receipts(pair.b, agent.did)
    assert (item["state"], item["receipt"]) == ("pending", None)
    await pair.b.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE catalogue_act_notice SET acted_at = acted_at - interval '61 seconds' WHERE agent_did = $1",
            agent.did,
        )
    )
    (item,) = await receipts(pair.b, agent.did)
    assert item["state"] == "late"
    await read(pair.a, pair.b)
    (item,) = await receipts(pair.b, agent.did)
    assert (item["state"], item["seconds"] > 60) == ("late", True)


async def test_a_receipt_of_another_registry_or_with_another_content_is_refused_and_counted(pair: Neighbours):
    agent = await pair.b.registry.agent(name="Forged receipt")
    await read(pair.a, pair.b)
    await act_and_step(pair, "suspend", agent.did)
    (item,) = await receipts(pair.b, agent.did)
    header, payload, signature = item["receipt"].split(".")
    forged = [
        "x",
        f"{header}.{payload}.{signature[::-1]}",
        f"{header}.{payload[:-4]}AAAA.{signature}",
        "é" * 4096,
    ]
    before = (await pair.b.refused(pair.a)).get("receipt_invalid", 0)
    answer = await pair.a.call(
        pair.b, "POST", "/api/v1/federation/enforcement/receipts", {"receipts": [*forged, item["receipt"]]}
    )
    assert (answer.status, answer.body) == (200, b'{"stored":0}'), (
        "a receipt that is stored is not stored again"
    )
    assert (await pair.b.refused(pair.a))["receipt_invalid"] == before + len(forged)


async def test_a_hint_of_what_was_read_already_reads_nothing(pair: Neighbours):
    await read(pair.a, pair.b)
    place = await pair.a.registry.database.query(
        lambda tx: tx.fetchval("SELECT acts_next FROM catalogue_peer_sync")
    )
    answer = await pair.b.call(pair.a, "POST", "/api/v1/federation/hint", {"next": place})
    assert answer.body == b'{"accepted":false}'
    answer = await pair.b.call(pair.a, "POST", "/api/v1/federation/hint", {"next": place + "x"})
    assert answer.body == b'{"accepted":true}'
    assert await run_due(pair.a.registry.runtime, PEER_ACTS) == 1


@pytest.mark.parametrize(("mode", "count"), [("shadow", 1), ("off", 0)])
async def test_in_shadow_a_suspension_is_counted_and_nothing_hidden_and_off_does_neither(
    database_farm: DatabaseFarm, tmp_path: Any, mode: str, count: int
):
    async with neighbours(database_farm, tmp_path, a={"enforcement_propagation_mode": mode}) as pair:
        agent = await pair.b.registry.agent(name="Shadowed")
        await read(pair.a, pair.b)
        before = await counted(pair.a, mode)
        await administer(pair.b, "suspend", agent.did)
        await react(pair.b)
        outcome = await read(pair.a, pair.b)
        assert outcome.hidden == 0
        assert (await card_at(pair.a, agent.did))["status"] == "active"
        assert await names_found(pair.a, "Shadowed") == [agent.did]
        assert await counted(pair.a, mode) - before == count
        (item,) = await receipts(pair.b, agent.did)
        assert item["mode"] == (mode if count else None)


async def counted(one: Neighbour, mode: str) -> float:
    return peer_acts_total.labels("suspended", mode)._value.get()


async def test_a_mirror_of_a_suspended_agent_is_hidden_from_its_first_reading(
    database_farm: DatabaseFarm, tmp_path: Any
):
    async with neighbours(database_farm, tmp_path, a=ENFORCING) as pair:
        agent = await pair.b.registry.agent(name="Never shown")
        await administer(pair.b, "suspend", agent.did)
        await read(pair.a, pair.b)
        assert (await card_at(pair.a, agent.did))["status"] == "suspended"
        assert await names_found(pair.a, "Never shown") == []
        await run_due(pair.a.registry.runtime, PEER_CARDS)
