"""Rules for contracts with milestones whose provider is an agent of another registry, for any two registries.

Each rule is one conversation; a test file runs each on the registries that it has.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from hansa.rooms.commerce.contracts import CONTRACT_DEADLINES, cross_registry_payment
from hansa.rooms.commerce.disputes import DISPUTE_DEADLINES
from tests.neighbours.agreeing_scene import WORK, AgreementAbroad, in_days
from tests.neighbours.crossing_scene import LostCalls, deadlines_pass, refusal, run, sent_once, settle
from tests.neighbours.two_registries import Neighbour
from tests.running_jobs import run_due, time_passes

PARTS = [{"title": "First", "amount": "4"}, {"title": "Second", "amount": "6"}]
WITHOUT_FEE, NET = Decimal("0.995"), Decimal("9.95")
# As after a restore of the other registry, until both have signed where their chains end.
RESUMING = "UPDATE transfers_pair SET crossing = 'resuming', nonce = 'awaited', ask_at = now() WHERE crossing = 'open'"


@dataclass(frozen=True)
class InParts:
    """Contract of two milestones, 4 and 6 units, and the balances of its parties before it."""

    agreed: AgreementAbroad
    number: int
    had: tuple[Decimal, Decimal]

    @classmethod
    async def accepted(cls, agreed: AgreementAbroad, **terms: Any) -> "InParts":
        had = await _units(agreed)
        return cls(agreed, await agreed.accepted(milestones=PARTS, **terms), had)

    async def submit(self, milestone: int) -> None:
        body = {"deliverable": WORK, "milestone": milestone}
        answer = await self.agreed.abroad("submit-federated", self.number, **body)
        assert (answer.status_code, answer.json()["status"]) == (200, "SUBMITTED"), answer.text

    async def approve(self, milestone: int) -> dict[str, Any]:
        answer = await self.agreed.at_home("approve-completion", self.number, milestone=milestone)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def first_is_paid(self) -> None:
        await self.submit(0)
        assert (await self.approve(0))["amount_paid"] == "4"

    async def shown(self) -> dict[str, Any]:
        """The contract, of which the provider is shown the same."""
        at_home = await self.agreed.read(self.number)
        abroad = (await self.agreed.read_abroad(self.number)).json()
        for member in ("status", "amount_paid", "milestones"):
            assert abroad[member] == at_home[member]
        return at_home

    async def moved(self) -> tuple[Decimal, Decimal]:
        """Return the units that the contractor has less, and the provider more, than at first."""
        contractor, provider = await _units(self.agreed)
        return self.had[0] - contractor, provider - self.had[1]

    async def settled(self) -> None:
        await settle(self.agreed.pair.a, self.agreed.pair.b)

    async def deadline_comes(self) -> None:
        await run(
            self.agreed.pair.a, "UPDATE commerce_contract SET due_at = now() WHERE id = $1", self.number
        )
        await self.due_jobs_run()

    async def due_jobs_run(self) -> None:
        await deadlines_come(self.agreed.pair.a)

    async def disputed(self) -> int:
        """File the contractor's complaint about the submitted work."""
        agreed = self.agreed
        complaint = {
            "defendant_did": agreed.provider.did,
            "contract_id": self.number,
            "reason_code": "POOR_QUALITY",
            "description": "The second part is not what was agreed.",
        }
        filed = await agreed.pair.a.registry.post(
            "/disputes/", json=complaint, headers=agreed.contractor.headers
        )
        assert filed.status_code == 201, filed.text
        number: int = filed.json()["id"]
        return number


async def deadlines_come(at: Neighbour) -> None:
    """Run the deadline jobs, which carry out the acts due by the clock of the database."""
    await time_passes(at.registry.runtime, 90 * 86_400)
    await run_due(at.registry.runtime, CONTRACT_DEADLINES, DISPUTE_DEADLINES)


async def nobody_rules(at: Neighbour, dispute_id: int) -> None:
    """The time for evidence and that for a ruling end: the dispute is dismissed."""
    for column in ("evidence_until", "rule_by"):
        await run(at, f"UPDATE commerce_dispute SET {column} = now() WHERE id = $1", dispute_id)
        await deadlines_come(at)


async def _units(agreed: AgreementAbroad) -> tuple[Decimal, Decimal]:
    contractor, provider = await agreed.balances()
    return Decimal(contractor), Decimal(provider)


