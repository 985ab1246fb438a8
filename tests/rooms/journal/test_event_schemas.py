"""The schemas of docs/events are those of the code, and the events of the journal keep to them."""

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from hansa.foundation.events import event_types
from hansa.foundation.events.schemas import event_schema, schema_file
from tests.all_events import require_schemas_kept
from tests.connections import connect
from tests.organizations import found
from tests.paying import Payments
from tests.registry import StartRegistry, TestAgent, TestDeveloper, TestRegistry
from tests.rooms.catalogue.pulls.agent_host import hosted_agent, hosting, pull_cards
from tests.rooms.commerce.agreements import Agreements, in_days
from tests.rooms.commerce.disputing import EVIDENCE, FOR_COMPLAINANT, Disputing
from tests.rooms.ledger.purses import Purses
from tests.rooms.ledger.treasury import destroy
from tests.rooms.reputation.bonded import DAY, Bonded
from tests.treasuries import ONE_OWNER, fund, pay, ruled
from tests.treasuries import act as decide
from tests.wallets import TestWallet
from tests.work_orders import offering

# The conversation has no other registry; tests/neighbours and tests/conversations/test_peers.py see these.
OF_FEDERATION = {
    "ContractOfPeerMoved",
    "ContractOverpaid",
    "CrossRegistryTransferCompleted",
    "DisputeCompensationRefused",
    "PeerRegistryDeactivated",
    "RegistryFederated",
    "RegistryQuarantined",
    "UnitsUnwrapped",
    "UnitsWrapped",
}
# Conversations of these rooms require their schemas (`require_schemas_kept`).
OF_OTHER_CONVERSATIONS = {
    "AgentDeployed",
    "AgentDeploymentFailed",
    "AgentSpawned",
    "AgentVersionActivated",
    "AttestationRevoked",
    "AttestationVerified",
    "BalanceCorrected",
    "BookChanged",
    "FlarePurchased",
    "LaunchClosed",
    "ListingApproved",
    "ListingDelisted",
    "ListingExpired",
    "ListingHalted",
    "ListingResumed",
    "OrderEnded",
    "OrderPlaced",
    "PipelineRunEnded",
    "PipelineRunStarted",
    "PointsMoved",
    "PolicyApplied",
    "PolicyReset",
    "PolicyScheduled",
    "PolicyVetoed",
    "ProposalCreated",
    "ProposalTallied",
    "RevenueDistributed",
    "RevenueLevied",
    "RewardsAutoCompounded",
    "SupportTicketAnswered",
    "SupportTicketMoved",
    "SupportTicketOpened",
    "TradeExecuted",
    "VoteCast",
    "WorkOrderBidLost",
}

DOCS = Path(__file__).parents[3] / "docs" / "events"


def test_the_schemas_in_the_docs_are_those_of_the_code():
    kept = {file.name: file.read_text() for file in DOCS.glob("*.json")}
    assert kept == {f"{kind.__name__}.json": schema_file(kind) for kind in event_types()}, (
        "docs/events is stale: run `make events`"
    )


@pytest.mark.parametrize("kind", event_types(), ids=lambda kind: kind.__name__)
def test_a_schema_is_one_of_the_stated_dialect(kind: type[Any]):
    schema = event_schema(kind)
    jsonschema_rs.meta.validate(schema)
    assert schema["description"].splitlines()[0].endswith(".")
    assert set(schema["required"]) <= schema["properties"].keys()


