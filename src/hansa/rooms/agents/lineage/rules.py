"""Rules of children, without I/O: the quotas of a tree, lifetimes, and rights within those of the parent."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec

from hansa.foundation.values.money import Minor
from hansa.rooms.agents.spending.rules import SpendPolicy

from .errors import ChildEnding, LifetimeTooLong, PolicyWidened, RolesNotHeld, SpawnQuotaReached, SpawnTooDeep

DEPTH_MAX = 3
LIVING_MAX = 50
PER_MINUTE = 10
TTL_MIN_SECONDS = 60
TTL_MAX_SECONDS = 30 * 86_400
TTL_DEFAULT_SECONDS = 86_400
PAYS_NOBODY = SpendPolicy(None, None, (), None)
"""Policy of a child that is ending, in every mode of roles."""

Cause: TypeAlias = Literal["ttl", "owner", "parent"]
State: TypeAlias = Literal["living", "ending", "ended"]


class Place(msgspec.Struct, frozen=True):
    """Place of an agent in its tree. `seconds_left` is None for an agent without an end of its own."""

    did: str
    root_did: str
    depth: int
    is_ending: bool
    seconds_left: int | None


class Counted(msgspec.Struct, frozen=True):
    """Living children and forks of a tree, those of the last minute, and the seconds until one more fits into the minute."""

    living: int
    in_minute: int
    seconds: int


class NewChild(msgspec.Struct, frozen=True):
    """Child to be recorded; `funding` in minor units, without the fee."""

    did: str
    funding: Minor
    ttl_seconds: int


class Child(msgspec.Struct, frozen=True):
    """Child of an agent, as its owner sees it; `status` and `name` are those of the agent."""

    did: str
    parent_did: str
    root_did: str
    depth: int
    funding: Minor
    spawned_at: datetime
    expires_at: datetime
    ending_at: datetime | None
    cause: Cause | None
    ended_at: datetime | None
    swept: Minor | None
    is_expired: bool
    name: str
    status: str

    @property
    def state(self) -> State:
        """Stage of the life of the child."""
        if self.ended_at is not None:
            return "ended"
        return "living" if self.ending_at is None else "ending"


def require_living(place: Place) -> None:
    """The agent is not a child that is ending. Raises: ChildEnding."""
    if place.is_ending:
        raise ChildEnding


def require_depth(place: Place) -> None:
    """A child of the agent is at most of the third generation. Raises: SpawnTooDeep."""
    if place.depth >= DEPTH_MAX:
        raise SpawnTooDeep


def require_room(counted: Counted) -> None:
    """The tree has room for one more. Raises: SpawnQuotaReached."""
    if counted.living >= LIVING_MAX:
        raise SpawnQuotaReached(
            f"The tree has {LIVING_MAX} living children and forks; end one of them first.",
            context={"living": counted.living, "living_max": LIVING_MAX},
        )
    if counted.in_minute >= PER_MINUTE:
        raise SpawnQuotaReached(
            f"The tree had {PER_MINUTE} new children and forks within a minute.",
            context={"per_minute": PER_MINUTE},
            retry_after=counted.seconds,
        )


def lifetime(asked: int | None, seconds_left: int | None) -> int:
    """Seconds that a child lives: a day by default, at most what its parent has left. Raises: LifetimeTooLong."""
    left = TTL_MAX_SECONDS if seconds_left is None else seconds_left
    if left < (asked or TTL_MIN_SECONDS):
        raise LifetimeTooLong(
            f"The parent ends in {max(left, 0)} seconds, before its child would.", field="ttl_seconds"
        )
    return asked or min(TTL_DEFAULT_SECONDS, left)


def child_roles(of_parent: Sequence[str], asked: Sequence[str] | None) -> tuple[str, ...]:
    """Roles of a child: those of the parent, or some of them. Raises: RolesNotHeld."""
    if asked is None:
        return tuple(of_parent)
    require_roles(of_parent, asked)
    return tuple(dict.fromkeys(asked))


def require_roles(of_parent: Sequence[str], asked: Sequence[str]) -> None:
    """Raises: RolesNotHeld."""
    if missing := [role for role in asked if role not in of_parent]:
        raise RolesNotHeld(context={"roles": missing})


def child_policy(of_parent: SpendPolicy | None, asked: Mapping[str, Any]) -> SpendPolicy | None:
    """Policy of a child: each member of the parent's, kept where it is absent from `asked` or else narrowed; None bounds nothing.

    Raises: PolicyWidened.
    """
    parent = of_parent or SpendPolicy(None, None, None, None)
    policy = msgspec.structs.replace(parent, **asked)
    require_narrower(parent, policy)
    return bounding(policy)


def require_narrower(parent: SpendPolicy | None, child: SpendPolicy | None) -> None:
    """Each member of the child's policy is at most that of the parent's. Raises: PolicyWidened."""
    if parent is None:
        return
    child = child or SpendPolicy(None, None, None, None)
    for name in SpendPolicy.__struct_fields__:
        if _narrower(getattr(parent, name), getattr(child, name)) != getattr(child, name):
            raise PolicyWidened(
                f"The member {name} is wider than that of the parent.", field=f"spend_policy.{name}"
            )


def within(parent: SpendPolicy | None, child: SpendPolicy | None) -> SpendPolicy | None:
    """The policy of a child with each member narrowed to that of its parent."""
    if parent is None:
        return child
    child = child or SpendPolicy(None, None, None, None)
    members = {
        name: _narrower(getattr(parent, name), getattr(child, name)) for name in SpendPolicy.__struct_fields__
    }
    return SpendPolicy(**members)


def bounding(policy: SpendPolicy) -> SpendPolicy | None:
    """The policy, or None where it bounds nothing."""
    return None if all(getattr(policy, name) is None for name in SpendPolicy.__struct_fields__) else policy


def _narrower(bound: Any, asked: Any) -> Any:
    """The narrower of two limits or of two lists of payees; None bounds nothing."""
    if bound is None or asked is None:
        return asked if bound is None else bound
    if isinstance(asked, tuple):
        return tuple(payee for payee in asked if payee in bound)
    return min(bound, asked)