async def milestones_are_paid_across_in_their_order(agreed: AgreementAbroad, _: LostCalls):
    contract = await InParts.accepted(agreed)
    early = await agreed.abroad("submit-federated", contract.number, milestone=1, deliverable=WORK)
    assert await refusal(early) == (409, "MILESTONE_NOT_NEXT")
    await contract.submit(0)
    early = await agreed.at_home("approve-completion", contract.number, milestone=1)
    assert await refusal(early) == (409, "MILESTONE_NOT_NEXT")
    for milestone, paid, status in ((0, "4", "ACCEPTED"), (1, "10", "COMPLETED")):
        if milestone:
            await contract.submit(milestone)
        approved = await contract.approve(milestone)
        assert (approved["amount_paid"], approved["status"]) == (paid, status)
        await contract.settled()
        assert await contract.moved() == (Decimal(paid), Decimal(paid) * WITHOUT_FEE)
    ended = await contract.shown()
    assert [one["state"] for one in ended["milestones"]] == ["approved", "approved"]
    assert len({one["payment_tx_id"] for one in ended["milestones"]}) == 2


async def a_milestone_that_was_returned_for_changes_is_paid_once_when_it_is_approved(
    agreed: AgreementAbroad, _: LostCalls
):
    contract = await InParts.accepted(agreed)
    await contract.first_is_paid()
    await contract.submit(1)
    returned = await agreed.at_home("request-changes", contract.number, note="Shorter.")
    assert (returned.status_code, returned.json()["status"]) == (200, "ACCEPTED"), returned.text
    states = [one["state"] for one in (await contract.shown())["milestones"]]
    assert states == ["approved", "pending"]
    unsubmitted = await agreed.at_home("approve-completion", contract.number)
    assert await refusal(unsubmitted) == (409, "CONTRACT_WRONG_STATE")
    await contract.submit(1)
    assert (await contract.approve(1))["status"] == "COMPLETED"
    await contract.settled()
    assert await contract.moved() == (Decimal(10), NET)


async def a_milestone_approved_by_its_deadline_while_the_peer_is_away_is_paid_once_when_it_is_back(
    agreed: AgreementAbroad, calls: LostCalls
):
    contract = await InParts.accepted(agreed, auto_approve=True, review_by=in_days(3))
    await contract.first_is_paid()
    await contract.submit(1)
    # Each registry knows where the other's chain stands: without that it would not decide while the other is away.
    await contract.settled()
    calls.loses = lambda _: "request"
    await contract.deadline_comes()
    begun = await agreed.read(contract.number)
    assert (begun["status"], begun["amount_paid"]) == ("SUBMITTED", "4")
    assert begun["payment_tx_id"] not in (None, begun["milestones"][0]["payment_tx_id"])
    await deadlines_pass(agreed.pair.a)
    await contract.settled()
    waiting = await agreed.read(contract.number)
    assert (waiting["status"], waiting["history"][-1]["act"]) == ("SUBMITTED", "payment_failed")
    await contract.due_jobs_run()
    assert (await agreed.read(contract.number))["history"][-1]["act"] == "payment_begun"
    calls.loses = lambda _: None
    for _ in range(2):
        await contract.settled()
        await contract.due_jobs_run()
    ended = await contract.shown()
    assert (ended["status"], ended["history"][-1]["actor_did"]) == ("COMPLETED", None)
    assert [line["act"] for line in ended["history"]].count("payment_begun") == 3
    assert await contract.moved() == (Decimal(10), NET)


async def an_automatic_approval_is_tried_again_where_the_two_registries_do_not_agree_yet(
    agreed: AgreementAbroad, _: LostCalls
):
    for at in (agreed.pair.a, agreed.pair.b):
        contract = await InParts.accepted(agreed, auto_approve=True, review_by=in_days(3))
        await contract.first_is_paid()
        await contract.submit(1)
        await contract.settled()
        await run(at, RESUMING)
        await contract.deadline_comes()
        await sent_once(agreed.pair.a)
        returned = await agreed.read(contract.number)
        last = returned["history"][-1]
        assert (returned["status"], last["act"], last["note"]) == (
            "SUBMITTED",
            "payment_failed",
            "PEER_REWOUND",
        )
        await contract.settled()
        await contract.due_jobs_run()
        await contract.settled()
        assert (await contract.shown())["status"] == "COMPLETED"
        assert await contract.moved() == (Decimal(10), NET)


