"""The specification on contracts of two registries, at the provider's registry: its copy, its owner's webhooks, the agent's end."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from hansa.rooms.commerce.contracts import CONTRACT_STATEMENTS
from hansa.rooms.commerce.cross_registry import ACCEPTANCES_ABROAD
from tests.browsing import browser_of
from tests.neighbours.agreeing_scene import WORK, AgreementAbroad
from tests.neighbours.crossing_scene import LostCalls, refusal, run
from tests.neighbours.paying_scene import quiet_after
from tests.neighbours.two_registries import Neighbour, Neighbours
from tests.notified import notified_of, subscribe
from tests.registry import TestDeveloper
from tests.running_jobs import run_due, time_passes

STATEMENT = "/api/v1/contracts/cross-registry/statement"


class Copied(AgreementAbroad):
    """An agreement of which the provider's registry learns by statements."""

    async def stated(self) -> None:
        """Let the contractor's registry send the statements of its changed contracts."""
        await time_passes(self.pair.a.registry.runtime, 3600)
        await run_due(self.pair.a.registry.runtime, CONTRACT_STATEMENTS)

    async def own_list(self, **query: str) -> list[dict[str, Any]]:
        answer = await self.provider.registry.get("/contracts", params=query, headers=self.provider.headers)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert page["pagination"]["total_items"] == len(page["items"])
        items: list[dict[str, Any]] = page["items"]
        return items

    async def moves(self) -> list[str]:
        """The moves that are events at the provider's registry."""
        rows = await self.pair.b.registry.database.query(
            lambda tx: tx.fetch(
                "SELECT data FROM journal_event WHERE event_type = 'ContractOfPeerMoved' AND aggregate_id = $1 ORDER BY seq",
                self.provider.did,
            )
        )
        return [json.loads(row["data"])["move"] for row in rows]

    async def end(self) -> tuple[int, str | None]:
        answer = await self.provider.registry.http.delete("/api/v1/agents/me", headers=self.provider.headers)
        return answer.status_code, None if answer.status_code == 200 else answer.json()["error"]["code"]


async def between(pair: Neighbours) -> Copied:
    return Copied(pair, await pair.a.registry.agent(), await pair.b.registry.agent())


async def owned_by(owner: TestDeveloper, pair: Neighbours) -> Copied:
    return Copied(pair, await pair.a.registry.agent(), await owner.agent())


async def test_a_contract_abroad_is_in_the_own_list_of_its_provider_with_the_registry_that_keeps_it(
    pair: Neighbours,
):
    copied = await between(pair)
    contract_id = await copied.proposed()
    assert await copied.own_list() == []
    await copied.stated()
    (listed,) = await copied.own_list()
    kept = await copied.read(contract_id)
    assert listed == kept
    assert (listed["contractor_registry"], listed["status"]) == ("a.example", "PROPOSED")
    local = await pair.b.registry.agent()
    own = await pair.b.registry.post(
        "/contracts",
        json={
            "provider_did": copied.provider.did,
            "title": "At home",
            "contract_type": "service",
            "amount": "1",
            "terms": "-",
            "acceptance_criteria": "-",
        },
        headers=local.headers,
    )
    assert own.status_code == 201, own.text
    registries = [one["contractor_registry"] for one in await copied.own_list()]
    assert registries == ["b.example", "a.example"]
    assert [one["title"] for one in await copied.own_list(counterparty=copied.contractor.did)] == [
        kept["title"]
    ]
    assert await copied.own_list(role="contractor") == []
    assert await copied.own_list(status="COMPLETED") == []
    other = await pair.b.registry.get(f"/contracts/agent/{copied.provider.did}", headers=local.headers)
    assert [one["title"] for one in other.json()["items"]] == ["At home"]


