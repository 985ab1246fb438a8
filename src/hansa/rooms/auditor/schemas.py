"""Shapes of the auditor's answers."""

from datetime import datetime

from pydantic import BaseModel, Field

from hansa.foundation.words.money import format_amount

from .supply import SupplyVerdict


class SupplyInvariant(BaseModel):
    """Whether any unit was made or lost. Amounts are decimal strings."""

    status: str = Field(description="OK or BREACH.")
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

    @classmethod
    def of(
        cls, verdict: SupplyVerdict, *, currency: str, frame: str, checked_at: datetime
    ) -> "SupplyInvariant":
        """The public form of a verdict."""
        terms = verdict.terms
        return cls(
            status="OK" if verdict.is_ok else "BREACH",
            delta=format_amount(verdict.delta),
            tokens_issued=format_amount(terms.issued),
            tokens_destroyed=format_amount(terms.destroyed),
            tokens_fees_collected=format_amount(terms.fees_collected),
            net_supply=format_amount(verdict.net_supply),
            total_circulating=format_amount(verdict.circulating),
            agent_count=verdict.agent_count,
            currency=currency,
            frame=frame,
            as_of_event_seq=terms.as_of_seq,
            checked_at=checked_at,
        )
