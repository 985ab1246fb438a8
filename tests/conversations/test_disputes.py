"""Disputes as the specification has them: an agent complains about another, and an administrator rules."""

import asyncio
import json
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.commerce.disputes import bundle as bundles
from hansa.rooms.commerce.disputes.rules import EVIDENCE_MAX_BYTES
from hansa.rooms.journal.store import COLUMNS, stored
from hansa.rooms.notifications import OWNER_NOTICES
from tests.paying import Payments
from tests.registry import DatabaseFarm, TestAgent, at_once
from tests.rooms.commerce.agreements import DAY, HOUR, in_days, refused
from tests.rooms.commerce.disputing import (
    EVIDENCE,
    FOR_COMPLAINANT,
    FOR_DEFENDANT,
    Disputing,
    open_disputing,
    receipt,
)

MEMBERS = {
    "id",
    "complainant_did",
    "defendant_did",
    "contract_id",
    "token_id",
    "transaction_id",
    "is_malpractice",
    "reason_code",
    "description",
    "claimed_amount",
    "bound",
    "paid",
    "held",
    "deposit",
    "status",
    "ruling",
    "compensation_amount",
    "slash_requested",
    "slash_reduction",
    "slash_applied",
    "award_amount",
    "award_status",
    "note",
    "evidence",
    "attestation_ids",
    "opened_at",
    "evidence_until",
    "rule_by",
    "voting_at",
    "closed_at",
    "proposal",
}


@pytest.fixture(scope="module")
async def open_here(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Disputing]:
    async with open_disputing(database_farm, tmp_path_factory.mktemp("disputes")) as disputing:
        yield disputing


@pytest.fixture
async def disputes(open_here: Disputing) -> AsyncIterator[Disputing]:
    """No unit is made or lost, and no hold is left behind, in any conversation."""
    yield open_here
    await open_here.agreements.prove()


@pytest.fixture
async def alice(disputes: Disputing) -> TestAgent:
    """A contractor who holds 1000 units."""
    return await disputes.agreements.contractor()


@pytest.fixture
async def bob(disputes: Disputing) -> TestAgent:
    """A provider of another owner, who holds nothing."""
    return await disputes.agreements.provider()


async def funded(disputes: Disputing, alice: TestAgent, bob: TestAgent, **members: Any) -> Any:
    """A funded contract whose work was submitted."""
    dates = {"submit_by": in_days(2), "review_by": in_days(4)}
    return await disputes.agreements.submitted(alice, bob, funded=True, **dates, **members)


async def transferred(alice: TestAgent, bob: TestAgent, amount: str = "50") -> str:
    answer = await alice.transfer(bob, amount)
    assert answer.status_code == 200, answer.text
    return answer.json()["transaction_id"]


# Filing


