"""A slash across registries: ruled at the complainant's home `a`, applied at the defendant's home `b` (Specification 2, 6 W 19)."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from hansa.rooms.commerce import slash_settlements as settlements
from hansa_verify import read_keys, verify_settlement
from tests.neighbours.agreeing_scene import AgreementAbroad
from tests.neighbours.crossing_scene import LostCalls, across, refusal, run, settle
from tests.neighbours.paying_scene import paid_across
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm, TestAgent, TestDeveloper
from tests.running_jobs import run_due, run_scheduled_transactions, time_passes

DELIVERY, DUE = settlements.SETTLEMENTS_OUTBOX.kinds
SLASHES, EXPIRY = settlements.SLASHING_JOBS
PATH = "/federation/disputes"


@dataclass(frozen=True)
class Court:
    """Both registries with their administrators of enforcement."""

    pair: Neighbours
    at_home: TestDeveloper
    abroad: TestDeveloper

    async def parties(self, paid: str = "20") -> tuple[TestAgent, TestAgent, str]:
        """A payer at `a`, the agent at `b` that it paid, and the transaction."""
        alice, bob = await self.pair.a.registry.agent(), await self.pair.b.registry.agent()
        assert (await across(alice, bob.did, paid)).status_code == 200
        await settle(self.pair.a, self.pair.b)
        lines = await alice.registry.get("/teg/transactions", headers=alice.headers)
        return alice, bob, lines.json()["items"][0]["transaction_id"]

    async def payer_of_a_call(self, paid: str = "20") -> tuple[TestAgent, TestAgent, str]:
        """Return two parties like `parties`, the one at `b` paid for a call, and the id of the payment's transaction."""
        alice, bob = await self.pair.a.registry.agent(), await self.pair.b.registry.agent()
        await paid_across(self.pair, alice, bob, paid)
        lines = await alice.registry.get("/teg/transactions", headers=alice.headers)
        return alice, bob, lines.json()["items"][0]["transaction_id"]

    async def ruled(
        self, alice: TestAgent, bob: TestAgent, tx_id: str | None, slash: str, compensation: str = "0"
    ) -> dict[str, Any]:
        """A dispute of alice against bob, decided for her; the settlement at `a`."""
        return await self.settlement_of(await self.filed(alice, bob, tx_id), slash, compensation)

    async def filed(self, alice: TestAgent, bob: TestAgent, tx_id: str | None) -> int:
        """A dispute of alice against bob; its number."""
        subject = {} if tx_id is None else {"transaction_id": tx_id}
        body = {
            "defendant_did": bob.did,
            "reason_code": "POOR_QUALITY",
            "description": "Half is missing.",
            **subject,
        }
        filed = await alice.registry.post("/disputes/", json=body, headers=alice.headers)
        assert filed.status_code == 201, filed.text
        number: int = filed.json()["id"]
        return number

    async def settlement_of(self, dispute_id: int, slash: str, compensation: str) -> dict[str, Any]:
        """The dispute is decided for the complainant; its settlement at `a`."""
        answer = await self.rule(dispute_id, slash, compensation)
        assert answer.status_code == 200, answer.text
        (found,) = [one for one in await self.list(self.pair.a) if one["dispute_id"] == dispute_id]
        return found

    async def rule(self, dispute_id: int, slash: str, compensation: str) -> httpx2.Response:
        path = f"/api/v1/admin/disputes/{dispute_id}/open-voting"
        opened = await self.pair.a.registry.http.put(path, headers=self.at_home.headers)
        assert opened.status_code == 200, opened.text
        return await self.rule_again(dispute_id, slash, compensation)

    async def rule_again(self, dispute_id: int, slash: str, compensation: str) -> httpx2.Response:
        """While voting is open."""
        ruling = {
            "ruling": "IN_FAVOR_OF_COMPLAINANT",
            "slash_amount": slash,
            "compensation_amount": compensation,
            "note": "As the evidence shows.",
        }
        path = f"/api/v1/admin/disputes/{dispute_id}/ruling"
        return await self.pair.a.registry.http.put(path, json=ruling, headers=self.at_home.headers)

    def administrator(self, at: Neighbour) -> TestDeveloper:
        return self.at_home if at is self.pair.a else self.abroad

    async def list(self, at: Neighbour, **wanted: str) -> list[dict[str, Any]]:
        headers = self.administrator(at).headers
        answer = await at.registry.get(
            f"{PATH}/settlements", params={"limit": 200, **wanted}, headers=headers
        )
        assert answer.status_code == 200, answer.text
        items: list[dict[str, Any]] = answer.json()["items"]
        return items

    async def incoming(self, outgoing: dict[str, Any]) -> dict[str, Any]:
        (found,) = [
            one
            for one in await self.list(self.pair.b, direction="incoming")
            if one["dispute_id"] == outgoing["dispute_id"]
        ]
        return found

    async def outgoing(self, found: dict[str, Any]) -> dict[str, Any]:
        answer = await self.pair.a.registry.get(
            f"{PATH}/settlements/{found['settlement_id']}", headers=self.at_home.headers
        )
        read: dict[str, Any] = answer.json()
        return read

    async def evidence(self, at: Neighbour, found: dict[str, Any]) -> httpx2.Response:
        """Return the response with the other registry's signed evidence of the settlement."""
        path = f"{PATH}/settlements/{found['settlement_id']}/evidence"
        return await at.registry.get(path, headers=self.administrator(at).headers)

    async def decide(self, incoming: dict[str, Any], act: str, **body: str) -> httpx2.Response:
        path = f"{PATH}/settlements/{incoming['settlement_id']}/{act}"
        return await self.pair.b.registry.post(path, json=body or None, headers=self.abroad.headers)

    async def slashes_at(self, one: Neighbour, *, enabled: bool, most: int) -> None:
        peer = await one.peer(self.pair.a)
        answer = await one.registry.http.put(
            f"/api/v1{PATH}/peer-slash-config/{peer.id}",
            json={"auto_slash_enabled": enabled, "auto_slash_max_avt": most},
            headers=self.administrator(one).headers,
        )
        assert answer.status_code == 200, answer.text

    async def what_is_due_happens(self, *all_of: Neighbour) -> None:
        for one in all_of or (self.pair.a, self.pair.b, self.pair.a):
            await time_passes(one.registry.runtime, 3600)
            await run_due(one.registry.runtime, SLASHES)
            await run(one, "UPDATE commerce_settlement SET next_at = now() WHERE next_at IS NOT NULL")
            await run_scheduled_transactions(one.registry.runtime, EXPIRY, DUE)
            await run_due(one.registry.runtime, DELIVERY)

    async def a_day_passes(self, one: Neighbour) -> None:
        await run(one, "UPDATE commerce_settlement SET expires_at = now() WHERE status = 'PENDING_SLASH'")


