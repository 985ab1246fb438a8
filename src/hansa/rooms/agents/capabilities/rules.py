"""Rules of capabilities: the whole chain from the root down is evaluated, so that nothing is ever wider than its root."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import msgspec

from hansa.foundation.values.money import Minor, format_amount
from hansa.foundation.values.rights import Owner
from hansa.foundation.values.roles import permissions_of

from .errors import (
    CapabilityBudgetSpent,
    CapabilityEnded,
    CapabilityUnknown,
    CapabilityWidened,
    CaveatViolated,
    DelegatorMayNot,
    NotRedelegable,
    PermissionNotHeld,
    TooManyCapabilities,
)

Count = TypeVar("Count", bound=int)

DEPTH_MAX = 3
ALIVE_MAX = 1000
DELEGATES = "authz.delegate"


class Terms(msgspec.Struct, frozen=True):
    """Caveats of a capability. A None bounds nothing, an empty list allows nothing; amounts in minor units."""

    permissions: tuple[str, ...]
    max_per_tx: Minor | None
    allowed_currencies: tuple[str, ...] | None
    counterparty_allow: tuple[str, ...] | None
    operations: tuple[str, ...] | None
    no_redelegate: bool
    currency: str
    budget_total: Minor | None
    max_uses: int | None


class Capability(msgspec.Struct, frozen=True):
    """A capability as it stands at this moment of the database's clock, with its issuer and its holder.

    `issuer_is_active` is false for a child that is ending as well. Without a holder it is good for everyone who presents its token.
    """

    id: UUID
    root_id: UUID
    parent_id: UUID | None
    depth: int
    issuer_did: str
    issuer_owner: Owner
    issuer_is_active: bool
    issuer_roles: tuple[str, ...]
    holder_did: str | None
    terms: Terms
    spent: Minor
    uses: int
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    is_expired: bool

    @property
    def left(self) -> Minor | None:
        """Rest of its own budget; None without one."""
        return None if self.terms.budget_total is None else Minor(self.terms.budget_total - self.spent)

    @property
    def uses_left(self) -> int | None:
        """How often it may still be used by its own count; None without one."""
        return None if self.terms.max_uses is None else self.terms.max_uses - self.uses


class Chain(msgspec.Struct, frozen=True):
    """A capability behind all those it was drawn from, the root first."""

    links: tuple[Capability, ...]

    @property
    def root(self) -> Capability:
        """Root of the chain."""
        return self.links[0]

    @property
    def leaf(self) -> Capability:
        """The capability itself."""
        return self.links[-1]

    @property
    def left(self) -> Minor | None:
        """Amount that may still be spent: the least rest of any link."""
        return min((link.left for link in self.links if link.left is not None), default=None)

    @property
    def uses_left(self) -> int | None:
        """How often it may still be used: the least that any link allows."""
        return min((link.uses_left for link in self.links if link.uses_left is not None), default=None)

    @property
    def status(self) -> str:
        """`active`, or why it is of no use any more."""
        if any(link.revoked_at is not None for link in self.links):
            return "revoked"
        if any(link.is_expired for link in self.links):
            return "expired"
        return "exhausted" if self.left == 0 or self.uses_left == 0 else "active"


class Use(msgspec.Struct, frozen=True):
    """Intended use of a capability; a None is not stated. `amount` may be zero."""

    amount: Minor
    currency: str | None = None
    permission: str | None = None
    operation: str | None = None
    counterparty: str | None = None


def require_usable_by(chain: Chain | None, did: str, *, shows_token: bool) -> Chain:
    """The capability, when it is this agent's to use. Raises: CapabilityUnknown."""
    if chain is None or not may_use(chain.leaf, did, shows_token=shows_token):
        raise CapabilityUnknown
    return chain


def may_use(capability: Capability, did: str, *, shows_token: bool) -> bool:
    """Return whether an agent may use a capability: a holder its own; without a holder, every presenter of the token and the issuer."""
    if capability.holder_did is None:
        return shows_token or capability.issuer_did == did
    return capability.holder_did == did


def evaluate(chain: Chain, use: Use, *, roles_count: bool) -> None:
    """Require that the use lies within every link of the chain.

    `roles_count` states that roles are enforced: the root's issuer then still has to hold the permission that it delegated.

    Raises: CapabilityEnded, DelegatorMayNot, CaveatViolated, CapabilityBudgetSpent.
    """
    # A spent budget ends nothing that costs nothing.
    if chain.status in {"revoked", "expired"} or chain.uses_left == 0:
        raise CapabilityEnded(f"The capability is {chain.status}.", context={"status": chain.status})
    _require_delegators(chain, use, roles_count=roles_count)
    for link in chain.links:
        for caveat, is_kept in _caveats(link.terms, use):
            if not is_kept:
                raise CaveatViolated(
                    f"The capability does not allow this: {caveat}.", context={"caveat": caveat}
                )
    if chain.left is not None and use.amount > chain.left:
        raise CapabilityBudgetSpent(
            f"The capability has {format_amount(chain.left)} left, {format_amount(use.amount)} requested.",
            context={"available": format_amount(chain.left), "required": format_amount(use.amount)},
        )


