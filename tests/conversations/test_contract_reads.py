"""Readers of a contract, its record, and its copies from other registries."""

import pytest

from tests.notified import notified_of, subscribe
from tests.registry import TestAgent
from tests.rooms.commerce.agreements import DAY, Agreements, in_days, refused


@pytest.fixture(scope="module")
def contracts(agreements_of_file: Agreements) -> Agreements:
    return agreements_of_file


@pytest.fixture
async def alice(contracts: Agreements) -> TestAgent:
    return await contracts.contractor()


@pytest.fixture
async def bob(contracts: Agreements) -> TestAgent:
    return await contracts.provider()


def ids(listed: list[dict[str, object]]) -> list[object]:
    return [one["id"] for one in listed]


async def test_a_list_holds_ones_own_contracts_newest_first(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    first, second = await contracts.propose(alice, bob), await contracts.propose(alice, bob)
    assert ids(await contracts.listed(alice)) == [second["id"], first["id"]]
    assert ids(await contracts.listed(bob)) == [second["id"], first["id"]]
    assert ids(await contracts.listed(bob, limit=1, offset=1)) == [first["id"]]


async def test_a_list_is_narrowed_by_role_status_and_counterparty(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    carol = await contracts.contractor()
    hers, his = await contracts.propose(alice, bob), await contracts.propose(carol, alice)
    await contracts.act(alice, his, "accept")
    assert ids(await contracts.listed(alice, role="contractor")) == [hers["id"]]
    assert ids(await contracts.listed(alice, role="provider")) == [his["id"]]
    assert ids(await contracts.listed(alice, status="ACCEPTED")) == [his["id"]]
    assert ids(await contracts.listed(alice, counterparty=bob.did)) == [hers["id"]]
    assert ids(await contracts.listed(alice, counterparty=alice.did)) == []


async def test_the_contracts_of_another_agent_are_those_with_the_reader_and_public_ones(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    carol = await contracts.contractor()
    await contracts.propose(alice, bob)
    shared = await contracts.propose(alice, carol)
    public = await contracts.propose(alice, bob, contract_type="attestation")
    offered = await contracts.propose(alice, None)
    found = await contracts.listed(carol, f"/agent/{alice.did}")
    assert ids(found) == [offered["id"], public["id"], shared["id"]]
    assert (await contracts.read(carol, public))["contract_type"] == "attestation"


async def test_administrators_of_enforcement_read_every_contract_and_other_people_none(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    made = await contracts.propose(alice, bob)
    registry = contracts.registry
    administrator = await registry.administrator("admin_enforcement")
    read = await registry.get(f"/contracts/{made['id']}", headers=administrator.headers)
    assert read.json()["id"] == made["id"]
    for path in (f"/contracts/agent/{alice.did}", "/contracts"):
        listed = await registry.get(path, headers=administrator.headers)
        assert made["id"] in ids(listed.json()["items"])
    owner = contracts.purses.developer
    assert (await registry.get(f"/contracts/{made['id']}", headers=owner.headers)).status_code == 403


@pytest.mark.parametrize("contract_id", ["0", "-1", "x", str(2**63), "1.5"])
async def test_an_id_that_can_be_none_is_refused(
    contracts: Agreements, alice: TestAgent, contract_id: str
) -> None:
    answer = await contracts.registry.get(f"/contracts/{contract_id}", headers=alice.headers)
    assert answer.status_code == 422


async def test_every_move_is_an_event(contracts: Agreements, alice: TestAgent, bob: TestAgent) -> None:
    parts = [{"title": "One", "amount": "40"}, {"title": "Two", "amount": "60"}]
    contract = await contracts.accepted(alice, bob, milestones=parts)
    for act in ("request-changes", "approve-completion", "approve-completion"):
        await contracts.act(bob, contract, "submit")
        done = await contracts.act(alice, contract, act)
    events = await contracts.events(contract)
    assert [kind for kind, _ in events] == [
        "ContractProposed",
        "ContractAccepted",
        "ContractSubmitted",
        "ContractChangesRequested",
        "ContractSubmitted",
        "ContractMilestoneApproved",
        "ContractSubmitted",
        "ContractCompleted",
    ]
    completed = events[-1][1]
    assert (completed["amount"], completed["fee"], completed["counts"]) == ("100", "0.5", True)
    assert f"tx-{completed['tx_id']}" == done["payment_tx_id"]
    assert (completed["contractor_did"], completed["provider_did"]) == (alice.did, bob.did)


async def test_a_job_between_agents_of_one_owner_does_not_count(
    contracts: Agreements, alice: TestAgent
) -> None:
    own = await contracts.purses.agent()
    submitted = await contracts.submitted(alice, own)
    await contracts.act(alice, submitted, "approve-completion")
    assert (await contracts.events(submitted))[-1][1]["counts"] is False


async def test_a_job_of_an_administrators_agent_does_not_count(
    contracts: Agreements, alice: TestAgent
) -> None:
    administrator = await contracts.registry.administrator("admin_support")
    submitted = await contracts.submitted(alice, await administrator.agent())
    await contracts.act(alice, submitted, "approve-completion")
    assert (await contracts.events(submitted))[-1][1]["counts"] is False


async def test_ends_without_completion_are_events_that_state_why(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    cancelled, expired = [await contracts.propose(alice, bob, submit_by=in_days(1)) for _ in range(2)]
    failed = await contracts.submitted(alice, bob, funded=True, review_by=in_days(2))
    await contracts.act(alice, cancelled, "cancel")
    await contracts.elapse(expired, DAY + 1)
    ended = await contracts.act(alice, failed, "mark-failed")
    published = [(await contracts.events(one))[-1] for one in (cancelled, expired, failed)]
    assert [(kind, data["ended_because"]) for kind, data in published] == [
        ("ContractCancelled", "cancelled"),
        ("ContractExpired", "proposal_expired"),
        ("ContractFailed", "rejected"),
    ]
    assert published[-1][1]["hold_release_at"][:19] == ended["hold_release_at"][:19]


async def test_the_public_reads_only_that_a_contract_was_completed(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    submitted = await contracts.submitted(alice, bob)
    await contracts.act(alice, submitted, "approve-completion")
    await contracts.registry.transactions_ended()
    seen = await contracts.registry.get("/public/eventstore-recent", params={"limit": 400})
    kinds = {
        event["event_type"]
        for event in seen.json()["events"]
        if event["data"].get("contract_id") == submitted["id"]
    }
    assert kinds == {"ContractCompleted"}


async def test_a_contract_of_a_registry_that_is_no_peer_is_not_found(
    contracts: Agreements, bob: TestAgent
) -> None:
    for act in ("accept-federated", "submit-federated"):
        answer = await contracts.post(bob, f"/7/{act}", contractor_registry="elsewhere.example")
        assert refused(answer) == (404, "PEER_UNKNOWN")
        assert (await contracts.post(bob, f"/7/{act}")).status_code == 422


async def test_the_proxy_of_peers_needs_the_certificate_of_a_peer(
    contracts: Agreements, bob: TestAgent
) -> None:
    assert (await contracts.post(bob, "/cross-registry/proxy", request_id="1")).status_code == 401


async def test_a_spend_policy_judges_what_a_contract_pays(contracts: Agreements, bob: TestAgent) -> None:
    alice = await contracts.contractor()
    owner = contracts.purses.developer
    policy = {"spend_policy": {"per_tx_max": "500", "approval_over": "50"}}
    registry = contracts.registry
    set_ = await registry.http.put(f"/api/v1/agents/{alice.did}/authz", json=policy, headers=owner.headers)
    assert set_.status_code == 200, set_.text
    submitted = await contracts.submitted(alice, bob)
    path = f"/{submitted['id']}/approve-completion"
    asked = await contracts.post(alice, path, key="pay")
    assert refused(asked) == (403, "APPROVAL_REQUIRED")
    approval = asked.json()["error"]["context"]["approval_id"]
    assert (await contracts.read(alice, submitted))["status"] == "SUBMITTED"
    approved = await registry.post(
        f"/agents/{alice.did}/spend-approvals/{approval}/approve", json={}, headers=owner.headers
    )
    assert approved.status_code == 200, approved.text
    paid = await contracts.post(alice, path, approval_id=approval)
    assert (paid.status_code, paid.json()["status"]) == (200, "COMPLETED")
    dear = await contracts.submitted(alice, bob, amount="600")
    assert refused(await contracts.post(alice, f"/{dear['id']}/approve-completion"))[0] == 403


async def test_an_agent_with_open_contracts_cannot_end(contracts: Agreements, bob: TestAgent) -> None:
    alice = await contracts.contractor()
    proposed = await contracts.propose(alice, bob)
    end = contracts.registry.http.delete
    assert refused(await end("/api/v1/agents/me", headers=alice.headers)) == (409, "AGENT_HAS_CONTRACTS")
    # A proposal does not bind the agent that it is made to: it ends with that agent.
    assert (await end("/api/v1/agents/me", headers=bob.headers)).status_code == 200
    await contracts.follow(bob)
    ended = await contracts.read(alice, proposed)
    assert (ended["status"], ended["ended_because"]) == ("CANCELLED", "party_revoked")


async def test_an_account_with_open_contracts_is_not_deleted(contracts: Agreements, bob: TestAgent) -> None:
    owner = await contracts.registry.developer()
    alice = await owner.agent()
    contract = await contracts.propose(alice, bob)
    await contracts.act(bob, contract, "accept")
    for agent in (alice, bob):
        ended = await contracts.registry.http.delete("/api/v1/agents/me", headers=agent.headers)
        assert refused(ended) == (409, "AGENT_HAS_CONTRACTS")
    status = await contracts.registry.get("/account/deletion-status", headers=owner.headers)
    assert status.status_code == 200, status.text
    assert {"kind": "contracts", "agent_did": alice.did, "amount": "1"}.items() <= status.json()["blockers"][
        0
    ].items()


async def test_both_owners_are_notified_of_every_move(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    for owner in (contracts.purses.developer, contracts.owner_of_providers):
        await subscribe(owner, "contract.proposed", "contract.completed")
    submitted = await contracts.submitted(alice, bob)
    await contracts.act(alice, submitted, "approve-completion")
    notified = await notified_of(contracts.registry, alice.did)
    kinds = [kind for kind, data in notified if data["contract_id"] == submitted["id"]]
    assert sorted(kinds) == ["contract.completed"] * 2 + ["contract.proposed"] * 2