@pytest.fixture(scope="module")
async def court(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Court]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("court")) as pair:
        areas = "admin_enforcement"
        yield Court(
            pair, await pair.a.registry.administrator(areas), await pair.b.registry.administrator(areas)
        )
        for one in (pair.a, pair.b):
            supply = await one.registry.supply()
            assert (supply["status"], supply["delta"]) == ("OK", "0"), supply


@pytest.fixture(autouse=True)
async def alone(court: Court) -> None:
    """Hold slashes, and make the settlements of other tests neither due nor counted into a bound."""
    await court.slashes_at(court.pair.b, enabled=False, most=0)
    for one in (court.pair.a, court.pair.b):
        await run(
            one,
            "UPDATE commerce_settlement SET next_at = NULL, decided_at = decided_at - interval '25 hours',"
            " expires_at = expires_at + interval '1 day'",
        )


async def typed(one: Neighbour, kind: str, did: str, member: str = "did") -> dict[str, Any]:
    data: str = await one.registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT data::text FROM journal_event WHERE event_type = $1 AND data ->> $3 = $2",
            kind,
            did,
            member,
        )
    )
    read: dict[str, Any] = json.loads(data)
    return read


async def test_an_approved_slash_is_destroyed_at_the_defendants_home_and_compensated_at_the_complainants(
    court: Court,
):
    alice, bob, tx_id = await court.parties()
    opened = await court.ruled(alice, bob, tx_id, slash="15", compensation="12")
    assert (opened["status"], opened["direction"], opened["peer"]) == (
        "PENDING_SLASH",
        "outgoing",
        "b.example",
    )
    assert await alice.balance() == "80"
    await court.what_is_due_happens()
    held = await court.incoming(opened)
    assert (held["status"], held["auto_approved"], held["amount"]) == ("PENDING_SLASH", False, "15")
    answer = await court.decide(held, "approve")
    assert (answer.status_code, answer.json()["status"]) == (200, "SLASHING")
    await court.what_is_due_happens(court.pair.b)
    settled, there = await court.outgoing(opened), await court.incoming(opened)
    assert (settled["status"], settled["slashed_amount"], settled["compensated_amount"]) == (
        "SETTLED",
        "15",
        "12",
    )
    assert (there["status"], there["slashed_amount"]) == ("SETTLED", "15")
    assert settled["peer_tx_id"] == there["tx_id"]
    assert (await alice.balance(), await bob.balance()) == ("92", "104.9")
    slash = await typed(court.pair.b, "DisputeSlash", bob.did)
    assert (slash["counterparty_frame"], slash["dispute_id"]) == ("a.example", opened["dispute_id"])
    minted = await typed(court.pair.a, "DisputeCompensationMinted", alice.did)
    assert (minted["counterparty_frame"], minted["counterparty_tx_id"]) == ("b.example", there["tx_id"])
    dispute = await alice.registry.get(f"/disputes/{opened['dispute_id']}", headers=alice.headers)
    assert dispute.json()["slash_applied"] == "15"
    (confirmed,) = await verified(court, court.pair.a, settled, by=court.pair.b)
    assert (confirmed["type"], confirmed["status"]) == ("slash-confirmation", "SLASHED")
    assert (confirmed["slashed_amount"], confirmed["tx_id"]) == ("15", there["tx_id"])
    requested, acknowledged = await verified(court, court.pair.b, there, by=court.pair.a)
    assert (requested["type"], requested["amount"]) == ("slash-request", "15")
    assert (acknowledged["type"], acknowledged["status"]) == ("slash-receipt", "SETTLED")


