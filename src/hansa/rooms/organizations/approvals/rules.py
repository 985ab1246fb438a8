"""Decisions about approvals, without I/O.

- A demand names so many approvals of the members with a role, or of a team. The initiator and the developer concerned never count.
- Of several demands each must be met: the tier of the creation of a request and that of its execution both bind.
- Where fewer others are eligible than a tier demands, each of them must approve, and a delay replaces the rest.
"""

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

import msgspec

from hansa.foundation.values.money import Minor
from hansa.rooms.organizations.rules import Role

TIERS_MAX = 5
APPROVALS_MAX = 5

ADMIN, OWNER = "admin", "owner"
_ROLES = {ADMIN: Role.ADMIN, OWNER: Role.OWNER}


class Demand(msgspec.Struct, frozen=True):
    """So many approvals of `admin`s, of `owner`s, or of the members of the team with this id."""

    approvals: int
    approvers: str

    @property
    def role(self) -> Role | None:
        """The role that approvers have; None where they are members of a team."""
        return _ROLES.get(self.approvers)

    @property
    def team_id(self) -> UUID | None:
        """The team whose members approve; None where a role decides."""
        return None if self.role else UUID(self.approvers)


class Tier(msgspec.Struct, frozen=True):
    """Demand for amounts `above` this; `approvers` as requests name them: `admin`, `owner` or the slug of a team."""

    above: Minor
    demand: Demand
    approvers: str


class Approver(msgspec.Struct, frozen=True):
    """Member with an active account who may approve something: the role, and the teams that demands name."""

    developer_id: int
    role: Role
    team_ids: frozenset[UUID] = frozenset()

    def meets(self, demand: Demand) -> bool:
        """Return whether the approval of this member counts for the demand."""
        if demand.role is not None:
            return self.role >= demand.role
        return demand.team_id in self.team_ids


class Tally(msgspec.Struct, frozen=True):
    """Approvals of a request at a moment.

    `needed` counts the approvals beside the initiator's, `eligible` has those whose approval counts. `is_delayed`: each of them has approved,
    and they are fewer than needed.
    """

    needed: int = 0
    eligible: frozenset[int] = frozenset()
    is_met: bool = True
    is_delayed: bool = False


def tier_of(tiers: Sequence[Tier], amount: Minor) -> Tier | None:
    """Return the tier of a payment; None below every tier. The tiers are in ascending order."""
    return next((tier for tier in reversed(tiers) if amount > tier.above), None)


def highest(tiers: Sequence[Tier]) -> tuple[Demand, ...]:
    """Return the demand of a control request: that of the highest tier; without tiers nobody has to approve."""
    return (tiers[-1].demand,) if tiers else ()


def tally(
    demands: Iterable[Demand],
    approvers: Collection[Approver],
    approved: Collection[int],
    excluded: Collection[int | None],
    *,
    may_delay: bool,
) -> Tally:
    """Judge the approvals that were given by the members who hold the right now."""
    needed, everyone, is_met, is_delayed = 0, frozenset[int](), True, False
    for demand in demands:
        eligible = {one.developer_id for one in approvers if one.meets(demand)}.difference(excluded)
        given = len(eligible.intersection(approved))
        needed, everyone = max(needed, demand.approvals), everyone | eligible
        if given < demand.approvals:
            replaced = may_delay and given == len(eligible)
            is_delayed, is_met = is_delayed or replaced, is_met and replaced
    return Tally(needed, everyone, is_met and not is_delayed, is_met and is_delayed)


def gives_approval(
    tiers: Sequence[Tier], role: Role | None, team_ids: Collection[UUID], *, held: Role | None = None
) -> bool:
    """Return whether this role, or a place in one of these teams, gives a right to approve under the tiers that the `held` role does not."""
    return any(
        (tier.demand.role is not None and role is not None and (held or 0) < tier.demand.role <= role)
        or tier.demand.team_id in team_ids
        for tier in tiers
    )
