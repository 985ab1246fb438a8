"""The specification on peer trust: counted acts, the states that follow, and their readers."""

from datetime import timedelta
from typing import Any

import pytest

from hansa.rooms import federation
from hansa.rooms.federation import PeerRecord, SignalKind
from hansa.rooms.federation.peer_trust import classify_peers
from tests.hostile.credentials import peer_of
from tests.registry import StartRegistry, TestRegistry

ROUTE = "/admin/federation/peer-trust"


async def add(registry: TestRegistry) -> PeerRecord:
    """An active peer."""
    await peer_of(registry, "peer.example")
    return await registry.database.read(lambda tx: federation.peer_by_name(tx, "peer.example"))


async def record(registry: TestRegistry, peer: PeerRecord, kind: SignalKind, mark: str = "") -> bool:
    return await registry.database.transaction(lambda tx: federation.record_signal(tx, peer.id, kind, mark))


async def age(registry: TestRegistry, by: timedelta) -> None:
    """Everything observed so far becomes older."""
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE federation_peer_signal SET at = at - $1::interval, mark = CASE kind WHEN 'dispute_lost' THEN mark"
            " ELSE md5(mark || clock_timestamp()) END",
            by,
        )
    )


async def report(registry: TestRegistry) -> dict[str, Any]:
    await registry.database.transaction(lambda tx: classify_peers(tx, registry.runtime))
    administrator = await registry.administrator("admin_platform")
    answer = await registry.get(ROUTE, headers=administrator.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


async def test_without_evidence_a_peer_is_unmeasured_and_reads_a_half(registry: TestRegistry):
    peer = await add(registry)
    returned = await report(registry)
    assert returned["mode"] == "observe"
    assert returned["thresholds"] == {
        "min_interactions": 10,
        "warn_below": 0.7,
        "restrict_below": 0.5,
        "suspend_below": 0.3,
        "recover_margin": 0.05,
    }
    assert returned["summary"] == {"unmeasured": 1}
    assert returned["peers"] == [
        {
            "name": peer.name,
            "ledger_id": "peer.example",
            "state": "unmeasured",
            "score": 0.5,
            "interactions": 0,
            "evidence": {
                "crossings": 0,
                "disputes_lost": 0,
                "cards_refused": 0,
                "unanswered": 0,
                "swaps_aborted": 0,
            },
            "reason": "0 interactions; 10 are needed for a measurement.",
            "refuses": [],
        }
    ]


async def test_ten_crossings_of_an_hour_count_and_one_of_the_other_kinds(registry: TestRegistry):
    peer = await add(registry)
    assert [await record(registry, peer, "crossing") for _ in range(12)] == [True] * 10 + [False] * 2
    for kind in ("unanswered", "swap_aborted"):
        assert [await record(registry, peer, kind) for _ in range(2)] == [True, False]
    assert await record(registry, peer, "card_refused", "did:hansa:peer.example:1 7")
    assert not await record(registry, peer, "card_refused", "did:hansa:peer.example:2 1")
    (found,) = (await report(registry))["peers"]
    assert found["evidence"] == {
        "crossings": 10,
        "disputes_lost": 0,
        "cards_refused": 1,
        "unanswered": 1,
        "swaps_aborted": 1,
    }
    assert (found["interactions"], found["state"]) == (13, "ok")
    assert found["score"] == pytest.approx(11 / 15, abs=1e-4)


async def test_a_refused_card_counts_once_per_did_and_version_and_a_lost_dispute_once(registry: TestRegistry):
    peer = await add(registry)
    mark = "did:hansa:peer.example:1 7"
    assert await record(registry, peer, "card_refused", mark)
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE federation_peer_signal SET at = at - interval '2 hours'")
    )
    assert not await record(registry, peer, "card_refused", mark)
    assert await record(registry, peer, "card_refused", "did:hansa:peer.example:1 8")
    assert [await record(registry, peer, "dispute_lost", mark) for mark in ("d-1", "d-2", "d-1")] == [
        True,
        True,
        False,
    ]
    after = await registry.database.read(lambda tx: federation.peer_by_id(tx, peer.id))
    assert (after.total_interactions, after.disputes_lost_with) == (4, 2)
    assert after.last_interaction_at is not None


async def test_evidence_halves_in_ninety_days_and_interactions_do_not(registry: TestRegistry):
    peer = await add(registry)
    for _ in range(10):
        await record(registry, peer, "crossing")
    await age(registry, timedelta(days=90))
    (found,) = (await report(registry))["peers"]
    assert found["score"] == pytest.approx(6 / 7, abs=1e-4)
    assert (found["interactions"], found["evidence"]["crossings"]) == (10, 10)
    await age(registry, timedelta(days=700))
    (found,) = (await report(registry))["peers"]
    assert (found["score"], found["interactions"], found["evidence"]["crossings"]) == (0.5, 10, 0)


async def test_mode_observe_classifies_and_reports_and_has_no_effect(registry: TestRegistry):
    peer = await suspended(registry)
    assert peer.trust_state == "suspended"
    assert federation.accepts_cards(peer, registry.settings)


async def test_mode_enforce_refuses_the_cards_of_a_restricted_peer_and_what_crosses_of_a_suspended_one(
    start_registry: StartRegistry,
):
    registry = await start_registry(peer_trust_mode="enforce", peer_trust_min_interactions=3)
    peer = await add(registry)
    assert federation.accepts_cards(peer, registry.settings)
    peer = await suspended(registry, peer)
    assert not federation.accepts_cards(peer, registry.settings)


async def test_mode_off_classifies_nothing(start_registry: StartRegistry):
    registry = await start_registry(peer_trust_mode="off", peer_trust_min_interactions=3)
    assert (await suspended(registry)).trust_state == "unmeasured"
    assert (await report(registry))["mode"] == "off"


async def test_only_an_administrator_of_the_platform_reads_peer_trust(registry: TestRegistry):
    assert (await registry.get(ROUTE)).status_code == 401
    for headers in (
        (await registry.developer()).headers,
        (await registry.administrator("admin_federation")).headers,
    ):
        assert (await registry.get(ROUTE, headers=headers)).status_code == 403


async def test_a_signal_of_a_peer_that_is_gone_counts_for_nothing(registry: TestRegistry):
    peer = await add(registry)
    await registry.database.transaction(lambda tx: tx.execute("DELETE FROM federation_peer"))
    for kind in ("crossing", "unanswered", "card_refused"):
        assert not await record(registry, peer, kind)  # type: ignore[arg-type]


async def suspended(registry: TestRegistry, peer: PeerRecord | None = None) -> PeerRecord:
    """A peer that lost ten disputes."""
    known = peer or await add(registry)
    for number in range(10):
        await record(registry, known, "dispute_lost", f"d-{number}")
    await registry.database.transaction(lambda tx: classify_peers(tx, registry.runtime))
    return await registry.database.read(lambda tx: federation.peer_by_id(tx, known.id))