async def verified(court: Court, at: Neighbour, found: dict[str, Any], by: Neighbour) -> list[dict[str, Any]]:
    """Return the statements of the evidence at one registry, verified with the keys that the other one publishes."""
    keys = read_keys((await by.registry.http.get("/.well-known/registry-jwks.json")).json())
    answer = await court.evidence(at, found)
    verdict = verify_settlement(answer.text, keys)
    assert verdict.is_valid, (answer.text, verdict)
    own = read_keys((await at.registry.http.get("/.well-known/registry-jwks.json")).json())
    assert verify_settlement(answer.text, own).code == "unknown_key"
    return [dict(message) for message in verdict.messages]


async def test_there_is_no_evidence_before_the_other_registry_has_signed_something(court: Court):
    opened = await court.ruled(*await court.parties(), slash="1")
    assert await refusal(await court.evidence(court.pair.a, opened)) == (404, "SETTLEMENT_EVIDENCE_MISSING")
    unknown = {"settlement_id": 10**9}
    assert await refusal(await court.evidence(court.pair.a, unknown)) == (404, "SETTLEMENT_UNKNOWN")


async def test_a_rejected_slash_fails_with_the_reason_and_nothing_moves(court: Court):
    alice, bob, tx_id = await court.parties()
    opened = await court.ruled(alice, bob, tx_id, slash="15", compensation="12")
    await court.what_is_due_happens()
    held = await court.incoming(opened)
    assert (await court.decide(held, "reject", reason="The work was delivered.")).status_code == 200
    await court.what_is_due_happens(court.pair.b)
    failed = await court.outgoing(opened)
    assert (failed["status"], failed["reason"]) == ("FAILED", "The work was delivered.")
    assert await refusal(await court.decide(held, "approve")) == (409, "SETTLEMENT_DECIDED")
    assert (await alice.balance(), await bob.balance()) == ("80", "119.9")


