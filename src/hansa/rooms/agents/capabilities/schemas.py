"""Shapes of capabilities. Amounts are decimal strings in answers; a request may also give a JSON number."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field, StrictBool

from hansa.foundation.plumbing.settings import CAUTIOUS_MODE
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import (
    ZERO,
    Minor,
    PositiveAmountOrNumber,
    format_amount,
    parse_positive,
)
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.roles import PERMISSIONS

from .issue import IssuedCapability, Recipient, Revoked
from .rules import Capability, Chain, Narrowing, Terms, Use

TTL_MIN_SECONDS = 60
TTL_MAX_SECONDS = 24 * 3600
TTL_DEFAULT_SECONDS = 900
LIST_MAX = 1000
USES_MAX = 10**9


def _known_permission(permission: str) -> str:
    if permission not in PERMISSIONS:
        raise ValueError(f"must be one of {', '.join(PERMISSIONS)}")
    return permission


Permission = Annotated[
    str,
    Field(max_length=64, json_schema_extra={"enum": list(PERMISSIONS)}),
    AfterValidator(_known_permission),
]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{2,8}$", examples=["AVT"])]
Did = Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)]
Operation = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._/-]{0,63}$", examples=["teg.transfer"])]
Permissions = Annotated[list[Permission], Field(min_length=1, max_length=len(PERMISSIONS))]
Uses = Annotated[int, Field(strict=True, ge=1, le=USES_MAX)]
Ttl = Annotated[int, Field(strict=True, ge=TTL_MIN_SECONDS, le=TTL_MAX_SECONDS)]
Role = Literal["issuer", "holder"]
Status = Literal["active", "revoked", "expired", "exhausted"]


class _Caveats(RequestBody):
    model_config = ConfigDict(extra="forbid")

    max_per_tx: Annotated[
        PositiveAmountOrNumber | None, Field(description="The maximum of one use, without fees.")
    ] = None
    allowed_currencies: Annotated[list[Currency] | None, Field(max_length=LIST_MAX)] = None
    counterparty_allow: Annotated[
        list[Did] | None,
        Field(max_length=LIST_MAX, description="The allowed payees; an empty list allows none."),
    ] = None
    operations: Annotated[
        list[Operation] | None,
        Field(max_length=LIST_MAX, description="`teg.transfer`, `teg.send`, or own action names."),
    ] = None
    no_redelegate: Annotated[
        StrictBool, Field(description="Further capabilities cannot be derived from it.")
    ] = False


class CaveatsIn(_Caveats):
    """The caveats of a capability. Unknown members are refused."""

    permissions: Permissions


class NarrowerCaveatsIn(_Caveats):
    """The caveats of a derived capability; absent ones are those of the parent."""

    permissions: Permissions | None = None


class _CapabilityRequest(RequestBody):
    holder_agent_did: Annotated[
        Did | None, Field(description="The holder; absent: anyone who presents the token.")
    ] = None
    budget_total: Annotated[
        PositiveAmountOrNumber | None,
        Field(description="The maximum of all uses together, including those of derived capabilities."),
    ] = None
    currency: Currency | None = None
    max_uses: Uses | None = None
    ttl_seconds: Ttl = TTL_DEFAULT_SECONDS

    @property
    def recipient(self) -> Recipient:
        """Return the holder and the lifetime."""
        return Recipient(self.holder_agent_did, self.ttl_seconds)


class CapabilityIn(_CapabilityRequest):
    """A capability to issue."""

    caveats: CaveatsIn

    def terms(self, settlement_currency: str) -> Terms:
        """Return the terms of the capability to be issued."""
        return Terms(
            permissions=_unique(self.caveats.permissions) or (),
            max_per_tx=_minor(self.caveats.max_per_tx),
            allowed_currencies=_unique(self.caveats.allowed_currencies),
            counterparty_allow=_unique(self.caveats.counterparty_allow),
            operations=_unique(self.caveats.operations),
            no_redelegate=self.caveats.no_redelegate,
            currency=self.currency or settlement_currency,
            budget_total=_minor(self.budget_total),
            max_uses=self.max_uses,
        )


class AttenuationIn(_CapabilityRequest):
    """A capability to derive from another one; it cannot be wider or live longer than its parent."""

    caveats: NarrowerCaveatsIn = NarrowerCaveatsIn()

    def narrowing(self) -> Narrowing:
        """Return the narrowing that is requested."""
        return Narrowing(
            permissions=_unique(self.caveats.permissions),
            max_per_tx=_minor(self.caveats.max_per_tx),
            allowed_currencies=_unique(self.caveats.allowed_currencies),
            counterparty_allow=_unique(self.caveats.counterparty_allow),
            operations=_unique(self.caveats.operations),
            no_redelegate=self.caveats.no_redelegate,
            currency=self.currency,
            budget_total=_minor(self.budget_total),
            max_uses=self.max_uses,
        )


class ConsumptionIn(LazyModel):
    """A use of a capability outside the registry. Values that a caveat limits are required."""

    amount: PositiveAmountOrNumber | None = None
    currency: Currency | None = None
    permission: Permission | None = None
    operation: Operation | None = None
    counterparty_did: Did | None = None

    def use(self) -> Use:
        """The use to be judged."""
        return Use(
            amount=_minor(self.amount) or ZERO,
            currency=self.currency,
            permission=self.permission,
            operation=self.operation,
            counterparty=self.counterparty_did,
        )


class IssuedOut(LazyModel):
    """A new capability; `token` is shown only once."""

    id: UUID
    token: str = Field(examples=["att_…"])
    root_token_id: UUID
    parent_token_id: UUID | None
    depth: int
    holder_did: str | None
    expires_at: datetime

    @classmethod
    def of(cls, issued: IssuedCapability) -> "IssuedOut":
        """The answer that shows the token."""
        made = issued.chain.leaf
        return cls(
            id=made.id,
            token=issued.token,
            root_token_id=made.root_id,
            parent_token_id=made.parent_id,
            depth=made.depth,
            holder_did=made.holder_did,
            expires_at=made.expires_at,
        )


class ConsumedOut(LazyModel):
    """The remaining amount of a capability: the lowest of its chain; null without a limit."""

    ok: Literal[True] = True
    id: UUID
    status: Status
    budget_remaining: str | None
    uses_remaining: int | None
    currency: str

    @classmethod
    def of(cls, chain: Chain) -> "ConsumedOut":
        """The answer to a use."""
        return cls(
            id=chain.leaf.id,
            status=chain.status,
            budget_remaining=_shown(chain.left),
            uses_remaining=chain.uses_left,
            currency=chain.leaf.terms.currency,
        )


class CapabilityRevokedOut(LazyModel):
    """The number of revoked capabilities, including derived ones."""

    ok: Literal[True] = True
    root_token_id: UUID
    revoked_count: int

    @classmethod
    def of(cls, revoked: Revoked) -> "CapabilityRevokedOut":
        """The answer to a revocation."""
        return cls(root_token_id=revoked.root_id, revoked_count=revoked.count)


class CaveatsOut(LazyModel):
    """The caveats of a capability; null means no limit."""

    permissions: list[str]
    max_per_tx: str | None
    allowed_currencies: list[str] | None
    counterparty_allow: list[str] | None
    operations: list[str] | None
    no_redelegate: bool

    @classmethod
    def of(cls, terms: Terms) -> "CaveatsOut":
        """The caveats among the terms."""
        return cls(
            permissions=list(terms.permissions),
            max_per_tx=_shown(terms.max_per_tx),
            allowed_currencies=_listed(terms.allowed_currencies),
            counterparty_allow=_listed(terms.counterparty_allow),
            operations=_listed(terms.operations),
            no_redelegate=terms.no_redelegate,
        )


class CapabilityOut(LazyModel):
    """A capability as one of its parties sees it."""

    id: UUID
    role: Role = Field(
        description="The relation of the agent to it; an issuer that is also the holder counts as holder."
    )
    issuer_did: str
    holder_did: str | None = Field(description="Null: anyone who presents the token.")
    root_token_id: UUID
    parent_token_id: UUID | None
    depth: int
    status: Status
    permissions: list[str]
    caveats: CaveatsOut
    budget_total: str | None
    budget_remaining: str | None = Field(
        description="The lowest remaining amount of the capability and its parents."
    )
    currency: str
    max_uses: int | None
    uses_remaining: int | None
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None

    @classmethod
    def seen_by(cls, did: str, chain: Chain) -> "CapabilityOut":
        """The capability as this agent sees it."""
        one = chain.leaf
        return cls(
            id=one.id,
            role=_role_of(did, one),
            issuer_did=one.issuer_did,
            holder_did=one.holder_did,
            root_token_id=one.root_id,
            parent_token_id=one.parent_id,
            depth=one.depth,
            status=chain.status,
            permissions=list(one.terms.permissions),
            caveats=CaveatsOut.of(one.terms),
            budget_total=_shown(one.terms.budget_total),
            budget_remaining=_shown(chain.left),
            currency=one.terms.currency,
            max_uses=one.terms.max_uses,
            uses_remaining=chain.uses_left,
            created_at=one.created_at,
            expires_at=one.expires_at,
            revoked_at=one.revoked_at,
        )


class OwnCapabilitiesOut(LazyModel):
    """Capabilities that the calling agent issued or holds, newest first."""

    agent_did: str
    mode: CAUTIOUS_MODE = Field(description="`enforce`: capabilities grant permissions and limit payments.")
    tokens: list[CapabilityOut]


class DelegationsOut(LazyModel):
    """Capabilities that an own agent issued or holds, newest first."""

    agent_did: str
    grants: list[CapabilityOut]


def _role_of(did: str, capability: Capability) -> Role:
    return "holder" if capability.holder_did == did else "issuer"


def _minor(amount: str | None) -> Minor | None:
    return None if amount is None else parse_positive(amount)


def _shown(amount: int | None) -> str | None:
    return None if amount is None else format_amount(amount)


def _unique(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(dict.fromkeys(values))


def _listed(values: tuple[str, ...] | None) -> list[str] | None:
    return None if values is None else list(values)