async def test_every_move_reaches_the_copy_whoever_made_it(pair: Neighbours):
    copied = await between(pair)
    contract_id = await copied.proposed()
    await copied.stated()
    await copied.abroad("accept-federated", contract_id)
    # The answer to an act is a statement as well.
    assert [one["status"] for one in await copied.own_list()] == ["ACCEPTED"]
    await copied.abroad("submit-federated", contract_id, deliverable=WORK)
    await copied.at_home("request-changes", contract_id, note="Page 3.")
    await copied.stated()
    await copied.abroad("submit-federated", contract_id, deliverable=WORK)
    async with quiet_after(pair):
        await copied.at_home("approve-completion", contract_id)
        await copied.stated()
    (listed,) = await copied.own_list()
    assert listed == await copied.read(contract_id)
    assert await copied.moves() == [
        "proposed",
        "accepted",
        "submitted",
        "changes_requested",
        "submitted",
        "payment_begun",
        "completed",
    ]


async def test_every_move_of_a_contract_abroad_is_a_webhook_to_the_owner_of_the_provider(pair: Neighbours):
    owner = await pair.b.registry.developer()
    copied = await owned_by(owner, pair)
    await subscribe(owner, "*")
    contract_id = await copied.submitted()
    complaint = {
        "defendant_did": copied.provider.did,
        "reason_code": "OTHER",
        "description": "No.",
        "contract_id": contract_id,
    }
    filed = await pair.a.registry.post("/disputes/", json=complaint, headers=copied.contractor.headers)
    assert filed.status_code == 201, filed.text
    await copied.stated()

    notified = await notified_of(pair.b.registry, copied.provider.did)
    of_contract = {kind: data for kind, data in notified if kind.startswith("contract.")}
    names = ("accepted", "disputed", "proposed", "submitted")
    assert sorted(of_contract) == [f"contract.{name}" for name in names]
    data = of_contract["contract.disputed"]
    peer = await pair.b.peer(pair.a)
    assert (data["contract_id"], data["registry"]) == (contract_id, peer.ledger_id)


async def test_an_agent_with_an_open_contract_abroad_cannot_end(pair: Neighbours):
    owner = await pair.b.registry.developer()
    copied = await owned_by(owner, pair)
    contract_id = await copied.accepted()
    assert await copied.end() == (409, "AGENT_HAS_CONTRACTS")
    deletion = await pair.b.registry.get("/account/deletion-status", headers=owner.headers)
    assert {"kind": "contracts", "agent_did": copied.provider.did, "amount": "1"}.items() <= deletion.json()[
        "blockers"
    ][0].items()
    await copied.at_home("mark-failed", contract_id)
    await copied.stated()
    assert (await copied.end())[1] != "AGENT_HAS_CONTRACTS"


async def test_a_proposal_that_the_agent_did_not_accept_does_not_bind_it(pair: Neighbours):
    copied = await between(pair)
    contract_id = await copied.proposed()
    await copied.stated()
    assert (await copied.end())[1] != "AGENT_HAS_CONTRACTS"
    # What a peer says that an agent accepted, without a word of the agent here, is shown and binds nobody.
    invented = await between(pair)
    stated = {**(await copied.read(contract_id)), "provider_did": invented.provider.did, "status": "ACCEPTED"}
    assert (await pair.a.call(pair.b, "POST", STATEMENT, {"contract": stated})).status == 200
    assert [one["status"] for one in await invented.own_list()] == ["ACCEPTED"]
    assert (await invented.end())[1] != "AGENT_HAS_CONTRACTS"


async def test_an_acceptance_without_an_answer_binds_until_it_is_known_what_became_of_it(
    pair: Neighbours, calls: LostCalls
):
    for lost, status in (("answer", "ACCEPTED"), ("request", None)):
        copied = await between(pair)
        contract_id = await copied.proposed(provider_did=None)
        begun = calls.made
        calls.loses = lambda number, begun=begun, lost=lost: lost if number == begun + 1 else None  # type: ignore[misc]
        answer = await copied.abroad("accept-federated", contract_id)
        assert await refusal(answer) == (503, "CONTRACTOR_REGISTRY_SILENT")
        assert await copied.end() == (409, "AGENT_HAS_CONTRACTS")
        await time_passes(pair.b.registry.runtime, 60)
        await run_due(pair.b.registry.runtime, ACCEPTANCES_ABROAD)
        assert [one["status"] for one in await copied.own_list()] == ([status] if status else [])
        assert ((await copied.end()) == (409, "AGENT_HAS_CONTRACTS")) is (status is not None)


