"""Shapes of statements: a contract as the registry that keeps it sends it to the registry of its provider."""

from typing import Annotated

from pydantic import Field, StrictBool

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import Amount, PositiveAmount
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms.commerce.contracts.rules import MILESTONES_MAX, SUBMISSIONS_MAX
from hansa.rooms.commerce.contracts.schemas import (
    NOTE_MAX_CHARACTERS,
    REGISTRY_MAX_CHARACTERS,
    URI_MAX_CHARACTERS,
    ContractMoveOut,
    ContractOut,
    DeliverableOut,
    Did,
    MilestoneOut,
    Sha256,
    Title,
    Wording,
)

HISTORY_MAX = 10_000

Id = Annotated[int, Field(strict=True, ge=1, lt=2**63)]
Index = Annotated[int, Field(strict=True, ge=0, lt=MILESTONES_MAX)]
ShortText = Annotated[str, Field(max_length=64)]
DeclaredNote = Annotated[str, Field(max_length=NOTE_MAX_CHARACTERS)]


class StatedMilestone(MilestoneOut):
    """A part of the work."""

    index: Index
    title: Title
    amount: PositiveAmount
    payment_tx_id: ShortText | None


class StatedDeliverable(DeliverableOut):
    """What was submitted."""

    milestone: Index | None
    uri: Annotated[str, Field(max_length=URI_MAX_CHARACTERS)] | None
    sha256: Sha256
    note: DeclaredNote | None


class StatedMove(ContractMoveOut):
    """A line of the history."""

    act: Annotated[str, Field(pattern=r"^[a-z_]{1,40}$", examples=["accepted"])]
    actor_did: Did | None
    milestone: Index | None
    note: DeclaredNote | None


class StatedContract(ContractOut):
    """A contract of a contractor at the calling registry and a provider at this one."""

    id: Id
    title: Title
    contract_type: Annotated[str, Field(pattern=r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$", max_length=40)]
    amount: PositiveAmount
    amount_paid: Amount
    currency: Annotated[str, Field(pattern=r"^[A-Z0-9]{2,8}$")]
    contractor_did: Did
    provider_did: Did
    contractor_registry: Annotated[str, Field(max_length=REGISTRY_MAX_CHARACTERS)]
    provider_registry: Annotated[str, Field(max_length=REGISTRY_MAX_CHARACTERS)]
    terms: Wording
    acceptance_criteria: Wording
    milestones: Annotated[list[StatedMilestone], Field(max_length=MILESTONES_MAX)]  # type: ignore[assignment]
    deliverables: Annotated[list[StatedDeliverable], Field(max_length=SUBMISSIONS_MAX)]  # type: ignore[assignment]
    payment_tx_id: ShortText | None
    dispute_id: Id | None
    auto_approve: StrictBool
    funded: StrictBool
    history: Annotated[list[StatedMove], Field(min_length=1, max_length=HISTORY_MAX)]  # type: ignore[assignment]


class StatementIn(RequestBody):
    """The present state of a contract that the calling registry keeps; it may be sent again."""

    contract: StatedContract


class StatementOut(LazyModel):
    """The statement is kept, or a later one is known."""

    contract_id: int
    provider_did: str
