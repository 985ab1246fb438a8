"""Payment tokens and their rules, without I/O. Amounts are minor units."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal, TypeAlias
from uuid import UUID

import msgspec
from msgspec.structs import replace

from hansa.foundation.values.money import Minor, NotAnAmount, format_amount, parse_positive

from .errors import (
    AmountNotPositive,
    CaptureAmountRefused,
    CapturedByPayee,
    NotTheCaller,
    SettlementInProgress,
    TargetMalformed,
    TokenExpired,
    TokenMismatch,
    TokenStatus,
    TokenUnknown,
)

UNUSED_MAX = 20
SETTLING_SECONDS = 90
TIMEOUT, REFUSED = "timeout", "refused"
TARGET_MIN_CHARACTERS = 10
MEMO_MAX_CHARACTERS = 256

Status: TypeAlias = Literal["authorized", "consumed", "settling", "settled", "released", "expired", "failed"]
CaptureBy: TypeAlias = Literal["caller", "payee"]
OPEN = ("authorized", "consumed")
PART_USE = "x402:"
USED_FOR_PART = "Token verified for a part of its amount"

# The syntax of W3C: neither a path nor a query or fragment belongs to a DID.
_DID = re.compile(r"did:[a-z0-9]+:(?:[A-Za-z0-9._:-]++|%[0-9A-Fa-f]{2})++(?<!:)", re.ASCII)
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)


@dataclass(frozen=True)
class VerifyOrder:
    """A token that is presented for `target`; `use_id` names the use that may ask again."""

    secret: str = field(repr=False)
    target: str | None = None
    use_id: str | None = None


class Token(msgspec.Struct, frozen=True):
    """A payment token as it is stored, without the token itself.

    `capture_amount` is the part that its payee captures, None: all of it. `fee` is the paid fee, `fixed_fee` that of a firm quote.
    `crossed`: it was paid to an agent of another registry, by the transfer of the token's id.
    `is_bought`: the registry bought with it, and settles it by the answer of the service; no agent has the token itself.
    `purchase_budget_id`: budget of purchases that counts it.
    `is_expired` was judged by the database's clock when the row was read.
    """

    id: UUID
    caller: str
    payee: str
    amount: Minor
    status: Status
    capture_by: CaptureBy
    is_reserved: bool
    fixed_fee: Minor | None
    contract_id: int | None
    resource: str | None
    request_digest: str | None
    is_counted: bool
    capability_id: UUID | None
    created_at: datetime
    expires_at: datetime
    grant_id: UUID | None = None
    hold_id: int | None = None
    use_id: str | None = None
    task_id: str | None = None
    capture_amount: Minor | None = None
    tx_id: int | None = None
    fee: Minor | None = None
    counts: bool | None = None
    crossed: bool = False
    is_bought: bool = False
    purchase_budget_id: UUID | None = None
    reason: str | None = None
    ended_at: datetime | None = None
    is_expired: bool = False

    @property
    def settler(self) -> str:
        """The agent that settles it."""
        return self.payee if self.capture_by == "payee" else self.caller

    @property
    def settled_by(self) -> Literal["caller", "payee", "registry"]:
        """The one that settles it: the registry one with which it bought."""
        return "registry" if self.is_bought else self.capture_by

    @property
    def is_budgeted(self) -> bool:
        """Return whether it was counted against a budget of its caller."""
        return self.is_counted or self.capability_id is not None or self.grant_id is not None

    @property
    def paid(self) -> Minor:
        """Amount that its settlement pays or paid."""
        return self.amount if self.capture_amount is None else self.capture_amount

    @property
    def settlement_tx_id(self) -> str | None:
        """The transaction of its settlement, as clients see it; of one that crossed, the id of the transfer."""
        if self.tx_id is None:
            return None
        return str(self.id) if self.crossed else f"tx-{self.tx_id}"

    @property
    def settled_at(self) -> datetime | None:
        """When it was settled."""
        return self.ended_at if self.status == "settled" else None


def payment_reference(token_id: UUID) -> str:
    """The key of the token's one payment in the ledger."""
    return f"a2a-pay-{token_id}"


REASONS = {
    "ACCOUNT_SUSPENDED": "party_suspended",
    "ACCOUNT_UNKNOWN": "payee_unknown",
    "AGENT_BLOCKED": "party_suspended",
    "RECEIVER_UNKNOWN": "payee_unknown",
}


def reason_of(code: str) -> str:
    """Why a settlement failed, of the code of a refusal or of an ABORT, which another registry may have chosen."""
    if _CODE.fullmatch(code) is None:
        return REFUSED
    return REASONS.get(code, code.lower())


def memo_of(task_id: str | None) -> str | None:
    """Return the memo of the ledger for a task id."""
    return task_id[:MEMO_MAX_CHARACTERS] if task_id else None


def positive_amount(text: str) -> Minor:
    """Minor units of a decimal string. Raises: AmountNotPositive."""
    try:
        return parse_positive(text)
    except NotAnAmount:
        raise AmountNotPositive(f'amount must be greater than 0, got "{text}".') from None


def require_target(caller: str, target: str) -> None:
    """Raises: TargetMalformed."""
    if len(target) < TARGET_MIN_CHARACTERS:
        raise TargetMalformed(f"target_agent_did must have at least {TARGET_MIN_CHARACTERS} characters.")
    if _DID.fullmatch(target) is None:
        raise TargetMalformed("target_agent_did must be a DID: did:<method>:<identifier>.")
    if target == caller:
        raise TargetMalformed("target_agent_did must be another agent than the caller.")


