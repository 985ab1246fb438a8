"""The specification on contracts whose provider is an agent of another registry."""

import asyncio
import json
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from hansa.rooms import federation, transfers
from hansa.rooms.commerce.contracts import CONTRACT_DEADLINES
from tests.neighbours.agreeing_scene import PROXY, WORK, AgreementAbroad, in_days, relayed
from tests.neighbours.crossing_scene import LostCalls, deadlines_pass, refusal, run, settle
from tests.neighbours.parts_across import PARTS_AND_AUTOMATIC_APPROVALS, Rule
from tests.neighbours.paying_scene import quiet_after
from tests.neighbours.reading_peers import administer
from tests.neighbours.two_registries import Neighbours
from tests.running_jobs import run_due


async def test_two_agents_of_two_registries_agree_and_approval_pays_through_a_crossing(pair: Neighbours):
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.proposed()
    seen = (await abroad.read_abroad(contract_id)).json()
    assert (seen["status"], seen["contractor_registry"], seen["provider_registry"]) == (
        "PROPOSED",
        "a.example",
        "b.example",
    )
    accepted = await abroad.abroad("accept-federated", contract_id)
    assert (accepted.status_code, accepted.json()["status"]) == (200, "ACCEPTED")
    submitted = await abroad.abroad("submit-federated", contract_id, deliverable=WORK)
    assert submitted.json()["status"] == "SUBMITTED"
    assert submitted.json()["deliverables"][0]["sha256"] == WORK["sha256"]
    async with quiet_after(pair):
        approved = await abroad.at_home("approve-completion", contract_id)
        assert approved.status_code == 200, approved.text
        returned = approved.json()
        assert (returned["status"], returned["ended_because"], returned["amount_paid"]) == (
            "COMPLETED",
            "approved",
            "10",
        )
    assert await abroad.balances() == ("90", "109.95")
    state = await abroad.contractor.registry.get(
        f"/teg/transfers/{returned['payment_tx_id']}", headers=abroad.contractor.headers
    )
    assert (state.json()["state"], state.json()["receiver_did"]) == ("committed", abroad.provider.did)
    acts = [(line["act"], line["actor_did"]) for line in returned["history"]]
    assert acts == [
        ("proposed", abroad.contractor.did),
        ("accepted", abroad.provider.did),
        ("submitted", abroad.provider.did),
        ("payment_begun", abroad.contractor.did),
        ("approved", abroad.contractor.did),
    ]


async def test_milestones_are_paid_one_by_one_each_by_a_transfer_of_its_own(pair: Neighbours):
    abroad = await AgreementAbroad.between(pair)
    parts = [{"title": "First", "amount": "4"}, {"title": "Second", "amount": "6"}]
    contract_id = await abroad.accepted(milestones=parts, contract_type="attestation")
    async with quiet_after(pair):
        for index in range(2):
            await abroad.abroad("submit-federated", contract_id, milestone=index)
            approved = await abroad.at_home("approve-completion", contract_id, milestone=index)
            assert approved.status_code == 200, approved.text
    returned = await abroad.read(contract_id)
    assert returned["status"] == "COMPLETED"
    transfers = [one["payment_tx_id"] for one in returned["milestones"]]
    assert len(set(transfers)) == 2
    assert returned["payment_tx_id"] == transfers[1]
    # No transaction of this registry has the id of a transfer.
    page = await pair.a.registry.http.get(f"/contracts/{contract_id}", headers={"Accept": "text/html"})
    assert f"transfer to another registry {transfers[0]}" in page.text
    assert f"/transactions/{transfers[0]}" not in page.text
    assert await abroad.balances() == ("90", "109.95")


@PARTS_AND_AUTOMATIC_APPROVALS
async def test_of_milestones_between_registries(pair: Neighbours, calls: LostCalls, rule: Rule):
    async with quiet_after(pair):
        await rule(await AgreementAbroad.between(pair), calls)


async def test_an_open_proposal_is_taken_by_the_first_agent_of_any_registry(pair: Neighbours):
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.proposed(provider_did=None)
    accepted = await abroad.abroad("accept-federated", contract_id)
    assert accepted.json()["provider_did"] == abroad.provider.did
    late = AgreementAbroad(pair, abroad.contractor, await pair.b.registry.agent())
    assert await refusal(await late.abroad("accept-federated", contract_id)) == (404, "CONTRACT_UNKNOWN")


async def test_funded_with_a_provider_elsewhere_is_refused(pair: Neighbours):
    abroad = await AgreementAbroad.between(pair)
    funded = {"funded": True, "review_by": in_days(3)}
    assert await refusal(await abroad.propose(**funded)) == (422, "FUNDED_ACROSS")
    contract_id = await abroad.proposed(provider_did=None, **funded)
    assert await refusal(await abroad.abroad("accept-federated", contract_id)) == (422, "FUNDED_ACROSS")


