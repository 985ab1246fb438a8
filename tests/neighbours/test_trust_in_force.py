"""Peer trust with PEER_TRUST_MODE=enforce: refused requests, the state that refuses them, and readers of the reason (Specification 2 and 6 W 20)."""

import json
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest

from hansa.foundation.plumbing import jobs
from hansa.rooms.catalogue.peer_jobs import PEER_CARDS
from hansa.rooms.federation.peer_trust import ask_peers, classify_peers
from tests.neighbours.crossing_scene import LostCalls, across, refusal, run
from tests.neighbours.reading_peers import read
from tests.neighbours.two_registries import Neighbours, neighbours
from tests.registry import DatabaseFarm
from tests.running_jobs import run_due, time_passes

NUMBERS = count()
ENFORCING = {"peer_trust_mode": "enforce", "peer_trust_min_interactions": 5}


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("trust"), a=ENFORCING) as pair:
        yield pair


@pytest.fixture(autouse=True)
async def unmeasured(pair: Neighbours) -> None:
    await run(pair.a, "DELETE FROM federation_peer_signal")
    await run(pair.a, "UPDATE federation_peer SET trust_state = 'unmeasured', total_interactions = 0")


async def observed(pair: Neighbours, *, crossings: int, disputes_lost: int) -> str:
    """Record these observations of registry a about b, and return the state that follows."""
    peer = await pair.a.peer(pair.b)
    for _ in range(crossings):
        await run(
            pair.a,
            "INSERT INTO federation_peer_signal (peer_id, kind, mark) VALUES ($1, 'crossing', $2)",
            peer.id,
            f"{next(NUMBERS)}",
        )
    for _ in range(disputes_lost):
        await run(
            pair.a,
            "INSERT INTO federation_peer_signal (peer_id, kind, mark) VALUES ($1, 'dispute_lost', $2)",
            peer.id,
            f"{next(NUMBERS)}",
        )
    await run(
        pair.a,
        "UPDATE federation_peer SET total_interactions = total_interactions + $1",
        crossings + disputes_lost,
    )
    await pair.a.registry.database.transaction(lambda tx: classify_peers(tx, pair.a.registry.runtime))
    return (await pair.a.peer(pair.b)).trust_state


async def public_report(pair: Neighbours) -> dict[str, Any]:
    answer = await pair.a.registry.get("/federation/peer-trust")
    assert answer.status_code == 200, answer.text
    (found,) = answer.json()["peers"]
    report: dict[str, Any] = found
    return report


async def test_a_restricted_peers_cards_are_refused_and_its_crossings_are_not(pair: Neighbours):
    assert await observed(pair, crossings=8, disputes_lost=2) == "restricted"
    agent = await pair.b.registry.agent(name="Refused at the door")
    outcome = await read(pair.a, pair.b)
    assert outcome.refused == {"trust_restricted": 1}
    assert (await pair.a.registry.get(f"/agents/by-did/{agent.did}")).status_code == 404
    assert (await pair.a.refused(pair.b))["trust_restricted"] >= 1
    alice = await pair.a.registry.agent()
    assert (await across(alice, agent.did, "1")).status_code == 200


async def test_a_suspended_peers_crossings_are_refused_as_well_in_both_directions(pair: Neighbours):
    assert await observed(pair, crossings=0, disputes_lost=6) == "suspended"
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    assert (await refusal(await across(alice, bob.did, "1")))[1] == "PEER_SUSPENDED"
    assert (await refusal(await across(bob, alice.did, "1")))[1] == "PEER_SUSPENDED"
    assert (await read(pair.a, pair.b)).refused == {"trust_restricted": 1}


async def test_a_restricted_peer_is_lifted_only_past_the_margin(pair: Neighbours):
    assert await observed(pair, crossings=8, disputes_lost=2) == "restricted"
    # 1 + 11 of 2 + 11 + 10 is 0.52: above the threshold, and not past the margin.
    assert await observed(pair, crossings=3, disputes_lost=0) == "restricted"
    assert await observed(pair, crossings=4, disputes_lost=0) == "warn"


async def test_the_counts_of_evidence_and_the_reason_are_public(pair: Neighbours):
    await observed(pair, crossings=8, disputes_lost=2)
    report = await public_report(pair)
    assert report["evidence"] == {
        "crossings": 8,
        "disputes_lost": 2,
        "cards_refused": 0,
        "unanswered": 0,
        "swaps_aborted": 0,
    }
    assert (report["state"], report["refuses"]) == ("restricted", ["cards"])
    assert report["reason"] == "The score 0.45 is or was below 0.50; lifted from 0.55 on."


async def test_a_warned_peer_sees_it_in_its_own_registry(pair: Neighbours):
    assert await observed(pair, crossings=10, disputes_lost=1) == "warn"
    await ask_peers(pair.b.registry.runtime)
    administrator = await pair.b.registry.administrator("admin_platform")
    answer = await pair.b.registry.get("/admin/federation/peer-trust", headers=administrator.headers)
    (own,) = answer.json()["own"]
    assert own.pop("read_at")
    assert own.pop("score") == pytest.approx(11 / 17, abs=1e-4)
    assert own == {
        "peer": "a.example",
        "mode": "enforce",
        "state": "warn",
        "interactions": 11,
        "reason": "The score 0.65 is below 0.70.",
    }


async def test_a_peer_reads_the_verdict_on_itself_alone(pair: Neighbours):
    answer = await pair.b.call(pair.a, "GET", "/api/v1/federation/peer-trust/mine")
    assert json.loads(answer.body)["trust"]["ledger_id"] == "b.example"
    public = await pair.a.registry.get("/federation/peer-trust/mine")
    assert public.status_code == 401


async def test_a_request_without_an_answer_is_evidence_once_an_hour(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    calls = LostCalls(monkeypatch)
    calls.loses = lambda _: "request"
    peer = await pair.a.peer(pair.b)
    for _ in range(2):
        await pair.a.registry.database.transaction(lambda tx: jobs.enqueue(tx, PEER_CARDS.name, str(peer.id)))
        await time_passes(pair.a.registry.runtime, 3600)
        await run_due(pair.a.registry.runtime, PEER_CARDS)
    assert (await public_report(pair))["evidence"]["unanswered"] == 1
