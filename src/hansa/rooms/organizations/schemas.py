"""Shapes of organizations."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias
from uuid import UUID

from pydantic import AfterValidator, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import format_amount
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.visible_text import plain, plain_and_visible
from hansa.rooms.ledger import Balance

from . import rules
from .records import Done, Shown
from .requests.schemas import OrganizationRequestOut
from .summary import Summary

NAME_MAX, DESCRIPTION_MAX = 100, 2000

Visibility: TypeAlias = Literal["private", "public"]
RoleWord: TypeAlias = Literal["viewer", "member", "admin", "owner"]


Name = Annotated[str, Field(min_length=1, max_length=NAME_MAX), AfterValidator(plain_and_visible)]
Description = Annotated[str, Field(max_length=DESCRIPTION_MAX), AfterValidator(plain)]


class OrganizationIn(RequestBody):
    """A new organization."""

    slug: Annotated[str, Field(max_length=64)] = Field(
        description=f"{rules.SLUG_MIN} to {rules.SLUG_MAX} lower-case letters, digits and single hyphens inside; fixed."
    )
    name: Name
    description: Description = ""
    visibility: Visibility = "private"


class OrganizationChangesIn(RequestBody):
    """Changes of an organization; absent members stay."""

    name: Name | None = None
    description: Description | None = None
    visibility: Visibility | None = None


class OrganizationCountsOut(LazyModel):
    """Sizes of an organization."""

    members: int
    agents: int
    teams: int


class OrganizationOut(LazyModel):
    """An organization."""

    id: UUID
    slug: str
    name: str
    description: str
    visibility: Visibility
    treasury_did: str = Field(description="DID of its account in the ledger.")
    status: Literal["active", "suspended", "deleted"]
    created_at: datetime
    role: RoleWord | None = Field(description="Role of the caller; null for everybody else.")
    counts: OrganizationCountsOut

    @classmethod
    def of(cls, shown: Shown) -> "OrganizationOut":
        one, counts = shown.organization, shown.counts
        return cls.model_validate(
            {
                "id": one.id,
                "slug": one.slug,
                "name": one.name,
                "description": one.description,
                "visibility": one.visibility,
                "treasury_did": one.treasury_did,
                "status": one.status,
                "created_at": one.created_at,
                "role": one.role.word if one.role else None,
                "counts": {"members": counts.members, "agents": counts.agents, "teams": counts.teams},
            }
        )


class TreasuryBalancesOut(LazyModel):
    """Units of the treasury, by bucket."""

    liquid: str
    staked: str
    escrow: str

    @classmethod
    def of(cls, held: Balance) -> "TreasuryBalancesOut":
        return cls(
            liquid=format_amount(held.liquid),
            staked=format_amount(held.staked),
            escrow=format_amount(held.escrow),
        )


class OrganizationSummaryOut(LazyModel):
    """An organization at a glance."""

    counts: OrganizationCountsOut
    balances: TreasuryBalancesOut
    waiting_for_me: list[OrganizationRequestOut] = Field(
        description="Pending requests that the caller may approve, oldest first."
    )

    @classmethod
    def of(cls, summary: Summary) -> "OrganizationSummaryOut":
        counts = summary.counts
        return cls(
            counts=OrganizationCountsOut(members=counts.members, agents=counts.agents, teams=counts.teams),
            balances=TreasuryBalancesOut.of(summary.balance),
            waiting_for_me=[OrganizationRequestOut.of(one) for one in summary.waiting],
        )


class OrganizationActOut(LazyModel):
    """An act in an organization."""

    at: datetime
    actor: int = Field(description="The developer who acted.")
    credential: str = Field(
        description="A session id, `api-key:<id>`, or what stood for one: `bootstrap-token`, `account-deletion`, `administrator`, `delay`."
    )
    act: str
    target: str
    digest: str = Field(description="SHA-256 of the members of the act, in hex.")

    @classmethod
    def of(cls, done: Done) -> "OrganizationActOut":
        return cls(
            at=done.at,
            actor=done.actor,
            credential=done.credential,
            act=done.act,
            target=done.target,
            digest=done.digest,
        )


class OrganizationDeletedOut(LazyModel):
    """The object does not exist any more."""

    deleted: Literal[True] = True


class OrganizationPlaceOut(LazyModel):
    """Empty object: the place is as the request says."""