async def test_a_provider_at_no_peer_is_refused(pair: Neighbours):
    abroad = await AgreementAbroad.between(pair)
    answer = await abroad.propose(provider_did=f"did:hansa:far.example:{uuid4()}")
    assert await refusal(answer) == (404, "PROVIDER_UNKNOWN")
    for registry in ("far.example", "b.example"):
        named = await abroad.abroad("accept-federated", 7, contractor_registry=registry)
        assert await refusal(named) == (404, "PEER_UNKNOWN")


async def test_refusals_of_the_contractors_registry_keep_status_and_code(pair: Neighbours):
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.proposed()
    stranger = AgreementAbroad(pair, abroad.contractor, await pair.b.registry.agent())
    for act in ("accept-federated", "submit-federated"):
        assert await refusal(await stranger.abroad(act, contract_id)) == (404, "CONTRACT_UNKNOWN")
    assert await refusal(await stranger.read_abroad(contract_id)) == (404, "CONTRACT_UNKNOWN")
    assert await refusal(await abroad.abroad("submit-federated", contract_id)) == (
        409,
        "CONTRACT_WRONG_STATE",
    )
    assert await refusal(await abroad.abroad("submit-federated", contract_id, milestone=3)) == (
        409,
        "CONTRACT_WRONG_STATE",
    )


