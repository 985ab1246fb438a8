"""Contracts and terms as records, without a registry: each builder takes the members that differ."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms.commerce.contracts import rules
from hansa.rooms.commerce.contracts.contract import Contract, Milestone, Payment, Status, Terms

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
MOMENT, HOUR, DAY = timedelta(microseconds=1), timedelta(hours=1), timedelta(days=1)
CONTRACTOR, PROVIDER, STRANGER = "did:hansa:contractor", "did:hansa:provider", "did:hansa:stranger"
AMOUNT = Minor(500)


def milestones(*amounts: int, due: tuple[datetime | None, ...] = ()) -> tuple[Milestone, ...]:
    """Pending milestones of these amounts."""
    dates = (*due, *[None] * (len(amounts) - len(due)))
    return tuple(
        Milestone(index, f"Part {index}", Minor(amount), date)
        for index, (amount, date) in enumerate(zip(amounts, dates, strict=True))
    )


def terms(**changes: object) -> Terms:
    """Terms of 500 minor units without a date."""
    made = Terms(CONTRACTOR, PROVIDER, "Translate a page", "service", AMOUNT, "One page.", "It reads well.")
    return replace(made, **changes)


def contract(status: Status = Status.PROPOSED, **changes: object) -> Contract:
    """A contract of 500 minor units without dates, proposed a day ago."""
    made = Contract(
        id=1,
        version=1,
        title="Translate a page",
        contract_type="service",
        amount=AMOUNT,
        currency="AVT",
        contractor_did=CONTRACTOR,
        provider_did=PROVIDER,
        terms="One page.",
        acceptance_criteria="It reads well.",
        submit_by=None,
        review_by=None,
        auto_approve=False,
        funded=False,
        status=status,
        ended_because=None,
        expires_at=NOW + 30 * DAY,
        turn_at=None if status == Status.PROPOSED else NOW - HOUR,
        due_at=None,
        stops=(),
        stopped_at=None,
        amount_paid=ZERO,
        fee_paid=ZERO,
        payment_tx_id=None,
        payment_transfer=None,
        crossing=None,
        hold_id=None,
        hold_release_at=None,
        dispute_id=None,
        submissions=0,
        created_at=NOW - DAY,
        accepted_at=None,
        submitted_at=None,
        completed_at=None,
        ended_at=None,
        now=NOW,
    )
    return replace(made, **changes)


def accepted(**changes: object) -> Contract:
    """A contract that its provider has accepted now."""
    return rules.accepted(contract(**changes), PROVIDER)


def submitted(**changes: object) -> Contract:
    """A contract whose work, or first milestone, is submitted now."""
    return rules.submitted(accepted(**changes))


def payment_of(present: Contract, fee: int = 2, tx_id: int = 7) -> Payment:
    """Payment of the part that the next approval pays."""
    return Payment(tx_id, present.part, Minor(fee))
