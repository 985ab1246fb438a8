"""Balances and transfers of the agent that this client acts for.

A transfer is one intent: every attempt to send it carries the same Idempotency-Key, so it moves units once. After
OutcomeUnknown, call again with `key=error.idempotency_key`.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from hansa_client.amounts import Amount, amount_text
from hansa_client.calls import Call, new_key
from hansa_client.errors import ApprovalNeeded
from hansa_client.records.ledger import (
    ApprovalPending,
    Balance,
    FeeConfig,
    Sending,
    StatementLine,
    Transfer,
    TransferLine,
    TransferredMany,
)
from hansa_client.records.record import Page
from hansa_client.records.treasury import TreasuryDraw

from .session import AsyncSession
from .transport import AsyncTransport, read_success

T = TypeVar("T")

ACCEPTED = 202


class AsyncTransfers:
    """Move units."""

    def __init__(self, transport: AsyncTransport, agent: AsyncSession) -> None:
        self._transport = transport
        self._agent = agent

    async def balance(self, *, as_of: str | int | None = None) -> Balance:
        """Return the units that the agent can spend, now or at a moment of the past (a timestamp or a sequence number)."""
        call = Call("GET", "/api/v1/teg/balance", query={"as_of": as_of})
        return await self._transport.answer(call, Balance, self._agent)

    async def transfer(
        self,
        receiver_did: str,
        amount: Amount,
        *,
        message: str | None = None,
        approval_id: str | None = None,
        key: str | None = None,
    ) -> Transfer:
        """Move units to an agent of this registry. Raises: InsufficientBalance, ApprovalNeeded, OutcomeUnknown."""
        body = {
            "receiver_agent_id": receiver_did,
            "amount": amount_text(amount),
            "message": message,
            "approval_id": approval_id,
        }
        return await self._moved("/api/v1/teg/transfer", body, Transfer, key)

    async def send(
        self,
        receiver_did: str,
        amount: Amount,
        *,
        message: str | None = None,
        approval_id: str | None = None,
        key: str | None = None,
    ) -> Sending:
        """Move units to an agent of any registry; this one finds the route.

        Raises: InsufficientBalance, ApprovalNeeded, OutcomeUnknown.
        """
        body = {
            "receiver_did": receiver_did,
            "amount": amount_text(amount),
            "message": message,
            "approval_id": approval_id,
        }
        return await self._moved("/api/v1/teg/send", body, Sending, key)

    async def transfer_many(self, lines: Sequence[TransferLine], *, atomic: bool = False) -> TransferredMany:
        """Move units to up to 500 agents of this registry: each line for itself, or with `atomic` all or none.

        A refused line is named in its place and does not affect the others; with `atomic` it is raised, its index in
        `context`, and nothing is moved. Each line has a key of its own: the same lines again move nothing twice.

        Raises: Refusal, OutcomeUnknown.
        """
        stated = [
            {
                "receiver_did": line.receiver_did,
                "amount": amount_text(line.amount),
                "message": line.message,
                "key": line.key,
            }
            for line in lines
        ]
        body = {"transfers": stated, "atomic": atomic}
        call = Call("POST", "/api/v1/teg/transfers", json=body, is_idempotent=True)
        return await self._transport.answer(call, TransferredMany, self._agent)

    async def plan(self, receiver_did: str, amount: Amount) -> Sending:
        """The route and the fee that `send` would have now; moves nothing."""
        body = {"receiver_did": receiver_did, "amount": amount_text(amount), "dry_run": True}
        call = Call("POST", "/api/v1/teg/send", json=body, is_without_effect=True)
        return await self._transport.answer(call, Sending, self._agent)

    async def transactions(
        self, *, limit: int = 50, next_page: str | None = None, direction: str | None = None
    ) -> Page[StatementLine]:
        """The agent's own transactions, newest first; `direction` is `sent` or `received`."""
        query = {"limit": limit, "next": next_page, "direction": direction}
        call = Call("GET", "/api/v1/teg/transactions", query=query)
        return await self._transport.answer(call, Page[StatementLine], self._agent)

    async def draw(self, amount: Amount, *, key: str | None = None) -> TreasuryDraw:
        """Draw units from the budget that the agent has at the treasury of its organization.

        Raises: InsufficientBalance, Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown.
        """
        return await self._moved(
            "/api/v1/organizations/treasury/draw", {"amount": amount_text(amount)}, TreasuryDraw, key
        )

    async def fees(self) -> FeeConfig:
        """The formula of the transfer fee."""
        return await self._transport.answer(Call("GET", "/api/v1/teg/fees/config"), FeeConfig)

    async def _moved(self, path: str, body: dict[str, Any], shape: type[T], key: str | None) -> T:
        call = Call("POST", path, json=body, key=new_key() if key is None else key)
        answer = await self._transport.response(call, self._agent)
        if answer.status == ACCEPTED:
            raise ApprovalNeeded(read_success(call, answer, ApprovalPending), call.key or "")
        return read_success(call, answer, shape)