class Verdict(StrEnum):
    """Outcome of a settle request."""

    SETTLING = "settling"
    SETTLED = "settled"
    RELEASE = "release"
    EXPIRE = "expire"
    UNDER_WAY = "under_way"
    ENDED = "ended"


def judge_settle(token: Token | None, by: str, *, success: bool, capture_amount: Minor | None) -> Verdict:
    """Judge a settle request of this agent. Raises: TokenUnknown, NotTheCaller, CapturedByPayee, CaptureAmountRefused."""
    if token is None:
        raise TokenUnknown
    _require_settler(token, by, success=success)
    if token.capture_by == "caller" and capture_amount is not None:
        raise CaptureAmountRefused("capture_amount is for tokens that are captured by their payee.")
    if capture_amount is not None and capture_amount > token.amount:
        raise CaptureAmountRefused(
            f"capture_amount must be at most the token's amount, {format_amount(token.amount)}."
        )
    match token.status:
        case "settled":
            return Verdict.SETTLED
        case "settling":
            return Verdict.UNDER_WAY
        case "authorized" | "consumed":
            if not success or capture_amount == 0:
                return Verdict.RELEASE
            return Verdict.EXPIRE if token.is_expired else Verdict.SETTLING
        case _:
            return Verdict.ENDED


def settles_plainly(token: Token, by: str, capture_amount: Minor | None) -> bool:
    """Return whether a settle request with success pays the token as it is, and nothing of its caller's budget goes back."""
    if token.status not in OPEN or token.is_expired or by != token.settler:
        return False
    if token.purchase_budget_id is not None:
        return False
    if capture_amount is None:
        return True
    is_captured = token.capture_by == "payee" and 0 < capture_amount <= token.amount
    return is_captured and (capture_amount == token.amount or not token.is_budgeted)


def as_settling(token: Token) -> Token:
    """A settled token as it was a moment before."""
    return replace(token, status="settling", tx_id=None, fee=None, counts=None, ended_at=None)


def releases_plainly(token: Token, by: str) -> bool:
    """Return whether this agent may release the token as it is, and no budget goes back to the caller."""
    may_release = by in {token.caller, token.settler} and token.status == "authorized"
    is_counted = token.is_budgeted or token.purchase_budget_id is not None
    return may_release and not token.is_expired and not is_counted


def _require_settler(token: Token, by: str, *, success: bool) -> None:
    """Raises: NotTheCaller, CapturedByPayee."""
    if by == token.settler:
        return
    if by != token.caller:
        raise NotTheCaller
    # The caller of a token that its payee captures gives it up only while it is unused.
    if success or token.status == "consumed":
        raise CapturedByPayee


def refusal_of(token: Token) -> TokenStatus | TokenExpired | SettlementInProgress:
    """Why a token in this status is not settled."""
    if token.status == "settling":
        return SettlementInProgress()
    if token.status == "expired":
        return TokenExpired()
    return TokenStatus(f"Token status: {token.status}", context={"status": token.status})


def require_releasable(token: Token | None, by: str) -> Token:
    """Raises: TokenUnknown, NotTheCaller, TokenStatus."""
    if token is None:
        raise TokenUnknown
    if by not in {token.caller, token.settler}:
        raise NotTheCaller
    if token.status != "authorized":
        raise TokenStatus(f"Token status: {token.status}", context={"status": token.status})
    return token


def use_for_part(amount: Minor) -> str:
    """The use of a token by a service that verified it for this part of its amount, by x402."""
    return f"{PART_USE}{amount}"


def may_be_captured_for(token: Token, amount: Minor) -> bool:
    """Return whether `amount` may be captured by possession of the token: its whole amount, or the part for which it was verified."""
    return amount == token.amount or token.use_id == use_for_part(amount)


def verify_error(token: Token | None, order: VerifyOrder, *, is_expired: bool) -> str | None:
    """Why a token is not valid for this payee, in the order of the specification; None: it is."""
    if token is None:
        return "Token not found"
    if is_expired:
        return "Token expired"
    if token.status not in OPEN:
        return f"Token status: {token.status}"
    if order.target is not None and order.target != token.payee:
        return "Token not issued for this agent"
    # Its payer may have verified it: who does not know for how much is not paid the whole.
    is_part = (token.use_id or "").startswith(PART_USE) and token.use_id != use_for_part(token.amount)
    return USED_FOR_PART if is_part and token.use_id != order.use_id else None


class Terms(msgspec.Struct, frozen=True):
    """Terms that a token is to meet; `contract_id` is the contract that it may name."""

    caller: str
    payee: str
    amount: Minor
    contract_id: int | None = None


def require_matching(token: Token, terms: Terms) -> None:
    """The token pays exactly this and may be settled now by its caller.

    Raises: TokenMismatch, CapturedByPayee, SettlementInProgress, TokenStatus, TokenExpired.
    """
    if token.status not in OPEN:
        raise refusal_of(token)
    if token.is_expired:
        raise TokenExpired
    if (token.caller, token.payee, token.amount) != (terms.caller, terms.payee, terms.amount):
        raise TokenMismatch("The payment token is for another caller, payee or amount.")
    if token.contract_id not in {None, terms.contract_id}:
        raise TokenMismatch("The payment token names another contract.")
    # Its payee works for a call with it, and would find it settled: the caller pays for that and for this once.
    if token.capture_by == "payee" and token.status == "consumed":
        raise CapturedByPayee
