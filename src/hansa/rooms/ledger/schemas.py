"""Shapes of the book's answers."""

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel


class BalanceOut(LazyModel):
    """The balances of an agent."""

    agent_id: str
    balance: str = Field(description="Decimal string in the registry's unit.", examples=["89.95"])


class BalanceThenOut(BalanceOut):
    """The balances of an agent at a past time. `balance` is what it could spend."""

    staked_balance: str
    escrow_balance: str
    as_of: str = Field(description="The time as requested.")
