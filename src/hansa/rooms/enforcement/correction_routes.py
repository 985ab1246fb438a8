"""Corrections of balances over HTTP, for administrators of the treasury."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import ConfigDict, Field

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import PositiveAmount, format_amount, parse_positive
from hansa.rooms import agents, ledger
from hansa.rooms.organizations import Repeating, sent_by

from .corrections import correct_balance

corrections_router = APIRouter(prefix="/admin", tags=["administrators"], route_class=GuardedRoute)

SentByTreasurer = Annotated[Repeating, sent_by(admin_holding("admin_treasury"))]
Direction = Literal["credit", "debit"]


class BalanceCorrectionIn(LazyModel):
    """Units to move between the liquid balance of an agent and the treasury."""

    model_config = ConfigDict(extra="forbid")

    account: Annotated[str, Field(min_length=1, max_length=512, description="DID of an agent.")]
    amount: PositiveAmount
    direction: Direction = Field(description="credit: to the account, from the treasury. debit: the reverse.")
    ref: Annotated[
        str, Field(min_length=1, max_length=128, description="Public. Each reference can be used once.")
    ]

    def correction(self) -> ledger.Correction:
        """The correction that this request asks for."""
        return ledger.Correction(self.account, parse_positive(self.amount), self.direction, self.ref)


class BalanceCorrectionOut(LazyModel):
    """The correction, and the liquid balance of the account after it."""

    transaction_id: str = Field(examples=["tx-4711"])
    account: str
    amount: str
    direction: Direction
    ref: str
    liquid_balance: str
    timestamp: datetime

    @classmethod
    def of(cls, asked: ledger.Correction, done: ledger.Corrected) -> "BalanceCorrectionOut":
        """The response for this receipt."""
        return cls(
            transaction_id=f"tx-{done.tx_id}",
            account=asked.account,
            amount=format_amount(asked.amount),
            direction=asked.direction,
            ref=asked.ref,
            liquid_balance=format_amount(done.liquid),
            timestamp=done.recorded_at,
        )


@corrections_router.post(
    "/balance-corrections",
    status_code=201,
    response_model=BalanceCorrectionOut,
    responses=problems(
        Unauthorized,
        ledger.InsufficientBalance,
        agents.AgentOfCaller,
        agents.AgentRevoked,
        ledger.SystemAccountRefused,
        ledger.AccountUnknown,
        ledger.ReferenceUsed,
        ledger.ReferenceInvalid,
        Invalid,
        BodyInvalid,
    ),
)
async def create_balance_correction(body: BalanceCorrectionIn, sent: SentByTreasurer, db: Db) -> Response:
    """Correct the liquid balance of an agent against the treasury. The owner of the agent is notified."""
    asked = body.correction()

    async def corrected(tx: Tx) -> BalanceCorrectionOut:
        done = await correct_balance(tx, sent.runtime, sent.developer, asked)
        return BalanceCorrectionOut.of(asked, done)

    return await sent.answer(db, corrected, body, status=201)