async def test_a_slash_within_the_bounds_is_approved_by_itself_where_the_complainant_paid_the_defendant_as_much(
    court: Court,
):
    await court.slashes_at(court.pair.b, enabled=True, most=10)
    alice, bob, tx_id = await court.payer_of_a_call()
    within = await court.ruled(alice, bob, tx_id, slash="10", compensation="10")
    await court.what_is_due_happens()
    assert (await court.incoming(within))["auto_approved"] is True
    assert (await court.outgoing(within))["status"] == "SETTLED"
    above = await court.ruled(*await court.payer_of_a_call(), slash="10.5")
    stranger, carol = await court.pair.a.registry.agent(), await court.pair.b.registry.agent()
    unpaid = await court.ruled(stranger, carol, None, slash="5")
    await court.what_is_due_happens()
    for one in (above, unpaid):
        assert (await court.incoming(one))["status"] == "PENDING_SLASH"


async def test_in_a_day_a_peer_gets_at_most_ten_times_its_bound_approved_by_itself(court: Court):
    await court.slashes_at(court.pair.b, enabled=True, most=1)
    approved = await court.ruled(*await court.payer_of_a_call(), slash="1")
    await court.what_is_due_happens()
    assert (await court.incoming(approved))["auto_approved"] is True
    # As if there had been nine more of them.
    await run(
        court.pair.b,
        "UPDATE commerce_settlement SET amount = 950000000 WHERE direction = 'incoming' AND dispute_id = $1",
        approved["dispute_id"],
    )
    opened = await court.ruled(*await court.payer_of_a_call(), slash="1")
    await court.what_is_due_happens()
    assert (await court.incoming(opened))["status"] == "PENDING_SLASH"


async def test_without_a_decision_in_24_hours_the_settlement_expires_on_both_sides(court: Court):
    alice, bob, tx_id = await court.parties()
    opened = await court.ruled(alice, bob, tx_id, slash="15", compensation="15")
    await court.what_is_due_happens()
    await court.a_day_passes(court.pair.b)
    held = await court.incoming(opened)
    assert await refusal(await court.decide(held, "approve")) == (409, "SETTLEMENT_DECIDED")
    await court.what_is_due_happens(court.pair.b)
    assert (await court.incoming(opened))["status"] == "EXPIRED"
    assert (await court.outgoing(opened))["status"] == "EXPIRED"
    assert await alice.balance() == "80"


async def test_a_later_signed_slash_corrects_an_expiry_that_this_side_only_showed(court: Court):
    alice, bob, tx_id = await court.parties()
    opened = await court.ruled(alice, bob, tx_id, slash="5", compensation="5")
    await court.what_is_due_happens()
    await court.a_day_passes(court.pair.a)
    await run_scheduled_transactions(court.pair.a.registry.runtime, EXPIRY)
    assert (await court.outgoing(opened))["status"] == "EXPIRED"
    assert (await court.decide(await court.incoming(opened), "approve")).status_code == 200
    await court.what_is_due_happens(court.pair.b)
    settled = await court.outgoing(opened)
    assert (settled["status"], settled["compensated_amount"]) == ("SETTLED", "5")
    assert await alice.balance() == "85"


async def test_what_is_destroyed_is_what_the_defendant_has_and_the_compensation_follows_it(court: Court):
    alice, bob, tx_id = await court.parties(paid="60")
    carol = await court.pair.b.registry.agent()
    assert (await bob.transfer(carol, "150")).status_code == 200
    left = await bob.balance()
    opened = await court.ruled(alice, bob, tx_id, slash="50", compensation="50")
    await court.what_is_due_happens()
    await court.decide(await court.incoming(opened), "approve")
    await court.what_is_due_happens(court.pair.b)
    settled = await court.outgoing(opened)
    assert (settled["status"], settled["slashed_amount"]) == ("SETTLED", left)
    assert (settled["compensated_amount"], await bob.balance()) == (left, "0")


