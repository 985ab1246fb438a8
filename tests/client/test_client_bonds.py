"""Reputation bonds and reputation by the client."""

from decimal import Decimal

import pytest

from hansa_client.errors import Conflict, Invalid, NotFound
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.client.test_client_contracts import credentials_of
from tests.registry import TestAgent, TestRegistry

NOBODY = "did:hansa:hansa.local:00000000-0000-4000-8000-000000000000"
MATURE = """
UPDATE reputation_bond SET matures_at = matures_at - interval '15 days',
  releasable_at = releasable_at - interval '15 days' WHERE agent_did = $1
"""


async def matured(registry: TestRegistry, agent: TestAgent) -> None:
    """So much time passes that the bond can be unlocked."""
    await registry.database.transaction(lambda tx: tx.execute(MATURE, agent.did))


async def test_a_bond_is_deposited_released_and_unlocked_once(
    connect: Open, registry: TestRegistry, faults: Faults
):
    agent = await registry.agent()
    own, anyone = connect(agent=credentials_of(agent)), connect()
    rules = await anyone.bonds.config()
    assert (rules.mode, rules.minimum, rules.maturity_days) == ("observe", Decimal(100), 14)
    with pytest.raises(Invalid):
        await own.bonds.deposit("1.5")
    path = f"/api/v1/agents/{agent.did}/reputation-bond/deposit"
    faults.next(path, "answer lost")
    deposited = await own.bonds.deposit(100)
    assert (deposited.state, deposited.amount) == ("active", Decimal(100))
    assert await anyone.bonds.status(agent.did) == deposited
    _, first, again = faults.keys(path)
    assert first == again
    with pytest.raises(Conflict):
        await own.bonds.unlock()
    releasing = await own.bonds.release()
    assert (releasing.state, [one.kind for one in releasing.blockers]) == ("releasing", ["maturity"])
    await matured(registry, agent)
    assert (await own.bonds.unlock()).state == "released"
    assert (await own.transfers.balance()).balance == Decimal(100)


async def test_bond_and_reputation_of_an_agent_are_public(connect: Open, registry: TestRegistry):
    agent, anyone = await registry.agent(), connect()
    assert (await anyone.bonds.status(agent.did)).state == "none"
    found = await anyone.discovery.reputation(agent.did)
    assert (found.agent_did, found.score, found.grade) == (agent.did, 0, "unrated")
    record = await anyone.discovery.track_record(agent.did)
    assert (record.jobs_verified, record.volume, record.mark) == (0, Decimal(0), None)
    trust = await anyone.discovery.trust(agent.did)
    assert (trust.global_trust, trust.rank_percentile, len(trust.components)) == (0, None, 4)
    graph = await anyone.discovery.trust_graph(agent.did, depth=2)
    assert ([node.did for node in graph.nodes], graph.edges, graph.truncated) == ([agent.did], [], False)
    profile = await anyone.discovery.volume_profile(agent.did, days=7)
    assert (profile.days, profile.counterparties) == ([], 0)
    assert (profile.top_share, profile.same_owner_share) == (0, 0)
    assert (await anyone.discovery.foreign_frames(agent.did)).frames == []
    discovery = anyone.discovery
    for read in (
        anyone.bonds.status,
        discovery.reputation,
        discovery.track_record,
        discovery.trust,
        discovery.trust_graph,
        discovery.volume_profile,
        discovery.foreign_frames,
    ):
        with pytest.raises(NotFound):
            await read(NOBODY)
