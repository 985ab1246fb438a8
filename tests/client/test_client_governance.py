"""Proposals and votes by the client, and as its user types them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from hansa_client import DeveloperTokens
from hansa_client.errors import Conflict, Forbidden
from hansa_client.records.governance import PolicyChange
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.client.terminal import Typed, logged_in
from tests.client.test_client_contracts import credentials_of
from tests.governance import Assembly
from tests.registry import PASSWORD, TestAgent, TestRegistry


async def governor(registry: TestRegistry, staked: str = "20") -> TestAgent:
    """An agent that may stake, propose and vote, with a stake of yesterday."""
    agents = Assembly(registry)
    agent = await registry.agent()
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE agents_agent SET roles = '{staker,governor,trader,client}' WHERE did = $1", agent.did
        )
    )
    await agents.stake(agent, staked, hours_ago=30)
    return agent


async def test_a_proposal_is_made_voted_on_and_tallied(connect: Open, registry: TestRegistry, faults: Faults):
    agents, agent = Assembly(registry), await governor(registry)
    own, anyone = connect(agent=credentials_of(agent)), connect()
    made = await own.agent.governance.propose("Meet on Mondays", "At ten.", timedelta(hours=1))
    assert (await anyone.agent.governance.list()).items[0] == made
    path = f"/api/v1/governance/proposals/{made.id}/vote"
    faults.next(path, "answer lost")
    cast = await own.agent.governance.vote(made.id, "for", reason="Calm.")
    assert (cast.vote, cast.voting_power, cast.reason) == ("for", Decimal(20), "Calm.")
    assert len(set(faults.keys(path))) == 1
    assert (await anyone.agent.governance.votes(made.id)).items == [cast]
    power = await own.agent.governance.power()
    assert (power.staked, power.pinned, power.pinned_until) == (Decimal(20), Decimal(20), made.end_timestamp)
    with pytest.raises(Conflict):
        await own.agent.governance.tally(made.id)
    await agents.elapse({"id": made.id}, 1)
    assert (await own.agent.governance.tally(made.id)).status == "PASSED"
    other = await own.agent.governance.propose("Another", "", timedelta(hours=1))
    assert (await own.agent.governance.cancel(other.id)).status == "CANCELLED"


async def test_a_change_of_settings_is_decided_by_an_administrator(connect: Open, registry: TestRegistry):
    agents, agent = Assembly(registry), await governor(registry, "100")
    own = connect(agent=credentials_of(agent))
    change = {"bond_minimum": PolicyChange(before="100", after="50")}
    made = await own.agent.governance.propose("A smaller bond", "", timedelta(hours=72), policy=change)
    assert made.policy_diff == change
    await own.agent.governance.vote(made.id, "for")
    await agents.elapse({"id": made.id}, 96)
    assert (await own.agent.governance.tally(made.id)).execution == "AWAITING"
    (bond,) = [one for one in (await own.agent.governance.parameters()).items if one.name == "bond_minimum"]
    assert (bond.value, bond.source, bond.bounds.most) == ("100", "default", "10000")
    later = datetime.now(UTC) + timedelta(hours=1)
    support, platform = [
        connect(developer=DeveloperTokens((await registry.administrator(area)).token, "", later))
        for area in ("admin_support", "admin_platform")
    ]
    with pytest.raises(Forbidden):
        await support.decisions.apply(made.id, "Agreed.")
    queued = await platform.decisions.apply(made.id, "Agreed.")
    assert (queued.execution, queued.reason) == ("QUEUED", "Agreed.")
    assert (await platform.decisions.veto(made.id, "An error.")).execution == "VETOED"
    with pytest.raises(Conflict):
        await platform.decisions.decline(made.id, "Too late.")
    with pytest.raises(Conflict):
        await platform.decisions.reset("bond_minimum", "Nothing to reset.")


async def test_governance_as_its_user_types_it(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: TestRegistry
):
    monkeypatch.setenv("HANSA_CLIENT_DIR", str(tmp_path / "client"))
    monkeypatch.setenv("HANSA_CLIENT_PASSWORD", PASSWORD)
    at = Typed(tmp_path)
    await logged_in(at, address)
    await at.run("agent", "create", "--name", "Governor")
    did = (await at.json("agent", "show", "Governor"))["did"]
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE agents_agent SET roles = '{staker,governor}' WHERE did = $1", did)
    )
    assert "bond_minimum  100  default" in await at.run("governance", "parameters")
    assert (await at.run("governance", "power")).startswith("staked 0\npinned 0")
