"""Shapes of treasuries. Amounts are decimal strings, without fees."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, Field, model_validator

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import Amount, PositiveAmount, format_amount, parse_positive
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.visible_text import plain, plain_and_visible
from hansa.rooms.commerce import ContractIn
from hansa.rooms.organizations import TreasuryBalancesOut

from . import judging
from .control.ruling import as_stated
from .draws import Drawn
from .reading import Treasury
from .records import Budget, NewBudget, Period, Rules

NOTE_MAX = 2000
MESSAGE_MAX = 256
NAME_MAX = 100
SLUG_MAX = 39

Did = Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)]


BudgetName = Annotated[str, Field(min_length=1, max_length=NAME_MAX), AfterValidator(plain_and_visible)]


class ApprovalTierIn(RequestBody):
    """Approvals that a payment of more than `over` needs."""

    over: Amount
    approvals: Annotated[int, Field(strict=True, ge=1, le=judging.APPROVALS_MAX)]
    from_: Annotated[str, Field(min_length=1, max_length=SLUG_MAX)] = Field(
        alias="from", description="`admin`, `owner`, or the slug of a team."
    )


class TreasuryRulesIn(RequestBody):
    """All rules of a treasury; what is left out is no rule."""

    tiers: Annotated[list[ApprovalTierIn], Field(max_length=judging.TIERS_MAX)] = Field(default=[])
    per_day_max: Amount | None = Field(default=None, description="Sum of all payments of a UTC day.")
    unapproved_per_day_max: Amount | None = Field(
        default=None,
        description="Sum of the payments of a UTC day that nobody approved; beyond it a payment needs the lowest tier."
        " Absent: the lowest `over`.",
    )
    allowlist: Annotated[list[Did], Field(max_length=judging.ALLOWED_MAX)] | None = Field(
        default=None,
        description="Agents that may be paid, beside those of the organization. Null: every agent.",
    )

    def stated(self) -> dict[str, Any]:
        """The rules as a request keeps them."""
        return self.model_dump(mode="json", by_alias=True)


class ApprovalTierOut(LazyModel):
    """Approvals that a payment of more than `over` needs."""

    over: str
    approvals: int
    from_: str = Field(alias="from", description="`admin`, `owner`, or the slug of a team.")


class TreasuryRulesOut(LazyModel):
    """Rules of a treasury."""

    tiers: list[ApprovalTierOut]
    per_day_max: str | None
    unapproved_per_day_max: str | None = Field(description="Null: the lowest `over`.")
    allowlist: list[str] | None

    @classmethod
    def of(cls, rules: Rules) -> "TreasuryRulesOut":
        return cls.model_validate(as_stated(rules))


class TreasuryBudgetIn(RequestBody):
    """A new budget, of a team or of an agent."""

    name: BudgetName
    amount: PositiveAmount
    period: Period = Field(description="`month`: it begins anew in each month (UTC); `once`: it does not.")
    team_id: UUID | None = None
    agent_did: Did | None = None

    @model_validator(mode="after")
    def _one_receiver(self) -> "TreasuryBudgetIn":
        if (self.team_id is None) == (self.agent_did is None):
            raise ValueError("a budget has a team_id or an agent_did")
        return self

    def new(self) -> NewBudget:
        """The budget that this request makes."""
        return NewBudget(self.name, parse_positive(self.amount), self.period, self.team_id, self.agent_did)


class TreasuryBudgetChangesIn(RequestBody):
    """Changes of a budget; absent members stay."""

    name: BudgetName | None = None
    amount: PositiveAmount | None = None
    period: Period | None = None
    team_id: UUID | None = None
    agent_did: Did | None = None

    @model_validator(mode="after")
    def _one_receiver(self) -> "TreasuryBudgetChangesIn":
        if self.team_id is not None and self.agent_did is not None:
            raise ValueError("a budget has a team_id or an agent_did")
        return self

    def changes(self) -> dict[str, Any]:
        """The members that change."""
        return {name: value for name, value in self.model_dump().items() if value is not None}


class TreasuryBudgetOut(LazyModel):
    """A budget of a team, whose members pay within it without approvals, or of an agent, which draws it."""

    budget_id: UUID
    name: str
    amount: str
    period: Period
    team_id: UUID | None
    agent_did: str | None
    spent: str = Field(description="In the present period.")
    left: str
    created_at: datetime

    @classmethod
    def of(cls, budget: Budget) -> "TreasuryBudgetOut":
        return cls(
            budget_id=budget.id,
            name=budget.name,
            amount=format_amount(budget.amount),
            period=budget.period,
            team_id=budget.team_id,
            agent_did=budget.agent_did,
            spent=format_amount(budget.spent),
            left=format_amount(max(0, budget.amount - budget.spent)),
            created_at=budget.created_at,
        )


class OrganizationTreasuryOut(LazyModel):
    """A treasury with its rules and budgets."""

    did: str
    balances: TreasuryBalancesOut
    rules: TreasuryRulesOut
    budgets: list[TreasuryBudgetOut]
    spent_today: str = Field(description="Sum of the payments of this UTC day, without fees.")

    @classmethod
    def of(cls, treasury: Treasury) -> "OrganizationTreasuryOut":
        return cls(
            did=treasury.did,
            balances=TreasuryBalancesOut.of(treasury.balance),
            rules=TreasuryRulesOut.of(treasury.rules),
            budgets=[TreasuryBudgetOut.of(one) for one in treasury.budgets],
            spent_today=format_amount(treasury.today.spent),
        )


class TreasuryRequestIn(RequestBody):
    """A payment to an agent of any registry, or a funded contract with a provider."""

    kind: Literal["payment", "contract"]
    receiver_did: Did | None = Field(default=None, description="Of a payment.")
    amount: PositiveAmount | None = Field(default=None, description="Of a payment.")
    message: Annotated[str, Field(max_length=MESSAGE_MAX)] | None = Field(
        default=None, description="Of a payment, for the receiver."
    )
    budget_id: UUID | None = Field(
        default=None, description="Budget of an own team, from which a payment is made without approvals."
    )
    contract: ContractIn | None = Field(
        default=None, description="As `POST /contracts` takes it, with `funded` and `provider_did`."
    )
    note: Annotated[str, Field(max_length=NOTE_MAX), AfterValidator(plain)] | None = Field(
        default=None, description="For the approvers."
    )

    @model_validator(mode="after")
    def _members_of_the_kind(self) -> "TreasuryRequestIn":
        of_payment = (self.receiver_did, self.amount)
        if self.kind == "payment" and (None in of_payment or self.contract is not None):
            raise ValueError("a payment has receiver_did and amount, and no contract")
        given = (*of_payment, self.message, self.budget_id)
        if self.kind == "contract" and (self.contract is None or any(one is not None for one in given)):
            raise ValueError("a contract has contract, and no member of a payment")
        if self.contract is not None and self.contract.approval_id is not None:
            raise ValueError("a contract of a treasury has no approval_id: members approve its request")
        return self

    @property
    def receiver(self) -> str:
        """Receiver of the payment, or provider of the contract."""
        named = self.receiver_did if self.contract is None else self.contract.provider_did
        return named or ""


class TreasuryDrawIn(RequestBody):
    """Amount that an agent draws from its budget."""

    amount: PositiveAmount


class TreasuryDrawOut(LazyModel):
    """Units that an agent drew from the treasury of its organization."""

    tx_id: int
    amount: str
    fee_amount: str = Field(description="Paid by the treasury on top.")
    budget_left: str

    @classmethod
    def of(cls, drawn: Drawn) -> "TreasuryDrawOut":
        return cls(
            tx_id=drawn.tx_id,
            amount=format_amount(drawn.amount),
            fee_amount=format_amount(drawn.fee),
            budget_left=format_amount(drawn.budget_left),
        )
