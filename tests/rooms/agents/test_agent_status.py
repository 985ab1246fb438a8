"""How an agent is suspended, reinstated and ended, as the rooms above ask for it."""

import pytest

from hansa.rooms import agents, ledger
from hansa.rooms.agents.status import retire
from tests.registry import at_once


async def act(registry, use_case, *given, **named):
    return await registry.database.transaction(lambda tx: use_case(tx, *given, **named))


async def enrolled(registry, agent):
    spiffe_id = "spiffe://hansa.local/agent/" + agent.did.replace(":", "-")
    await registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO agents_mtls (agent_id, spiffe_id, expires_at)"
            " SELECT id, $2, now() + interval '30 minutes' FROM agents_agent WHERE did = $1",
            agent.did,
            spiffe_id,
        )
    )
    return spiffe_id


async def events_of(registry, agent, event_type):
    events = (await registry.get("/public/eventstore-recent")).json()["events"]
    return [
        event["data"]
        for event in events
        if (event["event_type"], event["aggregate_id"]) == (event_type, agent.did)
    ]


async def status(registry, agent):
    return (await registry.get("/agents/me", headers=agent.headers)).status_code


async def test_a_suspended_agent_is_refused_until_it_is_reinstated(registry):
    agent = await registry.agent()
    assert await act(registry, agents.suspend, agent.did) == "suspended"
    assert await act(registry, agents.suspend, agent.did) == "already"
    assert await status(registry, agent) == 403
    assert await act(registry, agents.reinstate, agent.did) == "reinstated"
    assert await act(registry, agents.reinstate, agent.did) == "already"
    assert await status(registry, agent) == 200


async def test_what_is_unknown_is_not_found(registry):
    for use_case in (agents.suspend, agents.reinstate):
        assert await act(registry, use_case, "did:hansa:hansa.local:nobody") == "not_found"
    for use_case in (agents.revoke, retire):
        assert await act(registry, use_case, "did:hansa:hansa.local:nobody", by="agent") == "not_found"


async def test_a_revoked_agent_never_comes_back(registry):
    agent = await registry.agent()
    assert await act(registry, agents.revoke, agent.did, by="administrator") == "revoked"
    assert await act(registry, agents.revoke, agent.did, by="administrator") == "already"
    assert await act(registry, agents.suspend, agent.did) == "revoked"
    assert await act(registry, agents.reinstate, agent.did) == "revoked"
    assert await status(registry, agent) == 403
    assert await events_of(registry, agent, "AgentRevoked") == [{"did": agent.did, "by": "administrator"}]


async def test_the_card_of_a_revoked_agent_leaves_discovery_and_says_so_by_its_key(registry):
    agent = await registry.agent(name="Vanisher")
    await act(registry, agents.revoke, agent.did, by="administrator")
    card = (await registry.get(f"/agent-cards/{agent.did}")).json()
    assert (card["status"], card["is_active"]) == ("revoked", False)
    await registry.indexed()
    assert (await registry.get("/discover", params={"query": "vanisher"})).json()["total"] == 0


async def test_of_two_suspensions_at_once_one_did_it(registry):
    agent = await registry.agent()
    returned = await at_once(*(act(registry, agents.suspend, agent.did) for _ in range(4)))
    assert sorted(returned) == ["already", "already", "already", "suspended"]


async def test_an_agent_that_holds_units_is_not_retired(registry):
    agent = await registry.agent()
    with pytest.raises(ledger.AccountHoldsUnits) as refusal:
        await act(registry, retire, agent.did, by="agent")
    assert refusal.value.context == {"liquid_balance": "100", "staked_balance": "0"}
    assert await status(registry, agent) == 200


async def test_no_unit_reaches_an_agent_that_is_retired(registry):
    developer = await registry.developer()
    payer = await developer.agent()
    empty = await developer.agent(name="Empty")
    assert await act(registry, retire, empty.did, by="agent") == "revoked"
    assert await act(registry, retire, empty.did, by="agent") == "already"
    assert (await payer.transfer(empty, "1")).status_code == 403
    assert await payer.balance() == "100"


async def test_a_retirement_and_a_payment_at_once_never_leave_units_behind(registry):
    developer = await registry.developer()
    payer = await developer.agent()
    for number in range(6):
        empty = await developer.agent(name=f"Empty {number}")

        async def retired(did=empty.did):
            try:
                return await act(registry, retire, did, by="agent")
            except ledger.AccountHoldsUnits:
                return "refused"

        paid, ended = await at_once(payer.transfer(empty, "1"), retired())
        assert (paid.status_code, ended) in {(200, "refused"), (403, "revoked")}


async def test_a_developers_agents_are_listed_in_every_status_the_oldest_first(registry):
    developer = await registry.developer()
    first, second, third = [await developer.agent(name=name) for name in ("One", "Two", "Three")]
    await registry.agent()
    await act(registry, agents.suspend, second.did)
    await act(registry, agents.revoke, third.did, by="administrator")
    developer_id = await registry.database.read(
        lambda tx: tx.fetchval("SELECT developer_id FROM agents_agent WHERE did = $1", first.did)
    )
    listed = await act(registry, agents.of_developer, developer_id)
    assert [(one.did, one.name, one.status) for one in listed] == [
        (first.did, "One", "active"),
        (second.did, "Two", "suspended"),
        (third.did, "Three", "revoked"),
    ]


async def test_an_identity_is_revoked_and_given_back_once(registry):
    agent = await registry.agent()
    spiffe_id = await enrolled(registry, agent)
    assert await act(registry, agents.revoke_mtls, agent.did) == "revoked"
    assert await act(registry, agents.revoke_mtls, agent.did) == "not_enrolled"
    assert await act(registry, agents.restore_mtls, agent.did) == "enrolled"
    assert await act(registry, agents.restore_mtls, agent.did) == "not_enrolled"
    returned = {"did": agent.did, "spiffe_id": spiffe_id}
    assert await events_of(registry, agent, "AgentMtlsRevoked") == [returned]
    assert await events_of(registry, agent, "AgentMtlsEnrolled") == [returned]


async def test_an_agent_without_an_identity_has_none_to_lose_or_regain(registry):
    agent = await registry.agent()
    assert await act(registry, agents.revoke_mtls, agent.did) == "not_enrolled"
    assert await act(registry, agents.restore_mtls, agent.did) == "not_enrolled"


async def test_an_agent_that_is_revoked_loses_its_identity_for_good(registry):
    agent = await registry.agent()
    spiffe_id = await enrolled(registry, agent)
    await act(registry, agents.revoke, agent.did, by="administrator")
    assert await act(registry, agents.restore_mtls, agent.did) == "not_enrolled"
    assert await events_of(registry, agent, "AgentMtlsRevoked") == [
        {"did": agent.did, "spiffe_id": spiffe_id}
    ]