async def test_a_refused_acceptance_binds_no_agent(pair: Neighbours):
    copied = await between(pair)
    contract_id = await copied.proposed(provider_did=None)
    late = Copied(pair, copied.contractor, await pair.b.registry.agent())
    await copied.abroad("accept-federated", contract_id)
    assert await refusal(await late.abroad("accept-federated", contract_id)) == (404, "CONTRACT_UNKNOWN")
    assert await late.own_list() == []
    assert (await late.end())[1] != "AGENT_HAS_CONTRACTS"
    # The contract is accepted already: the refusal of a second acceptance says nothing against the first.
    assert await refusal(await copied.abroad("accept-federated", contract_id)) == (
        409,
        "CONTRACT_WRONG_STATE",
    )
    assert await copied.end() == (409, "AGENT_HAS_CONTRACTS")


async def test_a_peer_states_contracts_of_its_own_agents_with_agents_of_this_registry_only(pair: Neighbours):
    copied = await between(pair)
    contract_id = await copied.proposed()
    await copied.stated()
    known = await copied.read(contract_id)
    before = (await pair.b.refused(pair.a)).get("foreign_namespace", 0)
    stranger = f"did:hansa:far.example:{uuid4()}"
    for changed, expected in (
        ({"contractor_did": stranger}, (403, "FOREIGN_NAMESPACE")),
        ({"contractor_did": copied.provider.did}, (403, "FOREIGN_NAMESPACE")),
        ({"provider_did": stranger}, (404, "PROVIDER_UNKNOWN")),
        ({"provider_did": f"did:hansa:b.example:{uuid4()}"}, (404, "PROVIDER_UNKNOWN")),
        ({"provider_did": None}, (422, "VALIDATION_ERROR")),
        ({"amount": "-1"}, (422, "VALIDATION_ERROR")),
        ({"history": []}, (422, "VALIDATION_ERROR")),
        ({"status": "PAID"}, (422, "VALIDATION_ERROR")),
    ):
        answer = await pair.a.call(pair.b, "POST", STATEMENT, {"contract": {**known, **changed}})
        assert (answer.status, json.loads(answer.body)["error"]["code"]) == expected, changed
    assert (await pair.b.refused(pair.a))["foreign_namespace"] == before + 2
    assert await copied.own_list() == [known]
    public = await pair.b.registry.http.post(STATEMENT, json={"contract": known})
    assert await refusal(public) == (401, "CLIENT_CERTIFICATE_REQUIRED")


async def test_a_statement_counts_once_and_an_outdated_one_changes_nothing(pair: Neighbours):
    copied = await between(pair)
    contract_id = await copied.proposed()
    proposed = await copied.read(contract_id)
    await copied.abroad("accept-federated", contract_id)
    accepted = await copied.read(contract_id)
    for stated in (proposed, accepted, accepted, proposed):
        assert (await pair.a.call(pair.b, "POST", STATEMENT, {"contract": stated})).status == 200
    assert await copied.own_list() == [accepted]
    assert await copied.moves() == ["proposed", "accepted"]


async def test_of_statements_that_come_together_each_move_counts_once(pair: Neighbours):
    copied = await between(pair)
    contract_id = await copied.proposed()
    proposed = await copied.read(contract_id)
    await copied.at_home("cancel", contract_id)
    cancelled = await copied.read(contract_id)
    answers = await asyncio.gather(
        *(pair.a.call(pair.b, "POST", STATEMENT, {"contract": one}) for one in (proposed, cancelled) * 4)
    )
    assert {answer.status for answer in answers} == {200}
    assert await copied.own_list() == [cancelled]
    assert await copied.moves() == ["proposed", "cancelled"]