async def test_while_a_payment_crosses_the_contract_stays_submitted_and_other_acts_are_409(
    pair: Neighbours, calls: LostCalls, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hansa.rooms.commerce.contracts.deferred_response.WAIT_SECONDS", 0.2)
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.submitted()
    begun = calls.made
    calls.loses = lambda number: "answer" if number == begun + 1 else None
    approved = await abroad.at_home("approve-completion", contract_id, key="once")
    assert (approved.status_code, approved.json()["status"]) == (200, "SUBMITTED")
    assert approved.json()["payment_tx_id"] is not None
    for act in ("approve-completion", "request-changes", "mark-failed"):
        assert await refusal(await abroad.at_home(act, contract_id)) == (409, "PAYMENT_UNDER_WAY")
    assert await refusal(await abroad.abroad("submit-federated", contract_id)) == (409, "PAYMENT_UNDER_WAY")
    complaint = {
        "defendant_did": abroad.provider.did,
        "reason_code": "OTHER",
        "description": "No.",
        "contract_id": contract_id,
    }
    filed = await pair.a.registry.post("/disputes/", json=complaint, headers=abroad.contractor.headers)
    assert await refusal(filed) == (409, "PAYMENT_UNDER_WAY")
    async with quiet_after(pair):
        await settle(pair.a, pair.b)
        again = await abroad.at_home("approve-completion", contract_id, key="once")
        assert (again.status_code, again.json()["status"]) == (200, "COMPLETED")
    assert await abroad.balances() == ("90", "109.95")


async def test_an_aborted_payment_returns_everything_and_the_next_approval_is_a_new_transfer(
    pair: Neighbours, calls: LostCalls, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hansa.rooms.commerce.contracts.deferred_response.WAIT_SECONDS", 0.2)
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.submitted()
    begun = calls.made
    calls.loses = lambda number: "request" if number == begun + 1 else None
    first = await abroad.at_home("approve-completion", contract_id, key="again")
    await deadlines_pass(pair.a)
    async with quiet_after(pair):
        await settle(pair.a, pair.b)
        returned = await abroad.read(contract_id)
        assert (returned["status"], returned["payment_tx_id"]) == ("SUBMITTED", None)
        assert returned["history"][-1]["act"] == "payment_failed"
        assert await abroad.contractor.balance() == "100"
        monkeypatch.undo()
        second = await abroad.at_home("approve-completion", contract_id, key="again")
        assert second.json()["payment_tx_id"] != first.json()["payment_tx_id"]
        assert second.json()["status"] == "COMPLETED"
    assert await abroad.balances() == ("90", "109.95")


async def test_a_commit_that_comes_to_light_after_an_abort_approves_the_part_that_it_paid(
    pair: Neighbours, calls: LostCalls, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hansa.rooms.commerce.contracts.deferred_response.WAIT_SECONDS", 0.2)
    abroad = await AgreementAbroad.between(pair)
    runtime, settings = pair.a.registry.runtime, pair.a.registry.settings
    paid_before = await abroad.submitted()
    await abroad.at_home("approve-completion", paid_before)
    tx_id = await runtime.database.query(lambda tx: tx.fetchval("SELECT max(id) FROM ledger_transaction"))
    contract_id = await abroad.submitted()
    begun = calls.made
    calls.loses = lambda number: "request" if number == begun + 1 else None
    transfer = UUID((await abroad.at_home("approve-completion", contract_id)).json()["payment_tx_id"])
    await deadlines_pass(pair.a)
    await settle(pair.a, pair.b)
    assert (await abroad.read(contract_id))["history"][-1]["act"] == "payment_failed"
    decided = transfers.CrossingDecision(transfer, tx_id, None)
    for _ in range(2):
        # As the replay of an own COMMIT of before a restore; the second one changes nothing.
        await runtime.database.transaction(
            lambda tx: transfers.PAYMENT_DECIDED.of(runtime)(tx, [decided], settings)
        )
        shown = await abroad.read(contract_id)
        assert (shown["status"], shown["payment_tx_id"]) == ("COMPLETED", str(transfer))
        assert [line["act"] for line in shown["history"]][-2:] == ["payment_failed", "approved"]
    assert await refusal(await abroad.at_home("approve-completion", contract_id)) == (
        409,
        "CONTRACT_WRONG_STATE",
    )


async def test_a_suspended_provider_is_refused_when_its_registry_prepares(pair: Neighbours):
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.submitted()
    await administer(pair.b, "suspend", abroad.provider.did)
    async with quiet_after(pair):
        answer = await abroad.at_home("approve-completion", contract_id)
        assert await refusal(answer) == (403, "AGENT_BLOCKED")
    returned = await abroad.read(contract_id)
    assert (returned["status"], returned["payment_tx_id"]) == ("SUBMITTED", None)
    assert await abroad.contractor.balance() == "100"


async def test_a_provider_known_as_suspended_is_refused_before_commit_is_recorded_and_at_every_act(
    pair: Neighbours, calls: LostCalls, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hansa.rooms.commerce.contracts.deferred_response.WAIT_SECONDS", 0.2)
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.submitted()
    other = await abroad.proposed()
    begun = calls.made
    calls.loses = lambda number: "answer" if number == begun + 1 else None
    await abroad.at_home("approve-completion", contract_id)
    await pair.a.registry.database.transaction(
        lambda tx: federation.put_on_blocklist(tx, abroad.provider.did, since=datetime.now(UTC))
    )
    async with quiet_after(pair):
        await settle(pair.a, pair.b)
        returned = await abroad.read(contract_id)
        assert (returned["status"], returned["history"][-1]["act"]) == ("SUBMITTED", "payment_failed")
    assert await abroad.balances() == ("100", "100")
    for answer in (
        await abroad.propose(),
        await abroad.abroad("accept-federated", other),
        await abroad.at_home("approve-completion", contract_id),
    ):
        assert await refusal(answer) == (403, "AGENT_BLOCKED")


async def test_a_payment_token_is_settled_by_the_approval_and_pays_once(pair: Neighbours):
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.submitted()
    body = {"target_agent_did": abroad.provider.did, "amount": "10", "contract_id": contract_id}
    made = await pair.a.registry.post("/a2a-payment/authorize", json=body, headers=abroad.contractor.headers)
    token = made.json()
    async with quiet_after(pair):
        approved = await abroad.at_home("approve-completion", contract_id, payment_token=token["token"])
        assert approved.status_code == 200, approved.text
        assert (approved.json()["status"], approved.json()["payment_tx_id"]) == (
            "COMPLETED",
            token["token_id"],
        )
    again = await pair.a.registry.post(
        "/a2a-payment/settle", json={"token": token["token"]}, headers=abroad.contractor.headers
    )
    assert (again.json()["status"], again.json()["settlement_tx_id"]) == ("settled", token["token_id"])
    assert await abroad.balances() == ("90", "109.95")


async def test_the_review_that_did_not_come_is_approved_automatically_across(pair: Neighbours):
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.submitted(auto_approve=True, review_by=in_days(1))
    await review_is_over(pair, contract_id)
    async with quiet_after(pair):
        await run_due(pair.a.registry.runtime, CONTRACT_DEADLINES)
        assert (await abroad.read(contract_id))["payment_tx_id"] is not None
        await settle(pair.a, pair.b)
        returned = await abroad.read(contract_id)
        assert (returned["status"], returned["history"][-1]) == (
            "COMPLETED",
            {**returned["history"][-1], "act": "approved", "actor_did": None},
        )
    assert await abroad.balances() == ("90", "109.95")


async def test_an_automatic_approval_that_cannot_be_paid_fails_the_contract(pair: Neighbours):
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.submitted(auto_approve=True, review_by=in_days(1))
    await administer(pair.b, "suspend", abroad.provider.did)
    await review_is_over(pair, contract_id)
    async with quiet_after(pair):
        await run_due(pair.a.registry.runtime, CONTRACT_DEADLINES)
        await settle(pair.a, pair.b)
        returned = await abroad.read(contract_id)
        assert (returned["status"], returned["ended_because"]) == ("FAILED", "not_reviewed")
    assert await abroad.contractor.balance() == "100"


async def review_is_over(pair: Neighbours, contract_id: int) -> None:
    await run(pair.a, "UPDATE commerce_contract SET due_at = now() WHERE id = $1", contract_id)
    await run(pair.a, "UPDATE plumbing_job SET due_at = now() WHERE kind = 'commerce: contract deadlines'")


async def test_the_proxy_is_for_peers_and_for_their_own_agents(pair: Neighbours):
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.proposed()
    body = relayed(contract_id, "accept", abroad.provider.did)
    public = await pair.a.registry.http.post(PROXY, json=body)
    assert await refusal(public) == (401, "CLIENT_CERTIFICATE_REQUIRED")
    before = (await pair.a.refused(pair.b)).get("foreign_namespace", 0)
    for actor in (abroad.contractor.did, f"did:hansa:far.example:{uuid4()}", "did:web:b.example"):
        answer = await pair.b.call(pair.a, "POST", PROXY, relayed(contract_id, "accept", actor))
        assert (answer.status, json.loads(answer.body)["error"]["code"]) == (403, "FOREIGN_NAMESPACE")
    assert (await pair.a.refused(pair.b))["foreign_namespace"] == before + 3
    assert (await abroad.read(contract_id))["status"] == "PROPOSED"


async def test_the_same_request_id_is_the_same_act_and_another_body_is_refused(pair: Neighbours):
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.proposed()
    body = relayed(contract_id, "accept", abroad.provider.did)
    answers = await asyncio.gather(*(pair.b.call(pair.a, "POST", PROXY, body) for _ in range(2)))
    done = [one for one in answers if one.status == 200]
    assert done
    repeated = await pair.b.call(pair.a, "POST", PROXY, body)
    assert (repeated.status, repeated.body) == (200, done[0].body)
    other = await pair.b.call(pair.a, "POST", PROXY, {**body, "act": "submit"})
    assert (other.status, json.loads(other.body)["error"]["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    keyed = [await abroad.abroad("submit-federated", contract_id, key="k") for _ in range(2)]
    assert [one.status_code for one in keyed] == [200, 200]
    assert len((await abroad.read(contract_id))["history"]) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"act": "approve"},
        {"request_id": "1"},
        {"contract_id": 0},
        {"contract_id": 2**63},
        {"actor_did": "x"},
        {"body": {"milestone": -1}, "act": "submit"},
        {"body": {"more": 1}},
        {"body": {"reason_code": "OTHER"}, "act": "dispute"},
        {"body": []},
    ],
)
async def test_what_a_peer_sends_in_another_form_is_refused_in_one_sentence(
    pair: Neighbours, wrong: dict[str, object]
):
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.proposed()
    body = {**relayed(contract_id, "accept", abroad.provider.did), **wrong}
    answer = await pair.b.call(pair.a, "POST", PROXY, body)
    assert answer.status == 422, answer.body
    assert json.loads(answer.body)["detail"]
    assert (await abroad.read(contract_id))["status"] == "PROPOSED"


@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_a_relay_without_an_answer_is_503_and_the_same_key_completes_it(
    pair: Neighbours, calls: LostCalls, lost: str
):
    abroad = await AgreementAbroad.between(pair)
    contract_id = await abroad.proposed()
    begun = calls.made
    calls.loses = lambda number: lost if number == begun + 1 else None
    first = await abroad.abroad("accept-federated", contract_id, key="k")
    assert await refusal(first) == (503, "CONTRACTOR_REGISTRY_SILENT")
    assert int(first.headers["Retry-After"]) > 0
    again = await abroad.abroad("accept-federated", contract_id, key="k")
    assert (again.status_code, again.json()["status"]) == (200, "ACCEPTED")


async def test_a_dispute_of_either_side_names_the_foreign_party_and_stops_the_contract(pair: Neighbours):
    for by_provider in (True, False):
        abroad = await AgreementAbroad.between(pair)
        contract_id = await abroad.submitted()
        stated = {"reason_code": "OTHER", "description": "It is not what was agreed."}
        if by_provider:
            filed = await abroad.abroad(
                "dispute-federated", contract_id, defendant_did=abroad.contractor.did, **stated
            )
        else:
            body = {"defendant_did": abroad.provider.did, "contract_id": contract_id, **stated}
            filed = await pair.a.registry.post("/disputes/", json=body, headers=abroad.contractor.headers)
        assert filed.status_code == 201, filed.text
        returned = filed.json()
        parties = (abroad.provider.did, abroad.contractor.did)
        assert (returned["complainant_did"], returned["defendant_did"]) == (
            parties if by_provider else parties[::-1]
        )
        seen = (await abroad.read_abroad(contract_id)).json()
        assert (seen["status"], seen["dispute_id"]) == ("DISPUTED", returned["id"])
        assert await refusal(await abroad.at_home("approve-completion", contract_id)) == (
            409,
            "CONTRACT_WRONG_STATE",
        )