def lent(chain: Chain, owner: Owner) -> frozenset[str]:
    """The permissions that an agent has from the capability beside those of its roles.

    Only agents of one owner lend each other permissions: only an owner decides on the permissions of its agent.
    """
    if chain.root.issuer_owner != owner:
        return frozenset()
    return frozenset(chain.leaf.terms.permissions)


def within_ancestors(
    chain: Chain, permissions: frozenset[str], ancestors: Mapping[str, Sequence[str]]
) -> frozenset[str]:
    """Those of lent permissions that a child may use: each of its ancestors, given with roles, has them too.

    An ancestor that drew a link of the chain passed on what it had itself.
    """
    drew = {link.issuer_did for link in chain.links}
    held = [permissions_of(roles) for did, roles in ancestors.items() if did not in drew]
    return permissions.intersection(*held)


def _require_delegators(chain: Chain, use: Use, *, roles_count: bool) -> None:
    if not all(link.issuer_is_active for link in chain.links):
        raise DelegatorMayNot
    if roles_count:
        held = permissions_of(chain.root.issuer_roles)
        if DELEGATES not in held or (use.permission is not None and use.permission not in held):
            raise DelegatorMayNot


def _caveats(terms: Terms, use: Use) -> Iterable[tuple[str, bool]]:
    """Yield each caveat by name, and whether the use keeps it. A member that a caveat bounds has to be stated."""
    currency = use.currency or terms.currency
    yield "permissions", use.permission is None or use.permission in terms.permissions
    yield "operations", _is_among(use.operation, terms.operations)
    yield "counterparty_allow", _is_among(use.counterparty, terms.counterparty_allow)
    yield "allowed_currencies", _is_among(currency, terms.allowed_currencies)
    yield "currency", terms.budget_total is None or currency == terms.currency
    yield "max_per_tx", terms.max_per_tx is None or use.amount <= terms.max_per_tx


def _is_among(value: str | None, allowed: Sequence[str] | None) -> bool:
    return allowed is None or value in allowed


def require_held(permissions: Sequence[str], held: frozenset[str]) -> None:
    """Raises: PermissionNotHeld."""
    if missing := [permission for permission in permissions if permission not in held]:
        raise PermissionNotHeld(
            f"Your roles do not include {', '.join(missing)}, so you cannot delegate it.",
            context={"permissions": missing},
        )


def require_room(alive: int) -> None:
    """Raises: TooManyCapabilities."""
    if alive >= ALIVE_MAX:
        raise TooManyCapabilities(
            f"An agent can have at most {ALIVE_MAX} active capabilities that it issued."
        )


def require_redelegable(chain: Chain) -> None:
    """Raises: CapabilityEnded, NotRedelegable."""
    if chain.status != "active":
        raise CapabilityEnded(f"The capability is {chain.status}.", context={"status": chain.status})
    if any(link.terms.no_redelegate for link in chain.links):
        raise NotRedelegable("The capability does not allow further delegation.")
    if chain.leaf.depth >= DEPTH_MAX:
        raise NotRedelegable(f"A chain of capabilities can be at most {DEPTH_MAX} deep.")


class Narrowing(msgspec.Struct, frozen=True):
    """Caveats of a capability to be drawn from another; a None takes those of the other."""

    permissions: tuple[str, ...] | None
    max_per_tx: Minor | None
    allowed_currencies: tuple[str, ...] | None
    counterparty_allow: tuple[str, ...] | None
    operations: tuple[str, ...] | None
    no_redelegate: bool
    currency: str | None
    budget_total: Minor | None
    max_uses: int | None


def narrowed(parent: Terms, asked: Narrowing) -> Terms:
    """The terms of a capability drawn from one with the terms `parent`. Raises: CapabilityWidened."""
    if asked.currency not in {None, parent.currency}:
        raise _widened("currency")
    return Terms(
        permissions=_subset("permissions", parent.permissions, asked.permissions) or parent.permissions,
        max_per_tx=_least("max_per_tx", parent.max_per_tx, asked.max_per_tx),
        allowed_currencies=_subset("allowed_currencies", parent.allowed_currencies, asked.allowed_currencies),
        counterparty_allow=_subset("counterparty_allow", parent.counterparty_allow, asked.counterparty_allow),
        operations=_subset("operations", parent.operations, asked.operations),
        no_redelegate=asked.no_redelegate,
        currency=parent.currency,
        budget_total=_least("budget_total", parent.budget_total, asked.budget_total),
        max_uses=_least("max_uses", parent.max_uses, asked.max_uses),
    )


def _subset(
    caveat: str, allowed: tuple[str, ...] | None, asked: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    if asked is None:
        return allowed
    if allowed is not None and not set(asked) <= set(allowed):
        raise _widened(caveat)
    return asked


def _least(caveat: str, allowed: Count | None, asked: Count | None) -> Count | None:
    if asked is None:
        return allowed
    if allowed is not None and asked > allowed:
        raise _widened(caveat)
    return asked


def _widened(caveat: str) -> CapabilityWidened:
    return CapabilityWidened(
        f"A capability lies within the one it is drawn from: {caveat}.", context={"caveat": caveat}
    )