async def test_a_dispute_is_answered_with_what_was_filed(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    filed = await disputes.file(alice, bob)
    assert set(filed) == MEMBERS
    assert (filed["status"], filed["complainant_did"], filed["defendant_did"]) == ("OPEN", alice.did, bob.did)
    assert (filed["contract_id"], filed["token_id"], filed["bound"], filed["ruling"]) == (None,) * 4
    assert (filed["attestation_ids"], filed["evidence"], filed["slash_applied"]) == ([], [], "0")


async def test_an_agent_does_not_complain_about_itself_or_about_nobody(
    disputes: Disputing, alice: TestAgent
) -> None:
    assert refused(await disputes.try_file(alice, alice)) == (400, "OWN_DISPUTE")
    stranger = TestAgent(**{**vars(alice), "did": "did:hansa:hansa.local:nobody-there"})
    assert refused(await disputes.try_file(alice, stranger)) == (404, "DEFENDANT_UNKNOWN")


@pytest.mark.parametrize(
    "members",
    [
        {"reason_code": "BAD_MOOD"},
        {"description": ""},
        {"description": "x" * 2001},
        {"claimed_amount": "0"},
        {"claimed_amount": 5},
        {"contract_id": 1, "transaction_id": "tx-1"},
        {"transaction_id": "1"},
        {"attestation_ids": ["x"] * 21},
    ],
    ids=["reason", "empty", "long", "nothing claimed", "number", "two subjects", "malformed", "many"],
)
async def test_a_complaint_that_is_malformed_is_refused(
    disputes: Disputing, alice: TestAgent, bob: TestAgent, members: dict[str, Any]
) -> None:
    assert (await disputes.try_file(alice, bob, **members)).status_code == 422


async def test_a_contract_a_token_and_a_transaction_lead_to_the_same_payment(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    payments = Payments(disputes.registry, alice, bob)
    token = await payments.authorized(amount="100")
    submitted = await disputes.agreements.submitted(alice, bob)
    paid = await disputes.agreements.act(alice, submitted, "approve-completion", payment_token=token["token"])
    for subject in (
        {"transaction_id": paid["payment_tx_id"]},
        {"token_id": token["token_id"]},
        {"contract_id": paid["id"]},
    ):
        filed = await disputes.try_file(alice, bob, **subject)
        if subject == {"transaction_id": paid["payment_tx_id"]}:
            assert filed.status_code == 201
            assert (filed.json()["contract_id"], filed.json()["bound"]) == (paid["id"], "100")
        else:
            assert refused(filed) == (409, "CONTRACT_WRONG_STATE")
    assert (await disputes.agreements.read(alice, paid))["status"] == "DISPUTED"


async def test_of_each_payment_an_agent_complains_once_at_once_included(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    paid = await transferred(alice, bob)
    answers = await at_once(*(disputes.try_file(alice, bob, transaction_id=paid) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
    other = await disputes.file(alice, bob, transaction_id=await transferred(alice, bob), claimed_amount="20")
    assert other["bound"] == "20"


async def test_the_number_of_a_dispute_is_above_the_seconds_since_2025_at_once_included(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    # A database that was restored gives no number again, whatever it has lost.
    since = (
        "SELECT floor(extract(epoch FROM clock_timestamp() - timestamptz '2025-01-01 00:00:00+00'))::bigint"
    )
    seconds = await disputes.registry.database.query(lambda tx: tx.fetchval(since))
    numbers = [one["id"] for one in await at_once(*(disputes.file(alice, bob) for _ in range(8)))]
    assert len(set(numbers)) == 8
    assert min(numbers) > seconds


async def test_both_must_be_parties_to_the_payment(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    carol, paid = await disputes.agreements.provider(), await transferred(alice, bob)
    contract = await disputes.agreements.submitted(alice, bob)
    assert refused(await disputes.try_file(alice, carol, transaction_id=paid)) == (
        422,
        "DEFENDANT_NOT_A_PARTY",
    )
    assert refused(await disputes.try_file(alice, carol, contract_id=contract["id"])) == (
        422,
        "DEFENDANT_NOT_A_PARTY",
    )
    assert refused(await disputes.try_file(carol, bob, transaction_id=paid)) == (404, "PAYMENT_UNKNOWN")
    assert refused(await disputes.try_file(carol, bob, contract_id=contract["id"])) == (
        404,
        "CONTRACT_UNKNOWN",
    )


async def test_the_payer_alone_disputes_a_plain_transfer(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    paid = await transferred(alice, bob)
    assert refused(await disputes.try_file(bob, alice, transaction_id=paid)) == (403, "PAYER_ONLY")


async def test_a_deposit_returns_unless_the_dispute_is_dismissed(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    for ruling, returns in ((FOR_COMPLAINANT, True), (FOR_DEFENDANT, True), ("DISMISSED", False)):
        paid = await transferred(alice, bob, "50")
        before = await disputes.agreements.balances(alice)
        filed = await disputes.in_voting(alice, bob, transaction_id=paid)
        assert filed["deposit"] == "0.5"
        assert (await disputes.agreements.balances(alice))[1] == "0.5"
        await disputes.rule(filed, ruling)
        liquid, escrow = await disputes.agreements.balances(alice)
        assert escrow == "0"
        assert round(float(before[0]) - float(liquid), 8) == (0 if returns else 0.5)


async def test_a_deposit_is_one_percent_of_the_claim_and_at_least_a_tenth_of_a_unit(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    claims = (("200", None, "2"), ("200", "30", "0.3"), ("0.00000001", None, "0.1"))
    for amount, claimed, deposit in claims:
        members = {} if claimed is None else {"claimed_amount": claimed}
        paid = await transferred(alice, bob, amount)
        assert (await disputes.file(alice, bob, transaction_id=paid, **members))["deposit"] == deposit
    assert (await disputes.file(alice, bob))["deposit"] == "0", "without a payment there is no deposit"


async def test_a_deposit_that_the_complainant_does_not_have_refuses_the_dispute(
    disputes: Disputing, bob: TestAgent
) -> None:
    poor = await disputes.agreements.contractor("20.2")
    paid = await transferred(poor, bob, "20")
    assert refused(await disputes.try_file(poor, bob, transaction_id=paid)) == (
        402,
        "DISPUTE_DEPOSIT_UNCOVERED",
    )
    assert (await disputes.agreements.balances(poor))[1] == "0"


async def test_a_provider_that_was_paid_nothing_makes_no_deposit(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    contract = await funded(disputes, alice, bob)
    filed = await disputes.in_voting(bob, alice, contract_id=contract["id"])
    assert filed["deposit"] == "0"
    await disputes.rule(filed, FOR_COMPLAINANT)


async def test_a_deposit_of_a_dispute_that_nobody_ruled_on_is_lost(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    filed = await disputes.file(alice, bob, transaction_id=await transferred(alice, bob))
    before = await disputes.agreements.balances(alice)
    await disputes.elapse(filed, 72 * HOUR)
    await disputes.elapse(filed, 27 * DAY)
    assert (await disputes.read(alice, filed)).json()["ruling"] == "DISMISSED"
    assert await disputes.agreements.balances(alice) == (before[0], "0")


async def test_a_payment_token_is_disputed_once_it_has_ended(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    payments = Payments(disputes.registry, alice, bob)
    token = await payments.authorized(amount="5")
    subject = {"token_id": token["token_id"]}
    assert refused(await disputes.try_file(alice, bob, **subject)) == (409, "PAYMENT_NOT_ENDED")
    await payments.release(token["token"])
    assert refused(await disputes.try_file(bob, alice, **subject)) == (409, "PAYMENT_NOT_ENDED")
    used = await payments.authorized(amount="5")
    await payments.verify(used["token"])
    await payments.settle(used["token"], success=False)
    filed = await disputes.file(bob, alice, token_id=used["token_id"])
    assert (filed["bound"], filed["transaction_id"]) == ("5", None)


async def test_the_time_for_a_dispute_ends_with_its_window(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    done = await disputes.agreements.submitted(alice, bob)
    await disputes.agreements.act(alice, done, "approve-completion")
    await disputes.agreements.move_clock(done, 72 * HOUR)
    assert refused(await disputes.try_file(alice, bob, contract_id=done["id"])) == (409, "DISPUTE_TOO_LATE")


async def test_the_time_for_a_dispute_ends_where_a_reinstatement_was_followed_after_the_approval(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    done = await funded(disputes, alice, bob)
    act = {"agent_dids": [bob.did], "reason": "For a test."}
    for verb in ("suspend", "reinstate"):
        answer = await disputes.registry.post(
            f"/admin/agents/bulk/{verb}", json=act, headers=disputes.administrator.headers
        )
        assert answer.status_code == 200, answer.text
        if verb == "suspend":
            await disputes.agreements.follow(bob)
    await disputes.agreements.act(alice, done, "approve-completion")
    await disputes.agreements.follow(bob)
    await disputes.agreements.move_clock(done, 72 * HOUR)
    assert refused(await disputes.try_file(alice, bob, contract_id=done["id"])) == (409, "DISPUTE_TOO_LATE")


async def test_a_provider_disputes_after_a_submission_a_contractor_at_any_time(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    accepted = await disputes.agreements.accepted(alice, bob)
    assert refused(await disputes.try_file(bob, alice, contract_id=accepted["id"])) == (
        409,
        "NOTHING_SUBMITTED",
    )
    assert (await disputes.file(alice, bob, contract_id=accepted["id"]))["status"] == "OPEN"
    proposed = await disputes.agreements.propose(alice, bob)
    assert refused(await disputes.try_file(alice, bob, contract_id=proposed["id"])) == (
        409,
        "CONTRACT_WRONG_STATE",
    )


async def test_malpractice_opens_a_dispute_with_its_evidence(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    contract = await disputes.agreements.submitted(alice, bob)
    body = {"contract_id": contract["id"], "evidence": [EVIDENCE, EVIDENCE], "claimed_damages": "30"}
    answer = await disputes.agreements.post(alice, "/malpractice", **body)
    assert answer.status_code == 201
    assert answer.json() == {"dispute_id": answer.json()["dispute_id"], "status": "PENDING_REVIEW"}
    dispute = (await disputes.read(bob, {"id": answer.json()["dispute_id"]})).json()
    assert (dispute["status"], dispute["reason_code"], dispute["bound"]) == (
        "OPEN",
        "CONTRACT_VIOLATION",
        "30",
    )
    assert (dispute["is_malpractice"], len(dispute["evidence"])) == (True, 2)


async def test_malpractice_can_be_put_into_words(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    contract = await disputes.agreements.submitted(alice, bob)
    body = {"contract_id": contract["id"], "evidence": "The pages were copied."}
    answer = await disputes.agreements.post(bob, "/malpractice", **body)
    dispute = (await disputes.read(alice, {"id": answer.json()["dispute_id"]})).json()
    assert (dispute["description"], dispute["defendant_did"]) == ("The pages were copied.", alice.did)


async def test_an_idempotency_key_files_once(disputes: Disputing, alice: TestAgent, bob: TestAgent) -> None:
    body = {"defendant_did": bob.did, "reason_code": "OTHER", "description": "It is rude."}
    headers = {**alice.headers, "Idempotency-Key": "complaint-1"}
    first, second = [await disputes.registry.post("/disputes/", json=body, headers=headers) for _ in "12"]
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert second.headers["Idempotent-Replayed"] == "true"


# Reading and evidence


async def test_nobody_but_the_parties_and_enforcement_reads_a_dispute(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    filed = await disputes.file(alice, bob)
    carol = await disputes.agreements.provider()
    for reader in (alice, bob, disputes.administrator):
        assert (await disputes.read(reader, filed)).json()["id"] == filed["id"]
    assert refused(await disputes.read(carol, filed)) == (404, "DISPUTE_UNKNOWN")
    assert (await disputes.read(await disputes.registry.developer(), filed)).status_code == 403
    assert (await disputes.post(carol, f"{filed['id']}/evidence", **EVIDENCE)).status_code == 404


async def test_disputes_are_listed_newest_first_for_those_who_may_read_them(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    first, second = await disputes.file(alice, bob), await disputes.file(bob, alice)
    carol = await disputes.agreements.provider()

    async def ids(by: TestAgent, path: str = "", **query: Any) -> list[int]:
        answer = await disputes.registry.get(f"/disputes/{path}", params=query, headers=by.headers)
        return [one["id"] for one in answer.json()["items"]]

    assert await ids(alice) == [second["id"], first["id"]]
    assert await ids(alice, role="defendant") == [second["id"]]
    assert await ids(alice, status="VOTING") == []
    assert await ids(alice, limit=1, offset=1) == [first["id"]]
    assert await ids(alice, f"agent/{bob.did}", role="complainant") == [second["id"]]
    assert await ids(carol, f"agent/{bob.did}") == []
    assert await ids(disputes.administrator, f"agent/{bob.did}") == [second["id"], first["id"]]


async def test_evidence_is_added_by_either_side_while_the_dispute_is_open(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    filed = await disputes.file(alice, bob)
    for party in (alice, bob):
        assert (await disputes.post(party, f"{filed['id']}/evidence", **EVIDENCE)).status_code == 201
    shown = (await disputes.read(alice, filed)).json()["evidence"]
    assert [(one["by"], one["sha256"]) for one in shown] == [
        (alice.did, EVIDENCE["sha256"]),
        (bob.did, EVIDENCE["sha256"]),
    ]
    assert set(shown[0]) == {"by", "uri", "sha256", "note", "at"}
    await disputes.open_voting(filed)
    late = await disputes.post(bob, f"{filed['id']}/evidence", **EVIDENCE)
    assert refused(late) == (409, "EVIDENCE_CLOSED")


async def test_the_evidence_of_a_party_fits_into_a_message_to_another_registry(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    filed = await disputes.file(alice, bob)
    # Four bytes for each character, and little else beside them.
    longest = {**EVIDENCE, "uri": None, "note": "\U0001d11e" * 2000}
    for _ in range(EVIDENCE_MAX_BYTES // 8100):
        assert (await disputes.post(bob, f"{filed['id']}/evidence", **longest)).status_code == 201
    more = await disputes.post(bob, f"{filed['id']}/evidence", **longest)
    assert refused(more) == (409, "TOO_MUCH_EVIDENCE")
    assert (await disputes.post(alice, f"{filed['id']}/evidence", **EVIDENCE)).status_code == 201


async def test_voting_opens_when_the_time_for_evidence_ends(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    filed = await disputes.file(alice, bob)
    await disputes.elapse(filed, 72 * HOUR - 60)
    assert (await disputes.read(alice, filed)).json()["status"] == "OPEN"
    await disputes.move_clock(filed, 61)
    late = await disputes.post(bob, f"{filed['id']}/evidence", **EVIDENCE)
    assert refused(late) == (409, "EVIDENCE_CLOSED")
    await disputes.elapse(filed, 0)
    assert (await disputes.read(alice, filed)).json()["status"] == "VOTING"
    assert refused(await disputes.try_put(filed, "open-voting")) == (409, "DISPUTE_WRONG_STATE")


# What a dispute does to a contract


async def test_a_dispute_stops_the_contract_and_its_dismissal_lets_it_go_on_with_the_time_that_remained(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    contract = await funded(disputes, alice, bob)
    filed = await disputes.file(alice, bob, contract_id=contract["id"])
    stopped = await disputes.agreements.read(alice, contract)
    assert (stopped["status"], stopped["dispute_id"]) == ("DISPUTED", filed["id"])
    for agent, act in ((alice, "approve-completion"), (bob, "submit"), (alice, "mark-failed")):
        answer = await disputes.agreements.post(agent, f"/{contract['id']}/{act}")
        assert refused(answer) == (409, "CONTRACT_WRONG_STATE")
    await disputes.agreements.purses.execute(
        "UPDATE commerce_contract SET stopped_at = stopped_at - interval '10 days' WHERE id = $1",
        contract["id"],
    )
    await disputes.open_voting(filed)
    ruled = await disputes.rule(filed, "DISMISSED", note="Nothing was shown.")
    assert (ruled["status"], ruled["ruling"], ruled["note"]) == ("CLOSED", "DISMISSED", "Nothing was shown.")
    resumed = await disputes.agreements.read(alice, contract)
    assert resumed["status"] == "SUBMITTED"
    assert resumed["review_by"] > contract["review_by"]
    done = await disputes.agreements.act(alice, contract, "approve-completion")
    assert (done["status"], await bob.balance()) == ("COMPLETED", "100")


async def test_a_dispute_keeps_what_a_failed_contract_holds_beyond_its_release(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    contract = await funded(disputes, alice, bob)
    await disputes.agreements.act(alice, contract, "mark-failed")
    filed = await disputes.in_voting(bob, alice, contract_id=contract["id"])
    await disputes.agreements.elapse(contract, 10 * DAY)
    assert (await disputes.agreements.balances(alice))[1] != "0"
    await disputes.rule(filed, FOR_COMPLAINANT)
    closed = await disputes.agreements.read(bob, contract)
    assert (closed["status"], closed["ended_because"], closed["amount_paid"]) == ("CLOSED", "ruling", "100")
    assert await bob.balance() == "100"
    assert (await disputes.agreements.balances(alice))[1] == "0"


async def test_an_unruled_dispute_ends_as_dismissed(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    contract = await disputes.agreements.submitted(alice, bob)
    filed = await disputes.file(alice, bob, contract_id=contract["id"])
    await disputes.elapse(filed, 72 * HOUR)
    await disputes.move_clock(filed, 27 * DAY)
    assert refused(await disputes.try_rule(filed, FOR_DEFENDANT)) == (409, "RULING_TOO_LATE")
    await disputes.elapse(filed, 0)
    ended = (await disputes.read(alice, filed)).json()
    assert (ended["status"], ended["ruling"]) == ("CLOSED", "DISMISSED")
    assert (await disputes.agreements.read(alice, contract))["status"] == "SUBMITTED"
    assert (await disputes.events(filed))[-1][1]["ruled_by"] is None


async def test_a_dismissed_contract_whose_party_was_revoked_meanwhile_has_failed(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    contract = await funded(disputes, alice, bob)
    filed = await disputes.in_voting(alice, bob, contract_id=contract["id"])
    act = {"agent_dids": [bob.did], "reason": "Fraud."}
    for verb in ("suspend", "revoke"):
        await disputes.registry.post(
            f"/admin/agents/bulk/{verb}", json=act, headers=disputes.administrator.headers
        )
    await disputes.agreements.follow(bob)
    assert (await disputes.agreements.read(alice, contract))["status"] == "DISPUTED"
    await disputes.rule(filed, "DISMISSED")
    ended = await disputes.agreements.read(alice, contract)
    assert (ended["status"], ended["ended_because"]) == ("FAILED", "party_revoked")


# The ruling


async def test_a_ruling_for_the_contractor_returns_the_hold(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    contract = await funded(disputes, alice, bob)
    filed = await disputes.in_voting(alice, bob, contract_id=contract["id"])
    await disputes.rule(filed, FOR_COMPLAINANT)
    assert await disputes.agreements.balances(alice) == ("1000", "0")
    closed = await disputes.agreements.read(alice, contract)
    assert (closed["status"], closed["ended_because"], closed["amount_paid"]) == ("CLOSED", "ruling", "0")


async def test_a_ruling_for_the_defendant_gives_the_hold_to_its_side(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    halves = [{"title": "First", "amount": "40"}, {"title": "Second", "amount": "60"}]
    contract = await funded(disputes, alice, bob, milestones=halves)
    await disputes.agreements.act(alice, contract, "approve-completion")
    filed = await disputes.in_voting(alice, bob, contract_id=contract["id"])
    await disputes.rule(filed, FOR_DEFENDANT)
    closed = await disputes.agreements.read(alice, contract)
    assert (closed["amount_paid"], [one["state"] for one in closed["milestones"]]) == (
        "100",
        ["approved"] * 2,
    )
    assert await bob.balance() == "100"


async def test_a_ruling_slashes_and_compensates_and_the_audit_moves_with_it(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    paid = await transferred(alice, bob)
    filed = await disputes.in_voting(alice, bob, transaction_id=paid)
    issued, destroyed = await disputes.supply()
    ruled = await disputes.rule(filed, FOR_COMPLAINANT, compensation_amount="20", slash_amount="30")
    assert (ruled["compensation_amount"], ruled["slash_requested"], ruled["slash_applied"]) == (
        "20",
        "30",
        "30",
    )
    assert await bob.balance() == "20"
    assert await disputes.supply() == (issued + 20, destroyed + 30)
    slash, minted, decided = (await disputes.events(filed))[-3:]
    assert (slash[0], minted[0], decided[0]) == ("DisputeSlash", "DisputeCompensationMinted", "DisputeRuled")
    assert {**slash[1], "tx_id": 0} == {
        "did": bob.did,
        "dispute_id": filed["id"],
        "amount": "30",
        "from_bond": "0",
        "from_liquid": "30",
        "currency": "AVT",
        "tx_id": 0,
        "bond_tx_id": None,
    }
    assert (minted[1]["did"], minted[1]["amount"]) == (alice.did, "20")
    assert (decided[1]["counts"], float(decided[1]["fee"]) > 0) == (True, True)


async def test_a_slash_takes_as_much_as_there_is(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    paid = await transferred(alice, bob, "50")
    carol = await disputes.agreements.provider()
    await transferred(bob, carol, "45")
    filed = await disputes.in_voting(alice, bob, transaction_id=paid)
    ruled = await disputes.rule(filed, FOR_COMPLAINANT, slash_amount="50")
    assert ruled["slash_requested"] == "50"
    assert 0 < float(ruled["slash_applied"]) <= 5
    assert await bob.balance() == "0"
    empty = await disputes.in_voting(alice, bob)
    assert (await disputes.rule(empty, FOR_COMPLAINANT, slash_amount="5"))["slash_applied"] == "0"
    assert "DisputeSlash" not in [name for name, _ in await disputes.events(empty)]


async def test_compensation_and_slash_stay_within_the_bound(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    filed = await disputes.in_voting(
        alice, bob, transaction_id=await transferred(alice, bob), claimed_amount="30"
    )
    for over in ({"compensation_amount": "30.00000001"}, {"slash_amount": "31"}):
        assert refused(await disputes.try_rule(filed, FOR_COMPLAINANT, **over)) == (422, "RULING_INVALID")
    assert (await disputes.try_rule(filed, FOR_DEFENDANT, slash_amount="1")).status_code == 422
    assert (await disputes.try_rule(filed, "DISMISSED", compensation_amount="1")).status_code == 422
    await disputes.rule(filed, FOR_COMPLAINANT, compensation_amount="30", slash_amount="30")


async def test_compensation_counts_what_the_hold_and_earlier_rulings_gave(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    contract = await funded(disputes, alice, bob)
    held = await disputes.in_voting(alice, bob, contract_id=contract["id"])
    refusal = await disputes.try_rule(held, FOR_COMPLAINANT, compensation_amount="0.00000001")
    assert refused(refusal) == (422, "RULING_INVALID")
    token = await (payments := Payments(disputes.registry, alice, bob)).authorized("50")
    await payments.settle(token["token"], wait=20)
    first = await disputes.in_voting(alice, bob, token_id=token["token_id"])
    await disputes.rule(first, FOR_COMPLAINANT, compensation_amount="40")
    second = await disputes.in_voting(bob, alice, token_id=token["token_id"])
    refusal = await disputes.try_rule(second, FOR_COMPLAINANT, compensation_amount="11")
    assert refusal.json()["error"]["context"]["maximum"] == "10"
    await disputes.rule(held, FOR_DEFENDANT)


async def test_a_dispute_without_a_subject_gives_no_compensation_and_a_bounded_slash(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    filed = await disputes.in_voting(alice, bob, claimed_amount="5")
    for over in ({"compensation_amount": "1"}, {"slash_amount": "1000.00000001"}):
        assert refused(await disputes.try_rule(filed, FOR_COMPLAINANT, **over)) == (422, "RULING_INVALID")
    await disputes.agreements.purses.grant(bob, "1500")
    assert (await disputes.rule(filed, FOR_COMPLAINANT, slash_amount="1000"))["slash_applied"] == "1000"


async def test_a_ruling_from_open_is_refused_and_nothing_changes(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    filed = await disputes.file(alice, bob)
    assert refused(await disputes.try_rule(filed, FOR_DEFENDANT)) == (409, "DISPUTE_WRONG_STATE")
    assert (await disputes.read(alice, filed)).json() == filed


async def test_the_same_ruling_again_answers_the_same_and_another_is_refused(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    filed = await disputes.in_voting(alice, bob, transaction_id=await transferred(alice, bob))
    supply = await disputes.supply()
    members = {"compensation_amount": "5", "slash_amount": "10", "note": "As shown."}
    answers = await at_once(*(disputes.try_rule(filed, FOR_COMPLAINANT, **members) for _ in range(3)))
    assert [answer.status_code for answer in answers] == [200] * 3
    assert answers[0].json() == answers[1].json() == answers[2].json()
    assert await disputes.supply() == (supply[0] + 5, supply[1] + 10)
    for other in ({**members, "note": "Otherwise."}, {**members, "slash_amount": "9"}):
        assert refused(await disputes.try_rule(filed, FOR_COMPLAINANT, **other)) == (409, "RULING_DIFFERS")
    assert refused(await disputes.try_rule(filed, FOR_DEFENDANT)) == (409, "RULING_DIFFERS")


async def test_a_compensation_is_at_most_what_one_mint_issues(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("mint")
    async with open_disputing(database_farm, directory, teg_mint_max_avt="10") as disputes:
        alice, bob = await disputes.agreements.contractor(), await disputes.agreements.provider()
        filed = await disputes.in_voting(alice, bob, transaction_id=await transferred(alice, bob))
        over = await disputes.try_rule(filed, FOR_COMPLAINANT, compensation_amount="11", slash_amount="11")
        assert refused(over) == (422, "MINT_TOO_LARGE")
        assert (await disputes.read(alice, filed)).json()["status"] == "VOTING"
        assert await bob.balance() == "50"


async def test_a_suspended_agent_is_slashed_and_compensated_as_well(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    contract = await funded(disputes, alice, bob)
    filed = await disputes.in_voting(bob, alice, contract_id=contract["id"])
    await disputes.registry.post(
        "/admin/agents/bulk/suspend",
        json={"agent_dids": [alice.did, bob.did], "reason": "Both."},
        headers=disputes.administrator.headers,
    )
    await disputes.rule(filed, FOR_COMPLAINANT, slash_amount="100")
    assert (await disputes.agreements.balances(bob))[0] == "100"


# What the facts come to


async def undelivered(disputes: Disputing, alice: TestAgent, bob: TestAgent) -> Any:
    """A dispute about work that was due and not submitted."""
    contract = await disputes.agreements.accepted(alice, bob, submit_by=in_days(1))
    await disputes.agreements.elapse(contract, DAY + 1)
    members = {"contract_id": contract["id"], "reason_code": "SERVICE_NOT_DELIVERED"}
    return await disputes.in_voting(alice, bob, **members)


async def test_an_administrator_sees_what_the_facts_come_to_and_why(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    filed = await undelivered(disputes, alice, bob)
    assert (await disputes.read(disputes.administrator, filed)).json()["proposal"] == {
        "ruling": FOR_COMPLAINANT,
        "rule": "not_delivered",
        "why": "The work was due, and the provider had not submitted it.",
        "paid": "0",
        "held": "0",
    }
    assert (await disputes.read(alice, filed)).json()["proposal"] is None
    open_question = await disputes.file(alice, bob)
    shown = (await disputes.read(disputes.administrator, open_question)).json()["proposal"]
    assert (shown["ruling"], shown["rule"]) == (None, "undecidable")


async def test_a_ruling_that_differs_from_the_facts_says_why(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    filed = await undelivered(disputes, alice, bob)
    without = await disputes.try_rule(filed, FOR_DEFENDANT)
    assert refused(without) == (422, "RULING_NEEDS_NOTE")
    assert without.json()["error"]["context"]["proposed"] == FOR_COMPLAINANT
    assert (await disputes.rule(filed, FOR_DEFENDANT, note="The contractor gave no data."))[
        "status"
    ] == "CLOSED"
    other = await undelivered(disputes, alice, bob)
    assert (await disputes.rule(other, FOR_COMPLAINANT))["ruling"] == FOR_COMPLAINANT


async def test_the_bundle_is_signed_and_gives_the_same_proposal_offline_before_and_after_the_ruling(
    disputes: Disputing, alice: TestAgent, bob: TestAgent, tmp_path: Path
) -> None:
    filed = await undelivered(disputes, alice, bob)
    before = await bundle(disputes, alice, filed)
    await disputes.rule(filed, FOR_COMPLAINANT)
    after = await bundle(disputes, bob, filed)
    assert {**before, "signatures": 0} == {**after, "signatures": 0}
    keys, document = tmp_path / "keys.json", tmp_path / "bundle.json"
    keys.write_text((await disputes.registry.http.get("/.well-known/registry-jwks.json")).text)
    for changed, code in (({}, 0), ({"currency": "XYZ"}, 1)):
        document.write_text(json.dumps({**after, **changed}))
        arguments = ["verify", "verdict", str(document), "--keys", str(keys), "--json"]
        ended = await asyncio.to_thread(CliRunner().invoke, app, arguments)
        assert ended.exit_code == code, ended.output
        if code == 0:
            assert json.loads(ended.stdout)["proposal"] == after["proposal"]


@pytest.mark.parametrize("version", [1, 2, 3, 4])
async def test_bundles_of_earlier_rules_are_verified_offline_and_those_of_later_ones_are_not(
    disputes: Disputing, alice: TestAgent, bob: TestAgent, tmp_path: Path, version: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundles, "RULES_VERSION", version)
        signed = await bundle(disputes, alice, await undelivered(disputes, alice, bob))
    keys, document = tmp_path / "keys.json", tmp_path / "bundle.json"
    keys.write_text((await disputes.registry.http.get("/.well-known/registry-jwks.json")).text)
    document.write_text(json.dumps(signed))
    arguments = ["verify", "verdict", str(document), "--keys", str(keys)]
    ended = await asyncio.to_thread(CliRunner().invoke, app, arguments)
    assert (ended.exit_code == 0) == (version < 4)
    assert ("with the rules of version 1 or 2 or 3" in ended.output) == (version == 4)


async def test_a_receipt_of_another_request_decides_for_the_payer_and_the_bundle_keeps_the_token_secret(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    payments = Payments(disputes.registry, alice, bob)
    digest = f"sha256:{'a' * 64}"
    token = await payments.authorized("5", request_digest=digest)
    await payments.settle(token["token"], wait=20)
    signed = receipt(bob, token["token_id"], f"sha256:{'b' * 64}")
    members = {"token_id": token["token_id"], "reason_code": "CONTRACT_VIOLATION"}
    filed = await disputes.file(alice, bob, **members)
    piece = {"sha256": sha256(signed.encode()).hexdigest(), "note": signed}
    assert (await disputes.post(alice, f"{filed['id']}/evidence", **piece)).status_code == 201
    read = await bundle(disputes, alice, filed)
    assert (read["proposal"]["ruling"], read["proposal"]["rule"]) == (FOR_COMPLAINANT, "wrong_digest")
    assert read["token"]["request_digest"] == digest
    assert token["token"] not in json.dumps(read)
    stranger = await disputes.agreements.provider()
    path = f"/disputes/{filed['id']}/bundle"
    assert (await disputes.registry.get(path, headers=stranger.headers)).status_code == 404


async def test_the_bundle_has_the_card_of_the_paid_agent_as_it_was_when_the_token_was_authorized(
    disputes: Disputing, alice: TestAgent
) -> None:
    owner = await disputes.registry.developer()
    bob = await owner.agent()
    payments = Payments(disputes.registry, alice, bob)
    card = (await disputes.registry.get(f"/agent-cards/{bob.did}")).json()["card_data"]
    token = await payments.authorized("5")
    await payments.settle(token["token"], wait=20)
    changed = await disputes.registry.http.put(
        f"/api/v1/agent-cards/{bob.did}",
        json={"card_data": {**card, "pricing": {"base_rate": "1", "payment_required": True}}},
        headers=owner.headers,
    )
    assert changed.status_code == 200, changed.text
    of_token = await disputes.file(alice, bob, token_id=token["token_id"])
    offer = (await bundle(disputes, alice, of_token))["offer"]
    versions = (await disputes.registry.get(f"/agents/{bob.did}/versions")).json()["versions"]
    assert (offer["did"], offer["version"], offer["sha256"]) == (bob.did, 1, versions[-1]["card_hash"])
    assert "pricing" not in offer["card"]
    assert (await bundle(disputes, alice, await disputes.file(alice, bob)))["offer"] is None


async def bundle(disputes: Disputing, by: TestAgent, dispute: Any) -> Any:
    answer = await disputes.registry.get(f"/disputes/{dispute['id']}/bundle", headers=by.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


# What it is for others


async def test_an_open_dispute_about_a_payment_keeps_both_parties_from_ending(
    disputes: Disputing, alice: TestAgent
) -> None:
    owner = await disputes.registry.developer()
    dora = await owner.agent()
    paid = await transferred(alice, dora)
    await dora.transfer(alice, "49")
    filed = await disputes.in_voting(alice, dora, transaction_id=paid)
    ended = await disputes.registry.http.delete(f"/api/v1/agents/{dora.did}", headers=owner.headers)
    assert refused(ended) == (409, "AGENT_HAS_DISPUTES")
    await disputes.rule(filed, FOR_COMPLAINANT, slash_amount="50")
    assert (
        await disputes.registry.http.delete(f"/api/v1/agents/{dora.did}", headers=owner.headers)
    ).is_success


@pytest.mark.parametrize(
    ("amount", "kinds"), [("0.99999999", set()), ("1", {"disputes"})], ids=["dust", "a unit"]
)
async def test_a_dispute_keeps_nobody_from_ending_below_the_minimum(
    disputes: Disputing, alice: TestAgent, amount: str, kinds: set[str]
) -> None:
    owner = await disputes.registry.developer()
    dora = await owner.agent()
    await disputes.file(alice, dora, transaction_id=await transferred(alice, dora, amount))
    status = await disputes.registry.get("/account/deletion-status", headers=owner.headers)
    assert {one["kind"] for one in status.json()["blockers"]} - {"balance"} == kinds


async def test_a_dispute_without_a_subject_keeps_nobody_from_ending(
    disputes: Disputing, alice: TestAgent
) -> None:
    owner = await disputes.registry.developer()
    dora = await owner.agent()
    await disputes.file(alice, dora)
    assert (
        await disputes.registry.http.delete(f"/api/v1/agents/{dora.did}", headers=owner.headers)
    ).is_success


async def test_every_move_is_an_event_and_what_is_filed_stays_with_the_parties(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    filed = await disputes.file(alice, bob)
    await disputes.post(bob, f"{filed['id']}/evidence", **EVIDENCE)
    await disputes.open_voting(filed)
    await disputes.rule(filed, FOR_DEFENDANT)
    events = await disputes.events(filed)
    assert [name for name, _ in events] == [
        "DisputeFiled",
        "DisputeEvidenceAdded",
        "DisputeVotingOpened",
        "DisputeRuled",
    ]
    await disputes.registry.transactions_ended()
    recent = await disputes.registry.get("/public/eventstore-recent", params={"limit": 400})
    public = [
        event["event_type"]
        for event in recent.json()["events"]
        if event["data"].get("dispute_id") == filed["id"]
    ]
    assert public == ["DisputeRuled"]


async def test_both_owners_are_notified_of_every_move_of_a_dispute(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    kinds = ["dispute.evidence_added", "dispute.filed", "dispute.ruled", "dispute.voting_opened"]
    agreements = disputes.agreements
    for owner in (agreements.purses.developer, agreements.owner_of_providers):
        body = {"url": "https://receiver.example.com/hook", "event_types": kinds}
        made = await disputes.registry.post("/developers/webhooks", json=body, headers=owner.headers)
        assert made.status_code == 201, made.text
    filed = await disputes.file(alice, bob)
    await disputes.post(bob, f"{filed['id']}/evidence", **EVIDENCE)
    await disputes.open_voting(filed)
    await disputes.rule(filed, FOR_DEFENDANT)

    async def notify(tx: Tx) -> None:
        rows = await tx.fetch(
            f"SELECT {COLUMNS} FROM journal_event WHERE (data ->> 'dispute_id')::bigint = $1 ORDER BY seq",
            filed["id"],
        )
        for event in stored(rows):
            await OWNER_NOTICES.react(tx, event)

    await disputes.registry.database.transaction(notify)
    queued = await disputes.registry.database.read(
        lambda tx: tx.fetch("SELECT event_type, payload FROM notifications_webhook_delivery")
    )
    sent = [row["event_type"] for row in queued if f'"dispute_id":{filed["id"]},' in row["payload"]]
    assert sorted(sent) == sorted(kinds * 2)