async def test_every_event_of_a_conversation_keeps_to_its_schema(start_registry: StartRegistry):
    async with hosting() as agents:
        registry = await start_registry(
            enable_projection_snapshots=True,
            agent_rbac_default_roles="trader,staker",
            staking_rewards_enabled=True,
            outgoing_allow_user_hosts=agents.place,
        )
        agents.serve()
        await hosted_agent(registry, agents.url)
        await pull_cards(registry)
    administrator = await registry.administrator("admin_platform", "admin_enforcement")
    payer, payee, owner = await registry.agent(), await registry.agent(), await registry.developer()
    owned = await owner.agent()
    assert (await payer.transfer(payee, "1", message="for you")).status_code == 200
    assert (await payer.transfer(payee, "0.00000001")).status_code == 200
    stake = await registry.post("/staking/stake", json={"amount": "10"}, headers=payer.headers)
    assert stake.status_code == 200
    # Units that lay staked for a year have earned something.
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE ledger_stake_position SET staked_at = staked_at - interval '1 year'")
    )
    assert (await registry.post("/staking/claim-rewards", headers=payer.headers)).status_code == 200
    unstake = await registry.post("/staking/unstake", json={"amount": "3"}, headers=payer.headers)
    assert unstake.status_code == 200
    await registry.http.put(
        "/api/v1/admin/event-emission-policies/TokensStaked",
        json={"emit_from_teg": False},
        headers=administrator.headers,
    )
    assert (
        await registry.post("/admin/projection-snapshot", headers=administrator.headers)
    ).status_code == 200
    await destroy(registry, 5, "a test")
    await _pay_for_calls(registry)
    await _make_contracts(payer, payee)
    await _bond(payer)
    await _dispute(payer, payee, administrator)
    await _suspend_and_revoke(payee, administrator)
    authz, policy = f"/api/v1/agents/{owned.did}/authz", {"spend_policy": {"approval_over": "0"}}
    await registry.http.put(authz, json=policy, headers=owner.headers)
    assert (await owned.transfer(payer, "1")).status_code == 202
    acts = {
        "agents/me/rotate-signing-key": payer.headers,
        f"agents/{owned.did}/rotate-secret": owner.headers,
        f"agents/{owned.did}/act-token": owner.headers,
    }
    for path, headers in acts.items():
        assert (await registry.post(f"/{path}", json={}, headers=headers)).status_code == 200
    await _admit_and_end(registry)
    await _organize(registry)
    connected = await connect(registry)
    revoked = {"token": connected.access_token, "client_id": connected.client_id}
    assert (await registry.http.post("/oauth/revoke", data=revoked)).status_code == 200
    seen = await require_schemas_kept(registry.database)
    kinds = {kind.__name__ for kind in event_types()}
    assert kinds - seen <= {"SupplyInvariantBreach", *OF_FEDERATION, *OF_OTHER_CONVERSATIONS}


async def _pay_for_calls(registry: TestRegistry) -> None:
    """One payment that is settled and one that the caller can no longer cover, and a wallet bound and unbound."""
    payments = await Payments.between_two(registry)
    tokens = [(await payments.authorized("60"))["token"] for _ in range(2)]
    settled = [(await payments.settle(token, wait=30)).json()["status"] for token in tokens]
    assert settled == ["settled", "failed"]
    wallet = TestWallet()
    assert (await wallet.bind(payments.caller)).is_success
    unbound = await registry.http.delete(
        f"/api/v1/agents/me/wallets/{wallet.address}", headers=payments.caller.headers
    )
    assert unbound.is_success


async def _bond(agent: TestAgent) -> None:
    """A bond that is deposited, slashed, and released."""
    bonded = Bonded(
        Agreements(Purses(agent.registry, await agent.registry.developer()), await agent.registry.developer())
    )
    await bonded.agreements.purses.grant(agent, "150")
    await bonded.act(agent, "deposit", amount="150")
    await bonded.slash(agent, "1", "a test of schemas")
    await bonded.act(agent, "release")
    await bonded.elapse(agent, 15 * DAY)
    await bonded.act(agent, "unlock")


