"""Shapes of payment requests and answers. Amounts are decimal strings in the registry's unit."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from pydantic import AfterValidator, Field, StrictBool

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import Amount, format_amount, parse_amount
from hansa.foundation.values.request_body import MovesUnits, RequestBody

from .authorize import AuthorizeOrder
from .rules import CaptureBy, Status, Token, VerifyOrder, positive_amount
from .settle import SettleOrder
from .verify import Verification, first_use_of

TTL_SECONDS_DEFAULT = 900
ISSUER_HEADER = "X-Payment-Issuer"
BIGINT_MIN, BIGINT_MAX = -(2**63), 2**63 - 1
LINES_MAX = 500
QUOTE_TOKEN_MAX_CHARACTERS = 4096


def _within_amounts(text: str) -> str:
    parse_amount(text.removeprefix("-"))
    return text


# The sign passes here, so that a negative amount gets the 400 of one that is not above zero.
SignedAmount = Annotated[
    str,
    Field(
        strict=True,
        pattern=r"^-?[0-9]{1,11}(\.[0-9]{1,8})?$",
        examples=["12.5"],
        description="A decimal string greater than 0.",
    ),
    AfterValidator(_within_amounts),
]
Secret = Annotated[
    str, Field(strict=True, repr=False, description="The payment token, `apt_` and 64 hex digits.")
]


class AuthorizeIn(RequestBody):
    """A payment to be authorized."""

    target_agent_did: Annotated[str, Field(max_length=DID_MAX_CHARACTERS, description="The payee.")]
    amount: SignedAmount
    ttl_seconds: Annotated[int, Field(ge=60, le=3600, strict=True)] = TTL_SECONDS_DEFAULT
    contract_id: Annotated[
        int | None,
        Field(
            ge=BIGINT_MIN,
            le=BIGINT_MAX,
            strict=True,
            description="A contract between caller and payee, which the token may pay; any other number is kept and returned.",
        ),
    ] = None
    resource: Annotated[
        str | None,
        Field(min_length=1, max_length=512, description="What the token is for: a URI or the id of a skill."),
    ] = None
    request_digest: Annotated[
        str | None,
        Field(pattern=r"^sha256:[0-9a-f]{64}$", description="SHA-256 of the request that the token is for."),
    ] = None
    capture_by: Annotated[
        CaptureBy, Field(description="Who settles the token; with `payee` the amount is reserved.")
    ] = "caller"
    reserve: Annotated[
        StrictBool,
        Field(description="Set amount and fee aside now, so that the settlement cannot lack funds."),
    ] = False
    approval_id: Annotated[
        UUID | None, Field(description="The owner's approval of this payee and amount, good for one payment.")
    ] = None
    quote_token: Annotated[
        str | None,
        Field(
            max_length=QUOTE_TOKEN_MAX_CHARACTERS,
            repr=False,
            description="A firm quote for this payee and amount; its fee is the one of the payment.",
        ),
    ] = None

    def order(self) -> AuthorizeOrder:
        """The order that this request makes. Raises: AmountNotPositive."""
        return AuthorizeOrder(
            payee=self.target_agent_did,
            amount=positive_amount(self.amount),
            ttl_seconds=self.ttl_seconds,
            contract_id=self.contract_id,
            resource=self.resource,
            request_digest=self.request_digest,
            capture_by=self.capture_by,
            reserve=self.reserve,
            approval_id=self.approval_id,
        )


class AuthorizeOut(LazyModel):
    """A new payment token, which is shown this once."""

    token: str = Field(repr=False)
    token_id: UUID
    amount: str
    currency: str
    target_agent_did: str
    expires_at: datetime
    contract_id: int | None
    issuer: str = Field(description="The public base URL of this registry.")
    issuer_header: str = Field(description="The header that carries the issuer beside X-Payment-Token.")
    capture_by: CaptureBy
    reserved: bool
    resource: str | None
    request_digest: str | None

    @staticmethod
    def json_of(
        order: AuthorizeOrder, secret: str, token_id: UUID, expires_at: datetime, settings: Settings
    ) -> str:
        """The answer with a new token, as JSON; a model of it would cost several times as much."""
        members = {
            "token": secret,
            "token_id": token_id,
            "amount": format_amount(order.amount),
            "currency": settings.settlement_currency,
            "target_agent_did": order.payee,
            "expires_at": expires_at,
            "contract_id": order.contract_id,
            "issuer": settings.base_url,
            "issuer_header": ISSUER_HEADER,
            "capture_by": order.capture_by,
            "reserved": order.is_reserved,
            "resource": order.resource,
            "request_digest": order.request_digest,
        }
        return msgspec.json.encode(members).decode()


class PaymentVerifyIn(RequestBody):
    """A token that was presented to a service."""

    token: Secret
    target_agent_did: Annotated[
        str | None, Field(description="The service's own DID; a service should always send it.")
    ] = None
    use_id: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=256,
            description="Names this use: asked again with it, first_use is true again after a lost answer.",
        ),
    ] = None

    def order(self) -> VerifyOrder:
        """The verification that is asked for."""
        return VerifyOrder(self.token, self.target_agent_did, self.use_id)


class PaymentVerifyOut(LazyModel):
    """Whether a token is good; of one that is not, only status and error say something."""

    valid: bool
    token_id: UUID | None = None
    caller_did: str | None = None
    target_agent_did: str | None = None
    amount: str | None = None
    contract_id: int | None = None
    expires_at: datetime | None = None
    currency: str | None = None
    status: Status | None = None
    error: str | None = None
    first_use: bool | None = Field(
        default=None,
        description="True for the verification that consumed the token, and for those with its use_id.",
    )
    first_use_id: str | None = Field(
        default=None, description="The use_id that consumed the token, for its payee."
    )
    resource: str | None = None
    request_digest: str | None = None
    capture_by: CaptureBy | None = None
    reserved: bool | None = None
    caller_status: str | None = Field(
        default=None, description="active, suspended, revoked, or unknown.", examples=["active"]
    )
    settled_by: Literal["caller", "payee", "registry"] | None = Field(
        default=None,
        description="Agent that settles the token; `registry` for a token with which the registry buys: it settles by the answer.",
        examples=["caller"],
    )

    @classmethod
    def json_of(cls, verification: Verification, order: VerifyOrder, currency: str) -> str:
        """The answer to a verification, as JSON; a model of a valid one would cost several times as much."""
        token = verification.token
        if token is None or verification.error is not None:
            refused = cls(valid=False, status=_status_of(verification), error=verification.error)
            return refused.model_dump_json()
        members = {
            "valid": True,
            "token_id": token.id,
            "caller_did": token.caller,
            "target_agent_did": token.payee,
            "amount": format_amount(token.amount),
            "contract_id": token.contract_id,
            "expires_at": token.expires_at,
            "currency": currency,
            "status": "consumed",
            "error": None,
            "first_use": verification.is_first_use,
            "first_use_id": first_use_of(verification, order),
            "resource": token.resource,
            "request_digest": token.request_digest,
            "capture_by": token.capture_by,
            "reserved": token.is_reserved,
            "caller_status": verification.caller_status,
            "settled_by": token.settled_by,
        }
        return msgspec.json.encode(members).decode()


class SettleIn(RequestBody):
    """A token whose call is over."""

    token: Secret
    task_id: Annotated[str | None, Field(max_length=1024)] = None
    success: MovesUnits = True
    capture_amount: Annotated[
        Amount | None,
        Field(description="What its payee captures of a token of its own; the rest goes back. Default: all."),
    ] = None

    def order_by(self, did: str) -> SettleOrder:
        """The order that this request makes when `did` sends it."""
        capture = None if self.capture_amount is None else parse_amount(self.capture_amount)
        return SettleOrder(self.token, did, self.task_id or None, self.success, capture)


class SettleOut(LazyModel):
    """What became of a token. `settling`: the transfer is under way, its outcome not known yet."""

    token_id: UUID
    status: Status
    settlement_tx_id: str | None
    amount: str = Field(description="What is paid: of a token captured in part, that part.")
    currency: str
    caller_did: str
    target_agent_did: str
    reason: str | None = Field(description="Why the settlement failed.", examples=["insufficient_balance"])

    @classmethod
    def of(cls, token: Token, currency: str) -> "SettleOut":
        """The shape of a token that is settled."""
        return cls.model_construct(**cls._members(token, currency))

    @classmethod
    def json_of(cls, token: Token, currency: str) -> str:
        """Return the members of `of` as JSON; a model would cost several times as much."""
        return msgspec.json.encode(cls._members(token, currency)).decode()

    @staticmethod
    def _members(token: Token, currency: str) -> dict[str, Any]:
        return {
            "token_id": token.id,
            "status": token.status,
            "settlement_tx_id": token.settlement_tx_id,
            "amount": format_amount(token.paid),
            "currency": currency,
            "caller_did": token.caller,
            "target_agent_did": token.payee,
            "reason": token.reason,
        }


class SettleManyIn(RequestBody):
    """Tokens whose calls are over."""

    tokens: Annotated[list[SettleIn], Field(min_length=1, max_length=LINES_MAX)]

    def orders_by(self, did: str) -> list[SettleOrder]:
        """The orders that this request makes when `did` sends it."""
        return [line.order_by(did) for line in self.tokens]


class SettleError(LazyModel):
    """Why a token of a bulk was refused."""

    code: str
    detail: str


class SettleLineOut(LazyModel):
    """What became of one token of a bulk: `answer` when it was taken, `error` when it was refused."""

    index: int
    key: str | None = Field(description="Always null: the token is the key.")
    status: Literal["completed", "refused"]
    answer: SettleOut | None
    error: SettleError | None

    @classmethod
    def of(cls, index: int, outcome: Token | Refused, currency: str) -> "SettleLineOut":
        """The shape of one outcome."""
        if isinstance(outcome, Refused):
            error = SettleError(code=outcome.code, detail=outcome.detail)
            return cls(index=index, key=None, status="refused", answer=None, error=error)
        answer = SettleOut.of(outcome, currency)
        return cls.model_construct(index=index, key=None, status="completed", answer=answer, error=None)


class SettleManyOut(LazyModel):
    """What became of each token, in the order of the request."""

    items: list[SettleLineOut]
    completed: int
    refused: int

    @classmethod
    def of(cls, outcomes: Sequence[Token | Refused], currency: str) -> "SettleManyOut":
        """The shape of the outcomes."""
        refused = sum(isinstance(outcome, Refused) for outcome in outcomes)
        return cls.model_construct(
            items=[SettleLineOut.of(index, outcome, currency) for index, outcome in enumerate(outcomes)],
            completed=len(outcomes) - refused,
            refused=refused,
        )


class ReleaseIn(RequestBody):
    """A token that is not needed any more."""

    token: Secret


class ReleaseOut(LazyModel):
    """A token that was released."""

    token_id: UUID
    status: Status = Field(examples=["released"])


class TokenOut(LazyModel):
    """A token in the listing of one of its parties."""

    token_id: UUID
    target_agent_did: str
    amount: str
    currency: str
    status: Status
    contract_id: int | None
    created_at: datetime
    expires_at: datetime
    settled_at: datetime | None
    caller_did: str
    capture_by: CaptureBy
    reserved: bool
    settlement_tx_id: str | None
    reason: str | None

    @classmethod
    def of(cls, token: Token, currency: str) -> "TokenOut":
        """The shape of a token."""
        return cls(
            token_id=token.id,
            target_agent_did=token.payee,
            amount=format_amount(token.amount),
            currency=currency,
            status=token.status,
            contract_id=token.contract_id,
            created_at=token.created_at,
            expires_at=token.expires_at,
            settled_at=token.settled_at,
            caller_did=token.caller,
            capture_by=token.capture_by,
            reserved=token.is_reserved,
            settlement_tx_id=token.settlement_tx_id,
            reason=token.reason,
        )


def _status_of(verification: Verification) -> Status | None:
    """The status that goes with an error: that of a token that has expired or was used up."""
    token = verification.token
    if token is None:
        return None
    if token.is_expired:
        return "expired"
    return None if token.status in {"authorized", "consumed"} else token.status
