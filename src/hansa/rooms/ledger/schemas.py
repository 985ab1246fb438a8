"""Shapes of the book's answers."""

from pydantic import BaseModel, Field


class BalanceOut(BaseModel):
    """What an agent holds and may spend."""

    agent_id: str
    balance: str = Field(description="Decimal string in the registry's unit.", examples=["89.95"])


class BalanceThenOut(BalanceOut):
    """What an agent could spend at a moment of the past."""

    as_of: str = Field(description="The moment, as it was asked for.")