async def _make_contracts(contractor: TestAgent, provider: TestAgent) -> None:
    """One contract that is completed, and one for each other end."""
    registry = contractor.registry
    parts = [{"title": "One", "amount": "0.1"}, {"title": "Two", "amount": "0.1"}]
    agreements = Agreements(Purses(registry, await registry.developer()), await registry.developer())
    done = await agreements.accepted(contractor, provider, amount="0.2", milestones=parts)
    for act in ("request-changes", "approve-completion", "approve-completion"):
        await agreements.act(provider, done, "submit")
        await agreements.act(contractor, done, act)
    await agreements.act(contractor, await agreements.accepted(contractor, provider), "mark-failed")
    await agreements.act(contractor, await agreements.propose(contractor, None), "cancel")
    await agreements.elapse(await agreements.propose(contractor, provider, submit_by=in_days(1)), 86_401)


async def _dispute(payer: TestAgent, payee: TestAgent, administrator: TestDeveloper) -> None:
    """A dispute whose ruling slashes and compensates."""
    agreements = Agreements(Purses(payer.registry, administrator), administrator)
    disputing = Disputing(agreements, administrator)
    paid = (await payer.transfer(payee, "0.5")).json()["transaction_id"]
    filed = await disputing.file(payer, payee, transaction_id=paid)
    assert (await disputing.post(payee, f"{filed['id']}/evidence", **EVIDENCE)).status_code == 201
    amounts = {"compensation_amount": "0.1", "slash_amount": "0.1"}
    await disputing.rule(await disputing.open_voting(filed), FOR_COMPLAINANT, **amounts)


async def _organize(registry: TestRegistry) -> None:
    guild = await found(registry)
    await guild.agent()
    member = await guild.member("viewer")
    assert (await guild.change(guild.owner, member, "member")).status_code == 200
    assert (await guild.remove(member, member)).status_code == 200
    admin = await guild.member("admin")
    await fund(guild, "30")
    await ruled(guild, ONE_OWNER)
    asked = [(await pay(guild, await registry.agent(), "11", admin)).json()["request_id"] for _ in range(2)]
    assert (await guild.approve(guild.owner, asked[0])).json()["status"] == "EXECUTED"
    assert (await decide(guild, guild.owner, asked[1], "reject")).json()["status"] == "REJECTED"
    await _offer_work(registry)


async def _offer_work(registry: TestRegistry) -> None:
    """A work order that is awarded, and one that is cancelled."""
    work, bidder = await offering(registry), await registry.agent()
    assert (await work.award(await work.bid(bidder, await work.open()))).status_code == 200
    assert (await work.cancel(await work.open())).status_code == 200


async def _admit_and_end(registry: TestRegistry) -> None:
    """Admit another registry, suspend and reinstate its licence, and revoke it."""
    administrator, keys = await registry.administrator("admin_federation"), "/admin/federation/licence-keys"
    made = await registry.post(keys, json={"trust_domain": "there.example"}, headers=administrator.headers)
    for act in ("suspend", "reinstate", "revoke"):
        path = f"{keys}/{made.json()['id']}/{act}"
        answer = await registry.post(path, json={"reason": "For a test."}, headers=administrator.headers)
        assert answer.status_code == 200, answer.text


async def _suspend_and_revoke(agent: TestAgent, administrator: TestDeveloper) -> None:
    """Suspend and reinstate an agent that has a workload identity, and its developer; then revoke it."""
    registry = agent.registry
    await registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO agents_mtls (agent_id, spiffe_id, expires_at)"
            " SELECT id, 'spiffe://hansa.local/agent/one', now() + interval '1 minute' FROM agents_agent"
            " WHERE did = $1",
            agent.did,
        )
    )
    owner = (await registry.get(f"/agent-cards/{agent.did}")).json()["developer_id"]
    named = {"agent_dids": [agent.did], "reason": "For a test."}
    for path in (
        "agents/bulk/suspend",
        "agents/bulk/reinstate",
        f"developers/{owner}/suspend",
        f"developers/{owner}/reinstate",
        "agents/bulk/suspend",
        "agents/bulk/revoke",
    ):
        body = named if "bulk" in path else {"reason": "For a test."}
        answer = await registry.post(f"/admin/{path}", json=body, headers=administrator.headers)
        assert answer.status_code == 200, answer.text