async def an_automatic_approval_that_fails_as_often_as_it_is_tried_fails_the_contract(
    agreed: AgreementAbroad, _: LostCalls
):
    contract = await InParts.accepted(agreed, auto_approve=True, review_by=in_days(3))
    await contract.first_is_paid()
    await contract.submit(1)
    await contract.settled()
    await run(agreed.pair.a, RESUMING)
    await contract.deadline_comes()
    for _ in range(cross_registry_payment.TRIES - 2):
        await contract.due_jobs_run()
    assert (await agreed.read(contract.number))["status"] == "SUBMITTED"
    await contract.due_jobs_run()
    await contract.settled()
    ended = await contract.shown()
    assert (ended["status"], ended["ended_because"]) == ("FAILED", "not_reviewed")
    assert [line["act"] for line in ended["history"]].count("payment_failed") == cross_registry_payment.TRIES
    assert await contract.moved() == (Decimal(4), 4 * WITHOUT_FEE)


async def a_contract_that_failed_after_one_milestone_keeps_what_was_paid_and_pays_nothing_more(
    agreed: AgreementAbroad, _: LostCalls
):
    contract = await InParts.accepted(agreed)
    await contract.first_is_paid()
    await contract.submit(1)
    failed = await agreed.at_home("mark-failed", contract.number, reason="It does not read well.")
    assert (failed.status_code, failed.json()["status"]) == (200, "FAILED"), failed.text
    await contract.settled()
    ended = await contract.shown()
    assert (ended["ended_because"], ended["amount_paid"]) == ("rejected", "4")
    assert [one["state"] for one in ended["milestones"]] == ["approved", "released"]
    for refused in (
        await agreed.at_home("approve-completion", contract.number),
        await agreed.abroad("submit-federated", contract.number, deliverable=WORK),
    ):
        assert await refusal(refused) == (409, "CONTRACT_WRONG_STATE")
    assert await contract.moved() == (Decimal(4), 4 * WITHOUT_FEE)


async def a_dispute_over_one_milestone_stops_its_payment_until_it_is_dismissed(
    agreed: AgreementAbroad, _: LostCalls
):
    contract = await InParts.accepted(agreed)
    await contract.first_is_paid()
    await contract.submit(1)
    dispute_id = await contract.disputed()
    assert (await contract.shown())["status"] == "DISPUTED"
    stopped = await agreed.at_home("approve-completion", contract.number)
    assert await refusal(stopped) == (409, "CONTRACT_WRONG_STATE")
    await nobody_rules(agreed.pair.a, dispute_id)
    assert (await contract.shown())["status"] == "SUBMITTED"
    await contract.settled()
    # The deposit of the dismissed dispute is lost.
    lost = Decimal("0.1")
    assert await contract.moved() == (4 + lost, 4 * WITHOUT_FEE)
    assert (await contract.approve(1))["status"] == "COMPLETED"
    await contract.settled()
    assert await contract.moved() == (10 + lost, NET)


Rule = Callable[[AgreementAbroad, LostCalls], Awaitable[None]]
_RULES: tuple[Rule, ...] = (
    milestones_are_paid_across_in_their_order,
    a_milestone_that_was_returned_for_changes_is_paid_once_when_it_is_approved,
    a_milestone_approved_by_its_deadline_while_the_peer_is_away_is_paid_once_when_it_is_back,
    a_contract_that_failed_after_one_milestone_keeps_what_was_paid_and_pays_nothing_more,
    a_dispute_over_one_milestone_stops_its_payment_until_it_is_dismissed,
)
_OF_AUTOMATIC_APPROVALS: tuple[Rule, ...] = (
    an_automatic_approval_is_tried_again_where_the_two_registries_do_not_agree_yet,
    an_automatic_approval_that_fails_as_often_as_it_is_tried_fails_the_contract,
)


def _each(rules: tuple[Rule, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.__name__) for rule in rules])


PARTS_ACROSS = _each(_RULES)
PARTS_AND_AUTOMATIC_APPROVALS = _each((*_RULES, *_OF_AUTOMATIC_APPROVALS))
