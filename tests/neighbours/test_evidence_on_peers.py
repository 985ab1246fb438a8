"""The specification on peer trust between two registries: acts that count as evidence by themselves, and the effect of a state."""

from collections import Counter
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from hansa.foundation.plumbing.outgoing import Answer, HostUnreachable
from hansa.rooms.federation import SYNC_PEER
from hansa.rooms.federation.peer_trust.recording import peers
from tests.neighbours.agreeing_scene import AgreementAbroad
from tests.neighbours.crossing_scene import across, run
from tests.neighbours.reading_peers import names_found, read
from tests.neighbours.test_malicious_peer import Malicious, malicious
from tests.neighbours.two_registries import Neighbours

__all__ = ["malicious"]


async def evidence(pair: Neighbours) -> Counter[str]:
    rows = await pair.a.registry.database.query(
        lambda tx: tx.fetch("SELECT kind, count(*) AS times FROM federation_peer_signal GROUP BY kind")
    )
    return Counter({row["kind"]: row["times"] for row in rows})


async def test_a_crossing_and_a_request_without_an_answer_count_once_an_hour(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    assert (await across(alice, bob.did, "1")).status_code == 200
    assert await evidence(pair) == {"crossing": 1}

    async def unreachable(*_: Any, **__: Any) -> Answer:
        raise HostUnreachable

    monkeypatch.setattr(peers, "call_peer", unreachable)
    for _ in range(2):
        with pytest.raises(HostUnreachable):
            await pair.a.call(pair.b, "GET", "/api/v1/federation/agent-cards")
    assert await evidence(pair) == {"crossing": 1, "unanswered": 1}


async def test_a_dispute_that_an_agent_of_the_peer_lost_counts(pair: Neighbours):
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.submitted()
    body = {
        "defendant_did": abroad.provider.did,
        "reason_code": "POOR_QUALITY",
        "description": "Half of it is missing.",
        "contract_id": contract_id,
    }
    filed = await pair.a.registry.post("/disputes/", json=body, headers=abroad.contractor.headers)
    administrator = await pair.a.registry.administrator("admin_enforcement")
    path = f"/api/v1/admin/disputes/{filed.json()['id']}"
    opened = await pair.a.registry.http.put(f"{path}/open-voting", headers=administrator.headers)
    assert opened.status_code == 200, opened.text
    assert (await evidence(pair))["dispute_lost"] == 0
    ruling = {"ruling": "IN_FAVOR_OF_COMPLAINANT", "slash_amount": "1", "note": "It is incomplete."}
    for _ in range(2):
        ruled = await pair.a.registry.http.put(f"{path}/ruling", json=ruling, headers=administrator.headers)
        assert ruled.status_code == 200, ruled.text
    assert ruled.json()["defendant_did"] == abroad.provider.did
    assert (await evidence(pair))["dispute_lost"] == 1
    assert (await abroad.read(contract_id))["status"] == "CLOSED"


async def test_cards_of_a_restricted_peer_are_refused_where_scores_have_effects_and_it_is_still_asked(
    pair: Neighbours,
):
    await pair.b.registry.agent(name="Restricted wanderer")
    await run(pair.a, "UPDATE federation_peer SET trust_state = 'restricted'")
    try:
        runtime = pair.a.registry.runtime
        enforcing = replace(
            runtime, settings=runtime.settings.model_copy(update={"peer_trust_mode": "enforce"})
        )
        peer = await pair.a.peer(pair.b)
        outcome = await SYNC_PEER.of(runtime)(enforcing, peer)
        assert outcome.refused["trust_restricted"] == 1
        assert await names_found(pair.a, "Restricted wanderer") == []
    finally:
        await run(pair.a, "UPDATE federation_peer SET trust_state = 'ok'")
    await read(pair.a, pair.b)
    assert len(await names_found(pair.a, "Restricted wanderer")) == 1


async def test_the_page_of_a_measured_peer_recommends_to_act_on_what_is_observed(pair: Neighbours):
    for state, expected in (
        ("unmeasured", ["ENFORCEMENT_PROPAGATION_MODE=enforce"]),
        ("warn", ["PEER_TRUST_MODE=enforce", "ENFORCEMENT_PROPAGATION_MODE=enforce"]),
    ):
        await run(pair.a, "UPDATE federation_peer SET trust_state = $1", state)
        address = "/federation/peers/registry-b"
        assert (await pair.a.registry.http.get(f"{address}.json")).json()["recommended"] == expected
        page = await pair.a.registry.http.get(address)
        assert ("PEER_TRUST_MODE=enforce" in page.text) == (state == "warn")


async def test_a_card_that_is_refused_counts_by_did_and_version(malicious: Malicious):
    pair = malicious.pair
    did = f"did:hansa:b.example:{uuid4()}"
    forged = {**malicious.item(3, did), "version": 4}
    page = malicious.page(forged, malicious.item(7, f"did:hansa:third.example:{uuid4()}"))
    assert sum((await malicious.refused(page, page)).values()) >= 2
    found = await pair.a.registry.database.query(
        lambda tx: tx.fetchval("SELECT mark FROM federation_peer_signal WHERE kind = 'card_refused'")
    )
    assert found == f"{did} 4"
