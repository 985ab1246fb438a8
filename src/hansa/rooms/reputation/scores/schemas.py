"""Shapes of the answers on reputation."""

from datetime import date, datetime
from typing import Any

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import format_amount
from hansa_verify import FORMULA, Score

from .records import Epoch, ExportCursor, ExportPage, Reputation, StoredSignal, TrackRecord
from .track_record import members_of

_COMPONENTS = {
    "paid_work": "Fees of payments received, weighted by the payers' scores; of those from other registries, the border fees.",
    "payments_made": "Fees of payments made, weighted by the payees' scores.",
    "disputes_won": "Fees in question in disputes decided for the agent as defendant.",
    "disputes_lost": "Penalties of disputes decided against the agent; they lower the score.",
}


class ScoreComponent(LazyModel):
    """One part of a score, after the decay by time."""

    name: str = Field(description="`paid_work`, `payments_made`, `disputes_won` or `disputes_lost`.")
    amount: str = Field(description="Decimal string, in units.")
    description: str

    @classmethod
    def all_of(cls, score: Score) -> "list[ScoreComponent]":
        """The parts of a score."""
        return [
            cls(name=name, amount=format_amount(amount), description=_COMPONENTS[name])
            for name, amount in score.components.items()
        ]


class ReputationOut(LazyModel):
    """The score of an agent, computed from settled payments and rulings of earlier days."""

    agent_did: str
    score: int = Field(ge=0, le=1000)
    grade: str = Field(
        description="The band of the score: `unrated`, `initial`, `fair`, `good`, `high` or `excellent`."
    )
    formula: str
    computed_at: datetime | None = Field(description="Null before the first scores are computed.")
    epoch: date | None = Field(description="The UTC day of the scores; signals of earlier days count.")
    components: list[ScoreComponent]

    @classmethod
    def of(cls, found: Reputation) -> "ReputationOut":
        """The answer for an agent."""
        return cls(
            agent_did=found.agent_did,
            score=found.score.score,
            grade=found.score.grade,
            **_epoch_members(found.epoch),
            components=ScoreComponent.all_of(found.score),
        )


class TrackRecordOut(LazyModel):
    """What an agent has done here for agents of other owners, up to now."""

    agent_did: str
    jobs_verified: int = Field(
        description="Paid jobs whose fee is at least the minimum, one for each counterparty's owner and day."
    )
    jobs_foreign: int = Field(description="How many of these were for agents of other registries.")
    volume: str = Field(description="All payments received that count: decimal string, in units.")
    disputes_won: int
    disputes_lost: int
    contracts_completed: int
    since: datetime | None = Field(description="The first job that counts.")
    mark: str | None = Field(description="From `Proven` (1 verified job) to `Sovereign` (250).")

    @classmethod
    def of(cls, did: str, record: TrackRecord) -> "TrackRecordOut":
        """The answer for an agent."""
        return cls(agent_did=did, **members_of(record))


class SignalEvent(LazyModel):
    """An event that scores are computed from, with the members that the formula reads."""

    sequence: int
    event_type: str
    timestamp: datetime
    data: dict[str, Any]

    @classmethod
    def of(cls, signal: StoredSignal) -> "SignalEvent":
        """The event as the scores count it.

        `fee` of a payment from another registry is the part that counts. `counts` is false also where the payer's owner had no other
        units than genesis grants.
        """
        return cls(
            sequence=signal.event_seq,
            event_type=signal.event_type,
            timestamp=signal.at,
            data={**_parties(signal), "fee": format_amount(signal.fee), "counts": signal.counts},
        )


class AgentScore(LazyModel):
    """The score of one agent."""

    agent_did: str
    score: int


class ExportPosition(LazyModel):
    """The query parameters of the next page."""

    after_signal: int
    after_agent: str

    @classmethod
    def of(cls, cursor: ExportCursor) -> "ExportPosition":
        """The position as it is answered."""
        return cls(after_signal=cursor.signal, after_agent=cursor.agent)


class ReputationExport(LazyModel):
    """A page of what the newest scores were computed from, and of the scores; all pages together are an export."""

    formula: str
    epoch: date | None = Field(description="The UTC day of the scores; null before the first ones.")
    computed_at: datetime | None
    events: list[SignalEvent]
    scores: list[AgentScore]
    next: ExportPosition | None = Field(description="Null on the last page.")

    @classmethod
    def of(cls, page: ExportPage) -> "ReputationExport":
        """The page as it is answered."""
        return cls(
            **_epoch_members(page.epoch),
            events=[SignalEvent.of(signal) for signal in page.signals],
            scores=[AgentScore(agent_did=did, score=score) for did, score in page.scores.items()],
            next=ExportPosition.of(page.next) if page.next else None,
        )


def _epoch_members(epoch: Epoch | None) -> dict[str, Any]:
    if epoch is None:
        return {"formula": FORMULA, "epoch": None, "computed_at": None}
    return {"formula": epoch.formula, "epoch": epoch.epoch, "computed_at": epoch.computed_at}


_PARTIES = {
    "A2APaymentSettled": ("caller", "payee"),
    "ContractCompleted": ("contractor_did", "provider_did"),
    "DisputeRuled": ("complainant_did", "defendant_did"),
    "CrossRegistryTransferCompleted": ("sender_did", "receiver_did"),
}
_RULINGS = {
    "ruling_for_complainant": {"ruling": "IN_FAVOR_OF_COMPLAINANT"},
    "ruling_for_defendant": {"ruling": "IN_FAVOR_OF_DEFENDANT"},
}


def _parties(signal: StoredSignal) -> dict[str, str]:
    giver, receiver = _PARTIES[signal.event_type]
    return {giver: signal.giver, receiver: signal.receiver, **_RULINGS.get(signal.kind, {})}