async def test_what_a_restored_registry_states_replaces_what_it_forgot(pair: Neighbours):
    copied = await between(pair)
    contract_id = await copied.accepted()
    accepted = await copied.read(contract_id)
    timestamp = datetime.now(UTC).isoformat()
    cancelled = {
        **accepted["history"][1],
        "act": "cancelled",
        "actor_did": copied.contractor.did,
        "at": timestamp,
    }
    forgot = {
        **accepted,
        "status": "CANCELLED",
        "accepted_at": None,
        "history": [accepted["history"][0], cancelled],
    }
    assert (await pair.a.call(pair.b, "POST", STATEMENT, {"contract": forgot})).status == 200
    assert [one["status"] for one in await copied.own_list()] == ["CANCELLED"]
    assert await copied.moves() == ["proposed", "accepted", "cancelled"]
    assert (await copied.end())[1] != "AGENT_HAS_CONTRACTS"
    # The number is given to another contract, of another provider.
    other = await between(pair)
    again = {**forgot, "provider_did": other.provider.did, "created_at": timestamp}
    assert (await pair.a.call(pair.b, "POST", STATEMENT, {"contract": again})).status == 200
    assert (await copied.own_list(), len(await other.own_list())) == ([], 1)


async def test_a_contract_that_its_registry_does_not_know_any_more_leaves_no_copy(pair: Neighbours):
    copied = await between(pair)
    contract_id = await copied.accepted()
    await run(
        pair.a, "UPDATE commerce_contract SET provider_did = $2 WHERE id = $1", contract_id, "did:web:x"
    )
    assert await refusal(await copied.read_abroad(contract_id)) == (404, "CONTRACT_UNKNOWN")
    assert await copied.own_list() == []
    assert (await copied.end())[1] != "AGENT_HAS_CONTRACTS"


async def test_statements_are_repeated_until_the_providers_registry_has_taken_them(
    pair: Neighbours, calls: LostCalls
):
    copied = await between(pair)
    await copied.stated()
    await copied.proposed()
    for lost in ("request", "answer"):
        calls.loses = lambda number, lost=lost: lost  # type: ignore[misc]
        await copied.stated()
        assert await waiting(pair.a) == 1
    calls.loses = lambda _: None
    await copied.stated()
    assert await waiting(pair.a) == 0
    assert await copied.moves() == ["proposed"]


async def test_the_pages_of_an_account_show_contracts_abroad_with_their_next_acts(pair: Neighbours):
    owner = await pair.b.registry.developer()
    copied = await owned_by(owner, pair)
    contract_id = await copied.proposed(title="<b>Translate</b>")
    await copied.stated()
    browser = await browser_of(pair.b.registry, owner)
    path = f"/account/agents/{copied.provider.did}/contracts"
    listed = await browser.open(path)
    assert f"{contract_id} at a.example" in listed.text
    peer = await pair.b.peer(pair.a)
    page = f"{path}/{contract_id}"
    await browser.open(f"{page}?registry={peer.ledger_id}")
    accepted = await browser.send(page, act="accept", registry=peer.ledger_id)
    assert "The contract is accepted." in accepted.text
    assert "<b>Translate" not in accepted.text
    submitted = await browser.send(page, act="submit", registry=peer.ledger_id, sha256="0" * 64)
    assert "The work is submitted." in submitted.text
    assert (await copied.read(contract_id))["status"] == "SUBMITTED"
    missing = await browser.open(f"{path}/{contract_id}?registry=elsewhere")
    assert missing.status_code == 404


async def waiting(one: Neighbour) -> int:
    count: int = await one.registry.database.query(
        lambda tx: tx.fetchval("SELECT count(*) FROM plumbing_job WHERE kind = $1", CONTRACT_STATEMENTS.name)
    )
    return count
