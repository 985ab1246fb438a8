"""Authorizing a payment: a single-use token for one payee and one amount."""

import os
import time
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.did import is_system_did
from hansa.foundation.values.money import ZERO, Minor
from hansa.foundation.values.secrets import fingerprint, new_hex
from hansa.rooms import agents, ledger

from . import rules, store
from .errors import PayeeNotAdmitted, ReserveNotPossible
from .rules import CaptureBy, Token

PERMISSION = "payment.pay"
TOKEN_PREFIX = "apt_"  # noqa: S105
HOLD_OWNER = "payment_token"
# The hold outlives its token: the token's own expiry frees it, the ledger's sweep is a backstop.
HOLD_GRACE = timedelta(hours=1)
NO_BUDGET = agents.HeldBudget(is_counted=False, capability_id=None)


class AuthorizeOrder(msgspec.Struct, frozen=True):
    """Payment that an agent orders; `amount` in minor units."""

    payee: str
    amount: Minor
    ttl_seconds: int = 900
    contract_id: int | None = None
    resource: str | None = None
    request_digest: str | None = None
    capture_by: CaptureBy = "caller"
    reserve: bool = False
    approval_id: UUID | None = None

    @property
    def is_reserved(self) -> bool:
        """Return whether amount and fee are set aside now."""
        return self.reserve or self.capture_by == "payee"


class Quoted(msgspec.Struct, frozen=True):
    """The fee that a firm quote fixed, in minor units; each quote is good for one token."""

    quote_id: UUID
    fee: Minor


@dataclass(frozen=True)
class Authorized:
    """A new token; `secret` is shown once."""

    token: Token
    secret: str = field(repr=False)


@dataclass(frozen=True)
class Presented:
    """Credentials of the request: a capability, its SHA-256 under the Idempotency-Key, the terms of a firm quote."""

    capability_token: str | None = field(default=None, repr=False)
    request_scope: bytes | None = None
    quoted: Quoted | None = None

    @property
    def quoted_fee(self) -> Minor | None:
        """The fee of the quote, or None for that of the moment."""
        return self.quoted.fee if self.quoted else None


def require_payee(caller: str, payee: str) -> None:
    """The DID can be that of a payee. Raises: TargetMalformed, SystemAccountRefused."""
    rules.require_target(caller, payee)
    if is_system_did(payee):
        raise ledger.SystemAccountRefused


async def authorize(
    tx: Tx,
    agent: Agent,
    order: AuthorizeOrder,
    settings: Settings,
    presented: Presented | None = None,
) -> Authorized | agents.Approval:
    """Make a token, or ask the agent's owner to approve the payment.

    Raises: TargetMalformed, SystemAccountRefused, the refusals of a spend policy or a capability, PayeeNotAdmitted,
    ReserveNotPossible, TooManyUnusedTokens, QuoteUsed, InsufficientBalance.
    """
    require_payee(agent.did, order.payee)
    presented = presented or Presented()
    budget = await _budget(tx, agent, order, settings, presented)
    status = (await agents.statuses_of(tx, [order.payee])).get(order.payee)
    if status not in {None, "active"}:
        raise PayeeNotAdmitted(f"The payee is {status}.", context={"status": status})
    if order.is_reserved and status is None:
        raise ReserveNotPossible
    # A payment to another registry bears no fee here.
    fee = ZERO if status is None else presented.quoted_fee
    if budget is None:
        await _require_covered(tx, agent.did, order, settings, fee)
        payment = _payment(order, settings, presented)
        return await agents.ask_owner(tx, agent, payment)
    secret = new_hex(TOKEN_PREFIX)
    token = await store.insert(tx, new_token(agent.did, order, secret, budget, presented.quoted))
    if not order.is_reserved:
        await _require_covered(tx, agent.did, order, settings, fee)
        return Authorized(token, secret)
    return Authorized(await _reserved(tx, token, settings), secret)


async def _budget(
    tx: Tx, agent: Agent, order: AuthorizeOrder, settings: Settings, presented: Presented
) -> agents.HeldBudget | None:
    """Hold the budget that the payment is counted against; None when the owner has to approve it."""
    if agents.pays_plainly(agent, presented.capability_token):
        return NO_BUDGET
    return await agents.hold_budget(tx, agent, _payment(order, settings, presented), settings)


def _payment(order: AuthorizeOrder, settings: Settings, presented: Presented) -> agents.Payment:
    return agents.Payment(
        payee=order.payee,
        amount=order.amount,
        currency=settings.settlement_currency,
        permission=PERMISSION,
        operation=PERMISSION,
        approval_id=order.approval_id,
        capability_token=presented.capability_token,
        request_scope=presented.request_scope,
    )


def new_token(
    caller: str, order: AuthorizeOrder, secret: str, budget: agents.HeldBudget, quoted: Quoted | None
) -> store.NewToken:
    """The token to be written, with an id that rises."""
    return store.NewToken(
        id=_rising_id(),
        token_sha256=fingerprint(secret),
        caller=caller,
        payee=order.payee,
        amount=order.amount,
        capture_by=order.capture_by,
        is_reserved=order.is_reserved,
        fixed_fee=quoted.fee if quoted else None,
        quote_id=quoted.quote_id if quoted else None,
        contract_id=order.contract_id,
        resource=order.resource,
        request_digest=order.request_digest,
        is_counted=budget.is_counted,
        capability_id=budget.capability_id,
        grant_id=budget.grant_id,
        ttl_seconds=order.ttl_seconds,
    )


async def _require_covered(
    tx: Tx, caller: str, order: AuthorizeOrder, settings: Settings, fee: Minor | None
) -> None:
    """The balance covers the payment now, at this fee or at that of now. Raises: AccountSuspended, InsufficientBalance."""
    if fee is None:
        transfer = ledger.TransferOrder(caller, order.payee, order.amount)
        await ledger.preview(tx, transfer, ledger.Book.of(settings))
        return
    held = await ledger.balance_of(tx, caller)
    if held.liquid < order.amount + fee:
        raise ledger.uncovered(held.liquid, order.amount + fee)


async def _reserved(tx: Tx, token: Token, settings: Settings) -> Token:
    """Set amount and fee of a new token aside. Raises: AccountSuspended, InsufficientBalance."""
    held_for = ledger.NewHold(
        owner_kind=HOLD_OWNER,
        owner_id=str(token.id),
        payee=token.payee,
        expires_at=token.expires_at + HOLD_GRACE,
    )
    order = ledger.HoldOrder(token.caller, token.amount, held_for, fee=token.fixed_fee)
    result = await ledger.open_hold(tx, order, ledger.Book.of(settings))
    assert result.hold_id is not None
    await store.write_hold(tx, token.id, result.hold_id)
    return token


def _rising_id() -> UUID:
    """A UUID that rises with time (version 7), so that an index on it grows at one end."""
    milliseconds = time.time_ns() // 1_000_000
    number = (milliseconds << 80) | int.from_bytes(os.urandom(10))
    number = number & ~(0xF << 76) | 0x7 << 76
    return UUID(int=number & ~(0b11 << 62) | 0b10 << 62)