async def test_a_slash_of_a_defendant_without_units_fails(court: Court):
    alice, bob, tx_id = await court.parties()
    carol = await court.pair.b.registry.agent()
    assert (await bob.transfer(carol, "119.3")).status_code == 200
    rest = await bob.balance()
    first = await court.ruled(alice, bob, tx_id, slash=rest)
    await court.what_is_due_happens()
    await court.decide(await court.incoming(first), "approve")
    await court.what_is_due_happens(court.pair.b)
    second = await court.ruled(await court.pair.a.registry.agent(), bob, None, slash="1")
    await court.what_is_due_happens()
    await court.decide(await court.incoming(second), "approve")
    await court.what_is_due_happens(court.pair.b)
    failed = await court.outgoing(second)
    assert (failed["status"], failed["reason"]) == ("FAILED", "NO_FUNDS")


async def test_a_lost_answer_at_any_step_is_repeated_and_slashes_and_mints_once(
    court: Court, monkeypatch: pytest.MonkeyPatch
):
    alice, bob, tx_id = await court.parties()
    opened = await court.ruled(alice, bob, tx_id, slash="15", compensation="15")
    calls = LostCalls(monkeypatch)
    calls.loses = lambda made: "answer" if made % 2 else None
    await court.what_is_due_happens()
    await court.decide(await court.incoming(opened), "approve")
    for _ in range(3):
        await court.what_is_due_happens(court.pair.b, court.pair.a)
    assert (await court.outgoing(opened))["status"] == "SETTLED"
    assert (await court.incoming(opened))["status"] == "SETTLED"
    assert (await alice.balance(), await bob.balance()) == ("95", "104.9")


async def test_a_compensation_on_the_word_of_a_peer_counts_toward_its_limit(court: Court):
    alice, bob, tx_id = await court.parties()
    peer = await court.pair.a.peer(court.pair.b)
    opened = await court.ruled(alice, bob, tx_id, slash="15", compensation="15")
    await court.what_is_due_happens()
    await court.decide(await court.incoming(opened), "approve")
    # Whatever went out is taken into account, so that nothing may come in any more.
    await run(court.pair.a, "UPDATE federation_peer SET net_in_limit = 0 WHERE id = $1", peer.id)
    await run(court.pair.a, "UPDATE ledger_corridor SET compensated = compensated + 10 ^ 15")
    try:
        await court.what_is_due_happens(court.pair.b)
        assert (await court.outgoing(opened))["status"] == "PENDING_SLASH"
        assert await alice.balance() == "80"
    finally:
        await run(court.pair.a, "UPDATE ledger_corridor SET compensated = compensated - 10 ^ 15")
        await run(court.pair.a, "UPDATE federation_peer SET net_in_limit = NULL WHERE id = $1", peer.id)
    await court.what_is_due_happens()
    assert (await court.outgoing(opened))["status"] == "SETTLED"
    assert await alice.balance() == "95"


async def test_a_compensation_is_at_most_the_slash_and_a_stranger_is_no_defendant(court: Court):
    alice, bob, tx_id = await court.parties()
    body = {"defendant_did": bob.did, "reason_code": "OTHER", "description": "No.", "transaction_id": tx_id}
    filed = await alice.registry.post("/disputes/", json=body, headers=alice.headers)
    answer = await court.rule(filed.json()["id"], slash="5", compensation="6")
    assert await refusal(answer) == (422, "RULING_INVALID")
    stranger = {**body, "defendant_did": "did:hansa:nowhere.example:0f0e0d0c-0000-4000-8000-000000000000"}
    stranger.pop("transaction_id")
    refused = await alice.registry.post("/disputes/", json=stranger, headers=alice.headers)
    assert await refusal(refused) == (404, "DEFENDANT_UNKNOWN")


async def test_a_lost_dispute_counts_once_against_the_peer(court: Court):
    before = (await court.pair.a.peer(court.pair.b)).disputes_lost_with
    await court.ruled(*await court.parties(), slash="1")
    assert (await court.pair.a.peer(court.pair.b)).disputes_lost_with == before + 1


