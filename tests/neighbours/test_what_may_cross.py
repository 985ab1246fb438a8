"""Conditions for a crossing between two registries: licences of both sides, pauses, quarantine and scores."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from hansa.rooms import federation
from hansa.rooms.federation import CertificateRequest, Delivered, Subject
from tests.neighbours.licensed_network import Network, licensed_network
from tests.registry import DatabaseFarm


@pytest.fixture
async def network(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Network]:
    async with licensed_network(database_farm, tmp_path_factory.mktemp("licensed")) as network:
        yield network


async def test_both_sides_cross_with_a_licence_chained_to_the_genesis(network: Network):
    a, b = network.pair.a, network.pair.b
    assert await network.outcome(a, b) == "LICENCE_REQUIRED own unverified"
    for one, other in ((a, b), (b, a)):
        await network.refresh(one)
        assert await network.outcome(one, other) == "crosses"


async def test_a_revoked_licence_ends_crossing_on_both_sides_although_its_holder_says_nothing(
    network: Network,
):
    a, b = network.pair.a, network.pair.b
    for one in (a, b):
        await network.refresh(one)
    await network.change("revoke", "Fraud.")
    for one in (a, b):
        await network.refresh(one)
    assert await network.outcome(a, b) == "LICENCE_REQUIRED peer revoked"
    assert await network.outcome(b, a) == "LICENCE_REQUIRED own revoked"


async def test_a_licence_counts_no_longer_than_the_lists_it_rests_on(network: Network):
    a, b = network.pair.a, network.pair.b
    await network.refresh(b)
    await network.execute(
        b, "UPDATE federation_licence_verdict SET valid_until = clock_timestamp() - interval '1 second'"
    )
    assert await network.outcome(b, a) == "LICENCE_REQUIRED own unverified"


async def test_an_older_list_never_replaces_a_newer_one(network: Network):
    b = network.pair.b
    await network.refresh(b)
    rows = await b.registry.database.query(
        lambda tx: tx.fetch("SELECT trust_domain, kid, list, generated_at FROM federation_licence_list")
    )
    (kept,) = rows
    await network.execute(
        b, "UPDATE federation_licence_list SET generated_at = generated_at + 30, list = 'newer'"
    )
    await network.refresh(b)
    assert (
        await b.registry.database.query(lambda tx: tx.fetchval("SELECT list FROM federation_licence_list"))
        == "newer"
    )
    assert kept["trust_domain"] == "a.example"


async def test_a_card_that_states_another_licence_than_was_verified_is_refused(network: Network):
    a, b = network.pair.a, network.pair.b
    await network.refresh(b)
    await network.execute(
        b, "UPDATE federation_licence_verdict SET hash = repeat('0', 64) WHERE ledger_id = 'a.example'"
    )
    assert await network.outcome(b, a) == "LICENCE_REQUIRED peer unverified"


async def test_two_registries_without_any_genesis_can_trade_and_required_asks_for_licences(network: Network):
    a, b = network.pair.a, network.pair.b
    await network.execute(b, "DELETE FROM federation_network_certificate")
    assert await network.outcome(b, a, federation_root_hash=None) == "crosses"
    assert (
        await network.outcome(b, a, federation_root_hash=None, federation_licences="required")
        == "LICENCE_REQUIRED own unverified"
    )
    assert await network.outcome(b, a, federation_licences="off") == "crosses"


async def test_inside_one_trust_domain_nothing_is_checked(network: Network):
    a, b = network.pair.a, network.pair.b
    assert await network.outcome(b, a, trust_domain="a.example", federation_licences="required") == "crosses"


async def test_a_paused_a_quarantined_and_a_suspended_peer_are_refused(network: Network):
    a, b = network.pair.a, network.pair.b
    off: dict[str, Any] = {"federation_licences": "off"}
    await network.execute(b, "UPDATE federation_peer SET trust_state = 'suspended'")
    assert await network.outcome(b, a, **off) == "crosses"
    assert await network.outcome(b, a, **off, peer_trust_mode="enforce") == "PEER_SUSPENDED"
    await network.execute(
        b, "UPDATE federation_peer SET quarantined_at = now(), quarantine_reason = 'Looked at.'"
    )
    assert await network.outcome(b, a, **off) == "PEER_PAUSED"
    await network.execute(
        b,
        "UPDATE federation_peer SET quarantined_at = NULL, quarantine_reason = NULL, status = 'inactive', paused_at = now()",
    )
    assert await network.outcome(b, a, **off) == "PEER_PAUSED"


async def test_a_blocklisted_agent_is_refused(network: Network):
    database = network.pair.a.registry.database
    agent = await network.pair.a.registry.agent()
    await database.read(lambda tx: federation.require_not_blocked(tx, agent.did))
    await network.execute(
        network.pair.a, f"INSERT INTO federation_blocklist (did, since) VALUES ('{agent.did}', now())"
    )
    with pytest.raises(federation.AgentBlocked) as refused:
        await database.read(lambda tx: federation.require_not_blocked(tx, "did:hansa:x", agent.did))
    assert (refused.value.status, refused.value.code) == (403, "AGENT_BLOCKED")
    assert refused.value.context == {"did": agent.did}


async def test_inside_one_trust_domain_no_licence_is_asked_for(network: Network):
    a, b = network.pair.a, network.pair.b
    demanded = {"federation_licences": "required"}
    assert await network.outcome(a, b, **demanded) == "LICENCE_REQUIRED own unverified"
    assert await network.outcome(a, b, **demanded, trust_domain="b.example") == "crosses"
    await network.execute(a, "UPDATE federation_peer SET status = 'inactive', paused_at = now()")
    assert await network.outcome(a, b, **demanded, trust_domain="b.example") == "PEER_PAUSED"


async def test_crossing_goes_on_while_a_frame_rotates_its_licence_signing_key(network: Network):
    a, b = network.pair.a, network.pair.b
    runtime_a, runtime_b = a.registry.runtime, b.registry.runtime
    settings = network.settings(b)
    new = await runtime_b.database.transaction(
        lambda tx: federation.rotate_licensing_key(tx, None, settings, runtime_b.seal, reason=None)
    )
    assert new.is_waiting
    for one, other in ((a, b), (b, a)):
        await network.refresh(one)
        assert await network.outcome(one, other) == "crosses"
    subject = Subject("b.example", "registry-b", b.public_url)
    request = CertificateRequest(subject, "founding", new.public_key, None, states_term=False)
    issued = await runtime_a.database.transaction(
        lambda tx: federation.issue_certificate(tx, None, runtime_a.settings, runtime_a.seal, request)
    )
    genesis = await runtime_a.database.read(lambda tx: federation.held_licence(tx, runtime_a.settings))
    assert genesis is not None
    delivered = Delivered(issued.certificate, [genesis.network.certificate])
    await runtime_b.database.transaction(
        lambda tx: federation.join_network(tx, None, settings, runtime_b.seal, delivered)
    )
    assert await runtime_b.database.read(federation.licensing_public_key) == new.public_key
    await federation.sync_by_name(runtime_a, None, "registry-b")
    for one, other in ((a, b), (b, a)):
        await network.refresh(one)
        assert await network.outcome(one, other) == "crosses"
