"""Shapes of the auditor's answers."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import format_amount
from hansa.rooms.transfers import WrappedSupply

from .supply import SupplyVerdict
from .watch import Bridges, SupplyBadge, SupplyWatch


class SupplyChecks(LazyModel):
    """The result of each check; null before the first audit cycle."""

    supply: str = Field(description="OK or BREACH, at the moment.")
    per_user: str | None = Field(
        description="OK or BREACH: every balance equals the value recomputed from the event log, at the last cycle."
    )
    staked_guard: str | None = Field(
        description="OK, MISMATCH or BREACH: staked balances equal the active positions and cover the votes that pin them, and the sums of"
        " proposals are those of their votes, at the last cycle."
    )
    escrow: str | None = Field(
        description="OK or BREACH: the escrow of every account equals its open holds, and those of work orders, subscriptions and orders of points belong to open"
        " ones, at the last cycle.",
    )
    transactions: str | None = Field(
        description="OK or BREACH: every ledger transaction has exactly one event, at the last cycle."
    )
    shares: str | None = Field(
        description="OK or BREACH: the points of every holder are the sum of their postings, and those that it offers are locked, at the last"
        " cycle."
    )
    solvency: str | None = Field(
        description="SOLVENT, LOW or BREACH: the account of every listing has what the holders of its points are owed; LOW, which is no"
        " breach: an organization is in arrears with them, at the last cycle."
    )


class AuditCycle(LazyModel):
    """The last audit cycle, which checks every account."""

    status: str
    delta: str
    as_of_event_seq: int
    checked_at: datetime


class SupplyInvariant(LazyModel):
    """Whether units were created or lost. Amounts are decimal strings, current values."""

    status: str = Field(description="OK, or BREACH when any check is not OK.")
    delta: str = Field(description="Net supply minus circulating: exactly 0 when OK.")
    tokens_issued: str
    tokens_destroyed: str
    tokens_fees_collected: str
    net_supply: str
    total_circulating: str
    agent_count: int
    currency: str
    frame: str
    as_of_event_seq: int
    checked_at: datetime
    checks: SupplyChecks
    last_cycle: AuditCycle | None

    @classmethod
    def of(cls, watch: SupplyWatch, *, currency: str, frame: str) -> "SupplyInvariant":
        """The public form of a reading."""
        supply, terms, cycle = watch.supply, watch.supply.terms, watch.last_cycle
        return cls(
            status=watch.status,
            delta=format_amount(supply.delta),
            tokens_issued=format_amount(terms.issued),
            tokens_destroyed=format_amount(terms.destroyed),
            tokens_fees_collected=format_amount(terms.fees_collected),
            net_supply=format_amount(supply.net_supply),
            total_circulating=format_amount(supply.circulating),
            agent_count=supply.agent_count,
            currency=currency,
            frame=frame,
            as_of_event_seq=supply.as_of_seq,
            checked_at=watch.checked_at,
            checks=SupplyChecks.model_validate(watch.checks),
            last_cycle=cycle
            and AuditCycle(
                status=cycle.status,
                delta=format_amount(cycle.delta),
                as_of_event_seq=cycle.as_of_seq,
                checked_at=cycle.checked_at,
            ),
        )


class WrappedUnits(LazyModel):
    """Units of another registry that are held here: no part of the own supply. Amounts are decimal strings."""

    wrapped_currency: str = Field(examples=["AVT.registry.example.org"])
    wrapped: str = Field(description="All that exist here, those of undecided redemptions included.")
    burning: str = Field(description="Set aside by redemptions that are not decided yet.")
    locked_proved: str = Field(description="The locks that the home registry signed and has not released.")
    delta: str = Field(description="Wrapped less burning less what agents hold: exactly 0 when OK.")
    status: Literal["OK", "BREACH"]

    @classmethod
    def of(cls, supply: WrappedSupply) -> "WrappedUnits":
        """The line of one unit."""
        return cls(
            wrapped_currency=supply.wrapped_currency,
            wrapped=format_amount(supply.wrapped),
            burning=format_amount(supply.burning),
            locked_proved=format_amount(supply.locked_proved),
            delta=format_amount(supply.delta),
            status="OK" if supply.is_ok else "BREACH",
        )


class LockedUnits(LazyModel):
    """Own units that are held wrapped at another registry; they circulate here, on its bridge account."""

    ledger_id: str = Field(examples=["peer.example.org"])
    locked: str


class SupplyAudit(LazyModel):
    """The supply audit for services of the operator. Amounts are decimal strings."""

    tokens_issued: str
    tokens_destroyed: str
    tokens_fees_collected: str
    net_supply: str
    total_circulating: str
    delta: str
    status: str = Field(description="OK, or BREACH when any check is not OK.")
    agent_count: int
    wrapped: list[WrappedUnits]
    locked: list[LockedUnits]

    @classmethod
    def of(cls, supply: SupplyVerdict, status: str, bridges: Bridges) -> "SupplyAudit":
        """A verdict in figures."""
        return cls(
            tokens_issued=format_amount(supply.terms.issued),
            tokens_destroyed=format_amount(supply.terms.destroyed),
            tokens_fees_collected=format_amount(supply.terms.fees_collected),
            net_supply=format_amount(supply.net_supply),
            total_circulating=format_amount(supply.circulating),
            delta=format_amount(supply.delta),
            status=status,
            agent_count=supply.agent_count,
            wrapped=[WrappedUnits.of(one) for one in bridges.wrapped],
            locked=[
                LockedUnits(ledger_id=ledger_id, locked=format_amount(locked))
                for ledger_id, locked in bridges.locked.items()
            ],
        )


class Badge(LazyModel):
    """The supply badge as data."""

    schemaVersion: int  # noqa: N815
    label: str
    message: str
    color: str
    status: str
    delta: str

    @classmethod
    def of(cls, badge: SupplyBadge) -> "Badge":
        """The badge as JSON."""
        return cls(
            schemaVersion=1,
            label=badge.label,
            message=badge.message,
            color=badge.color,
            status=badge.status,
            delta=badge.delta,
        )