async def test_a_settlement_that_is_unknown_or_has_no_reason_and_an_unknown_peer_are_refused(court: Court):
    unknown = {"settlement_id": 10**9}
    for act, body in (("approve", {}), ("reject", {"reason": "No."})):
        assert await refusal(await court.decide(unknown, act, **body)) == (404, "SETTLEMENT_UNKNOWN")
    assert (await court.decide(unknown, "reject", reason="")).status_code == 422
    bounds = {"auto_slash_enabled": True, "auto_slash_max_avt": 1}
    http = court.pair.b.registry.http
    config = f"/api/v1{PATH}/peer-slash-config"
    for name, status in (("nobody", 404), ("999999", 404), ("registry-a", 200)):
        answer = await http.put(f"{config}/{name}", json=bounds, headers=court.abroad.headers)
        assert answer.status_code == status, answer.text
    rows = (await http.get(config, headers=court.abroad.headers)).json()["items"]
    assert [{**bounds, "name": "registry-a"}] == [
        {name: row[name] for name in (*bounds, "name")} for row in rows
    ]


async def test_there_is_one_settlement_for_each_peer_and_dispute(court: Court):
    opened = await court.ruled(*await court.parties(), slash="1")
    for _ in range(2):
        await court.what_is_due_happens()
    assert (await court.incoming(opened))["status"] == "PENDING_SLASH"
    both = [one for at in (court.pair.a, court.pair.b) for one in await court.list(at)]
    assert [one["direction"] for one in both if one["dispute_id"] == opened["dispute_id"]] == [
        "outgoing",
        "incoming",
    ]


async def disputed_by_provider(court: Court) -> tuple[TestAgent, TestAgent, int]:
    """A contractor at `a` with 100 units, a provider at `b` that was paid 10 and submitted the rest of its work, and the provider's dispute at `a`."""
    abroad = await AgreementAbroad.between(court.pair)
    contract_id = await abroad.submitted_after_payment()
    await abroad.receive(contractor="100", provider="110")
    complaint = {
        "defendant_did": abroad.contractor.did,
        "reason_code": "OTHER",
        "description": "Not paid.",
        "claimed_amount": "10",
    }
    filed = await abroad.abroad("dispute-federated", contract_id, **complaint)
    assert filed.status_code == 201, filed.text
    return abroad.contractor, abroad.provider, filed.json()["id"]


async def awards(court: Court, dispute_id: int) -> tuple[dict[str, Any], ...]:
    """Return the records of an award at both registries: `awarded` at `a`, `owed` at `b`."""
    kept = [
        one
        for at, direction in ((court.pair.a, "awarded"), (court.pair.b, "owed"))
        for one in await court.list(at, direction=direction)
        if one["dispute_id"] == dispute_id
    ]
    return tuple(kept)


async def test_a_complainant_of_another_registry_is_compensated_there_for_what_was_slashed_here(
    court: Court, monkeypatch: pytest.MonkeyPatch
):
    contractor, provider, dispute_id = await disputed_by_provider(court)
    ruled = await court.rule(dispute_id, slash="8", compensation="7")
    assert ruled.status_code == 200, ruled.text
    assert (ruled.json()["slash_applied"], ruled.json()["compensation_amount"]) == ("8", "7")
    assert (await contractor.balance(), await provider.balance()) == ("92", "110")
    (awarded,) = await awards(court, dispute_id)
    assert (awarded["status"], awarded["slashed_amount"]) == ("SLASHED", "8")
    # The peer's answer to the award is lost.
    calls = LostCalls(monkeypatch)
    calls.loses = lambda _: "answer"
    await court.what_is_due_happens()
    awarded, owed = await awards(court, dispute_id)
    assert (awarded["status"], owed["status"]) == ("SLASHED", "SETTLED")
    calls.loses = lambda _: None
    await court.what_is_due_happens()
    awarded, owed = await awards(court, dispute_id)
    assert (awarded["status"], owed["status"]) == ("SETTLED", "SETTLED")
    assert (owed["compensated_amount"], owed["slashed_amount"]) == ("7", "8")
    assert owed["peer_tx_id"] == awarded["tx_id"]
    award, *_ = await verified(court, court.pair.b, owed, by=court.pair.a)
    assert (award["type"], award["compensation_amount"]) == ("slash-award", "7")
    (receipt,) = await verified(court, court.pair.a, awarded, by=court.pair.b)
    assert (receipt["type"], receipt["status"]) == ("slash-receipt", "SETTLED")
    named = ("slashed_amount", "compensation_amount", "payment")
    assert [receipt[name] for name in named] == [award[name] for name in named]
    assert (await contractor.balance(), await provider.balance()) == ("92", "117")
    minted = await typed(court.pair.b, "DisputeCompensationMinted", provider.did)
    assert (minted["amount"], minted["counterparty_frame"]) == ("7", "a.example")
    assert minted["counterparty_tx_id"] == awarded["tx_id"]
    assert (await typed(court.pair.a, "DisputeSlash", contractor.did))["amount"] == "8"


