"""Shapes of bonds. Amounts are decimal strings."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import Minor, PositiveAmount, format_amount, parse_positive
from hansa.foundation.values.request_body import RequestBody

from .bond import BondShown, Policy, State


class BondDepositIn(RequestBody):
    """What is deposited."""

    amount: PositiveAmount

    @property
    def minor(self) -> Minor:
        """The amount in minor units."""
        return parse_positive(self.amount)


class BondBlockerOut(LazyModel):
    """Why a bond is not released yet."""

    kind: Literal["maturity", "open_contract", "open_dispute"]
    detail: str


class BondOut(LazyModel):
    """The bond of an agent."""

    agent_did: str
    state: State
    amount: str
    minimum: str
    matures_at: datetime | None = Field(description="When the latest deposit has matured.")
    releasable_at: datetime | None = Field(description="While releasing: when the bond can be unlocked.")
    blockers: list[BondBlockerOut]

    @classmethod
    def of(cls, shown: BondShown, policy: Policy) -> "BondOut":
        """The public form of a bond."""
        bond = shown.bond
        return cls(
            agent_did=bond.agent_did,
            state=bond.state,
            amount=format_amount(bond.amount),
            minimum=format_amount(policy.minimum),
            matures_at=bond.matures_at,
            releasable_at=bond.releasable_at,
            blockers=[BondBlockerOut(kind=one.kind, detail=one.detail) for one in shown.blockers],
        )


class BondConfigOut(LazyModel):
    """The rules of bonds at this registry."""

    mode: Literal["off", "observe", "enforce"] = Field(
        description="`enforce`: without a bond no contract of version 2 is accepted, and discovery hides the agent."
    )
    minimum: str
    maturity_days: int
    currency: str

    @classmethod
    def of(cls, policy: Policy) -> "BondConfigOut":
        """The public form of the policy."""
        return cls(
            mode=policy.mode,
            minimum=format_amount(policy.minimum),
            maturity_days=policy.maturity.days,
            currency=policy.currency,
        )
