"""What a suspension and its end do to an agent, lever by lever.

- A suspension stands on a ground: the agent was named itself, or its developer. One on each may stand at a time.
- An agent may act while none stands. A hard one withholds its workload identity and its ledger account.
- Ending one ground leaves the other standing.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

Ground: TypeAlias = Literal["agent", "developer"]
GROUNDS: tuple[Ground, ...] = ("agent", "developer")

Stop: TypeAlias = Literal["suspended", "already_suspended", "revoked", "not_found", "failed"]
Return: TypeAlias = Literal[
    "reinstated", "already_active", "still_suspended", "revoked", "not_found", "failed"
]
End: TypeAlias = Literal["revoked", "already_revoked", "not_suspended", "not_found", "failed"]
IdentityTaken: TypeAlias = Literal["revoked", "not_enrolled", "skipped", "failed"]
IdentityGiven: TypeAlias = Literal["restored", "not_enrolled", "skipped", "failed"]
AccountTaken: TypeAlias = Literal["suspended", "skipped", "failed"]
AccountGiven: TypeAlias = Literal["reinstated", "skipped", "failed"]


@dataclass(frozen=True)
class Stopped:
    """What became of one agent: its status, its workload identity, its ledger account."""

    agent_did: str
    registry: Stop
    mtls: IdentityTaken
    teg: AccountTaken


@dataclass(frozen=True)
class Restored:
    """What was given back to one agent."""

    agent_did: str
    registry: Return
    mtls: IdentityGiven
    teg: AccountGiven


@dataclass(frozen=True)
class Ended:
    """What became of one agent that was to be revoked."""

    agent_did: str
    registry: End
    mtls: IdentityTaken
    teg: AccountTaken


@dataclass(frozen=True)
class Standing:
    """What stands against an agent: on which grounds, each soft or not, and whether anything is withheld of it."""

    soft_by_ground: Mapping[Ground, bool]
    is_withheld: bool

    def without(self, lifted: Collection[Ground]) -> "Standing":
        """What still stands when these grounds are gone."""
        left = {ground: soft for ground, soft in self.soft_by_ground.items() if ground not in lifted}
        return Standing(left, self.is_withheld)

    @property
    def is_suspended(self) -> bool:
        return bool(self.soft_by_ground)

    @property
    def is_hard(self) -> bool:
        return not all(self.soft_by_ground.values())


@dataclass(frozen=True)
class Suspension:
    """A suspension of an agent that stands."""

    ground: Ground
    soft: bool
    reason: str
    suspended_by: int
    suspended_at: datetime


@dataclass(frozen=True)
class DeveloperSuspension:
    """A suspension of a developer that stands."""

    reason: str
    suspended_by: int
    suspended_at: datetime