async def test_an_award_is_at_most_what_was_slashed_and_nothing_where_nothing_was(court: Court):
    contractor, provider, dispute_id = await disputed_by_provider(court)
    assert await refusal(await court.rule(dispute_id, slash="5", compensation="6")) == (422, "RULING_INVALID")
    other = await court.pair.a.registry.agent()
    assert (await contractor.transfer(other, "96")).status_code == 200
    left = await contractor.balance()
    ruling = {
        "ruling": "IN_FAVOR_OF_COMPLAINANT",
        "slash_amount": "8",
        "compensation_amount": "8",
        "note": "As the evidence shows.",
    }
    path = f"/api/v1/admin/disputes/{dispute_id}/ruling"
    ruled = await court.pair.a.registry.http.put(path, json=ruling, headers=court.at_home.headers)
    assert ruled.json()["slash_applied"] == left
    await court.what_is_due_happens()
    _, owed = await awards(court, dispute_id)
    assert owed["compensated_amount"] == left
    assert await contractor.balance() == "0"
    assert await provider.balance() == str(Decimal(110) + Decimal(left))


async def test_an_award_beyond_the_limit_of_its_registry_waits_and_one_that_is_invalid_fails_on_both_sides(
    court: Court,
):
    contractor, provider, dispute_id = await disputed_by_provider(court)
    assert (await court.rule(dispute_id, slash="8", compensation="7")).status_code == 200
    peer = await court.pair.b.peer(court.pair.a)
    limit = "UPDATE federation_peer SET net_in_limit = $2 WHERE id = $1"
    await run(court.pair.b, limit, peer.id, 0)
    await run(court.pair.b, "UPDATE ledger_corridor SET compensated = compensated + 10 ^ 15")
    try:
        await court.what_is_due_happens()
        assert [one["status"] for one in await awards(court, dispute_id)] == ["SLASHED"]
        assert await provider.balance() == "110"
    finally:
        await run(court.pair.b, "UPDATE ledger_corridor SET compensated = compensated - 10 ^ 15")
        await run(court.pair.b, limit, peer.id, None)
    # The facts of another dispute.
    facts = "UPDATE commerce_settlement SET verdict = '{}' WHERE direction = 'awarded' AND dispute_id = $1"
    await run(court.pair.a, facts, dispute_id)
    await court.what_is_due_happens()
    awarded, owed = await awards(court, dispute_id)
    assert (awarded["status"], awarded["reason"]) == ("FAILED", "VERDICT_INVALID")
    assert (owed["status"], owed["reason"], owed["compensated_amount"]) == ("FAILED", "VERDICT_INVALID", "0")
    # What was destroyed stays destroyed, and the registry that ruled records why nobody was compensated.
    assert (await contractor.balance(), await provider.balance()) == ("92", "110")
    refused = await typed(court.pair.a, "DisputeCompensationRefused", provider.did, "complainant_did")
    amounts = (refused["compensation_amount"], refused["slashed_amount"], refused["currency"])
    assert amounts == ("7", "8", "AVT")
    assert (refused["reason"], refused["counterparty_frame"]) == ("VERDICT_INVALID", "b.example")
    assert refused["settlement_id"] == awarded["settlement_id"]
