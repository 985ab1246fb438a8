"""Shapes of contracts. Amounts are decimal strings."""

import json
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    AliasChoices,
    AwareDatetime,
    Field,
    StrictBool,
    model_validator,
)

from hansa.foundation.values.did import DID_MAX_CHARACTERS, namespace_of
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import (
    Amount,
    PositiveAmount,
    format_amount,
    parse_amount,
    parse_positive,
)
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.timestamps import ISO_ONLY

from .contract import Contract, Ending, Milestone, Status, Terms
from .reading import ContractShown
from .records import HistoryLine
from .rules import MILESTONES_MAX

TERMS_MAX_CHARACTERS = 20_000
NOTE_MAX_CHARACTERS = 2000
URI_MAX_CHARACTERS = 2048
TOKEN_MAX_CHARACTERS = 256
REGISTRY_MAX_CHARACTERS = 384
"""The length of a ledger id: a trust domain, `/registry/` and the name of an operator."""


def _of_bounded_size(terms: Any) -> Any:
    if len(json.dumps(terms)) > TERMS_MAX_CHARACTERS:
        raise ValueError(f"must have at most {TERMS_MAX_CHARACTERS} characters as JSON")
    return terms


Wording = Annotated[str | dict[str, Any] | list[Any], AfterValidator(_of_bounded_size)]
"""What the parties agree, as text or as JSON of their own form."""
Did = Annotated[str, Field(min_length=10, max_length=DID_MAX_CHARACTERS, pattern=r"^did:[a-z0-9]+:\S+$")]
Date = Annotated[AwareDatetime, ISO_ONLY]
Title = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
Note = Annotated[str | None, Field(max_length=NOTE_MAX_CHARACTERS)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
MilestoneIndex = Annotated[int | None, Field(strict=True, ge=0, lt=MILESTONES_MAX)]


class MilestoneIn(RequestBody):
    """A part of the work, submitted and paid by itself."""

    title: Title
    amount: PositiveAmount
    due: Date | None = None


class ContractIn(RequestBody):
    """A proposal."""

    provider_did: Did | None = Field(
        default=None, description="Absent: an open proposal; the first agent that accepts is the provider."
    )
    title: Title
    contract_type: str = Field(pattern=r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$", max_length=40, examples=["service"])
    amount: PositiveAmount
    terms: Wording
    acceptance_criteria: Wording
    submit_by: Date | None = Field(
        default=None,
        validation_alias=AliasChoices("submit_by", "deadline"),
        description="When the work is due. `deadline` is the same.",
    )
    review_by: Date | None = Field(
        default=None, description="When the review is due. Absent: the contract waits for its contractor."
    )
    auto_approve: StrictBool = Field(
        default=False, description="Work not reviewed by review_by is approved and paid; otherwise it fails."
    )
    funded: StrictBool = Field(
        default=False, description="The amount and its fee are held from the acceptance on; needs review_by."
    )
    provider_bond_min: Amount | None = Field(
        default=None,
        description="Of a funded proposal without provider_did: the bond that its provider needs. One percent of the amount where"
        " neither this nor provider_jobs_min is given.",
    )
    provider_jobs_min: Annotated[int | None, Field(strict=True, ge=0, le=1_000_000)] = Field(
        default=None,
        description="Of such a proposal: the verified jobs that admit a provider without that bond.",
    )
    milestones: list[MilestoneIn] = Field(default=[], max_length=MILESTONES_MAX)
    approval_id: UUID | None = Field(
        default=None, description="The approval of the agent's owner, where its spend policy requires one."
    )

    @model_validator(mode="before")
    @classmethod
    def _one_date_of_the_work(cls, members: Any) -> Any:
        both = ("submit_by", "deadline")
        if isinstance(members, dict) and all(members.get(name) is not None for name in both):
            raise ValueError("submit_by and deadline are the same: give one of them")
        return members

    def proposed_by(self, contractor: str) -> Terms:
        """The terms that this request proposes when `contractor` sends it."""
        return Terms(
            contractor_did=contractor,
            provider_did=self.provider_did,
            title=self.title,
            contract_type=self.contract_type,
            amount=parse_positive(self.amount),
            terms=self.terms,
            acceptance_criteria=self.acceptance_criteria,
            submit_by=self.submit_by,
            review_by=self.review_by,
            auto_approve=self.auto_approve,
            funded=self.funded,
            provider_bond=None if self.provider_bond_min is None else parse_amount(self.provider_bond_min),
            provider_jobs=self.provider_jobs_min,
            milestones=tuple(
                Milestone(index, one.title, parse_positive(one.amount), one.due)
                for index, one in enumerate(self.milestones)
            ),
        )


class DeliverableIn(RequestBody):
    """Where the work is, and its digest; the registry stores no files."""

    uri: Annotated[str | None, Field(max_length=URI_MAX_CHARACTERS)] = None
    sha256: Sha256
    note: Note = None


class SubmissionIn(RequestBody):
    """What the provider submits."""

    deliverable: DeliverableIn | None = None
    milestone: MilestoneIndex = None


class FederatedAcceptIn(RequestBody):
    """A contract that another registry holds."""

    contractor_registry: str = Field(min_length=1, max_length=REGISTRY_MAX_CHARACTERS)


class FederatedSubmissionIn(FederatedAcceptIn):
    """What the provider submits to a contract that another registry holds."""

    deliverable: DeliverableIn | None = None
    milestone: MilestoneIndex = None

    @property
    def submission(self) -> SubmissionIn:
        """Body that the contractor's registry is asked to accept."""
        return SubmissionIn(deliverable=self.deliverable, milestone=self.milestone)


class ProxyIn(RequestBody):
    """An act of an agent of the calling registry on a contract of this one, once for each request_id."""

    request_id: UUID
    contract_id: int = Field(ge=1, lt=2**63, strict=True)
    act: Literal["accept", "submit", "read", "dispute"]
    actor_did: Did
    body: dict[str, Any] = Field(
        default={}, description="For submit {deliverable?, milestone?}; for dispute what files a dispute."
    )


class ApprovalIn(RequestBody):
    """What the contractor approves."""

    milestone: MilestoneIndex = None
    payment_token: Annotated[str | None, Field(max_length=TOKEN_MAX_CHARACTERS)] = Field(
        default=None,
        description="A payment token for this provider and this amount, which is settled instead of a transfer.",
        repr=False,
    )
    approval_id: UUID | None = Field(
        default=None, description="The approval of the agent's owner, where its spend policy requires one."
    )


class NoteIn(RequestBody):
    """Which changes are requested."""

    note: Note = None


class ReasonIn(RequestBody):
    """Why a contract is ended."""

    reason: Note = None


class MilestoneOut(LazyModel):
    """A part of the work."""

    index: int
    title: str
    amount: str
    due: datetime | None
    state: Literal["pending", "submitted", "approved", "released"]
    payment_tx_id: str | None

    @classmethod
    def of(cls, milestone: Milestone) -> "MilestoneOut":
        """The public form of a milestone."""
        return cls(
            index=milestone.index,
            title=milestone.title,
            amount=format_amount(milestone.amount),
            due=milestone.due,
            state=milestone.state,
            payment_tx_id=_payment(milestone.payment_tx_id, milestone.payment_transfer),
        )


class DeliverableOut(LazyModel):
    """What was submitted, and when."""

    milestone: int | None
    uri: str | None
    sha256: str
    note: str | None
    at: datetime


class ContractMoveOut(LazyModel):
    """One move of the contract; without an actor the registry made it."""

    act: str = Field(examples=["accepted"])
    actor_did: str | None
    milestone: int | None
    note: str | None
    at: datetime


class ContractOut(LazyModel):
    """A contract."""

    id: int
    version: Literal[1, 2]
    title: str
    contract_type: str
    amount: str
    amount_paid: str
    currency: str
    contractor_did: str
    provider_did: str | None
    contractor_registry: str = Field(
        description="The registry that keeps the contract, by its ledger id; `id` is its number there."
    )
    provider_registry: str | None = Field(description="The ledger id of the provider's registry.")
    terms: str | dict[str, Any] | list[Any]
    acceptance_criteria: str | dict[str, Any] | list[Any]
    submit_by: datetime | None
    review_by: datetime | None
    auto_approve: bool
    funded: bool
    provider_bond_min: str | None = Field(
        default=None, description="The bond that the provider of an open, funded proposal needs."
    )
    provider_jobs_min: int | None = Field(
        default=None, description="The verified jobs that admit a provider without that bond."
    )
    milestones: list[MilestoneOut]
    deliverables: list[DeliverableOut]
    status: Status
    ended_because: Ending | None
    payment_tx_id: str | None = Field(
        description="What paid last: a transaction, or the id of a transfer to the provider's registry. While the status is"
        " SUBMITTED, the id of a transfer that is under way."
    )
    hold_release_at: datetime | None = Field(
        description="After a failure that follows a submission: until then a dispute can claim what is held."
    )
    dispute_id: int | None
    expires_at: datetime = Field(description="When the proposal ends if no agent accepts it.")
    created_at: datetime
    accepted_at: datetime | None
    submitted_at: datetime | None
    completed_at: datetime | None
    history: list[ContractMoveOut]

    @classmethod
    def of(cls, shown: ContractShown, registry: str) -> "ContractOut":
        """The form of a contract at the registry of this ledger id."""
        contract = shown.contract
        return cls(
            id=contract.id,
            version=contract.version,
            title=contract.title,
            contract_type=contract.contract_type,
            amount=format_amount(contract.amount),
            amount_paid=format_amount(contract.amount_paid),
            currency=contract.currency,
            contractor_did=contract.contractor_did,
            provider_did=contract.provider_did,
            contractor_registry=registry,
            provider_registry=_provider_registry(contract, registry),
            terms=contract.terms,
            acceptance_criteria=contract.acceptance_criteria,
            submit_by=contract.submit_by,
            review_by=contract.review_by,
            auto_approve=contract.auto_approve,
            funded=contract.funded,
            provider_bond_min=None
            if contract.provider_bond is None
            else format_amount(contract.provider_bond),
            provider_jobs_min=contract.provider_jobs,
            milestones=[MilestoneOut.of(one) for one in contract.milestones],
            deliverables=[_deliverable(line) for line in shown.history if line.deliverable is not None],
            status=contract.status,
            ended_because=contract.ended_because,
            payment_tx_id=_payment(contract.payment_tx_id, contract.crossing or contract.payment_transfer),
            hold_release_at=contract.hold_release_at,
            dispute_id=contract.dispute_id,
            expires_at=contract.expires_at,
            created_at=contract.created_at,
            accepted_at=contract.accepted_at,
            submitted_at=contract.submitted_at,
            completed_at=contract.completed_at,
            history=[_line(line) for line in shown.history],
        )


def _provider_registry(contract: Contract, own: str) -> str | None:
    """The ledger id of the registry that has the provider; None without a provider."""
    if contract.provider_did is None:
        return None
    if not contract.is_across:
        return own
    # A process of an earlier version, during an upgrade, writes no registry.
    return contract.provider_registry or namespace_of(contract.provider_did)


def _line(line: HistoryLine) -> ContractMoveOut:
    return ContractMoveOut(
        act=line.act, actor_did=line.actor_did, milestone=line.milestone, note=line.note, at=line.at
    )


def _deliverable(line: HistoryLine) -> DeliverableOut:
    assert line.deliverable is not None
    return DeliverableOut(milestone=line.milestone, at=line.at, **line.deliverable)


def _payment(tx_id: int | None, transfer_id: UUID | None) -> str | None:
    """The transaction that paid, or the transfer to another registry that pays or paid."""
    if transfer_id is not None:
        return str(transfer_id)
    return None if tx_id is None else f"tx-{tx_id}"
