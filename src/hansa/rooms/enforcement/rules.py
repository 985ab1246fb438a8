"""Effects of a suspension and of its end on an agent.

- A suspension has a basis: the agent was named itself, its developer or its organization, or an ancestor of the child is suspended. One of
  each basis may be open at a time.
- An agent may act while none stands. A hard one withholds its workload identity and its ledger account.
- A reinstatement of the agent or of its developer ends all of them, one of the organization its own alone. A child stays suspended while
  its parent is, and returns with it unless something else suspends it.
"""

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

Basis: TypeAlias = Literal["agent", "developer", "organization", "ancestor"]

Stop: TypeAlias = Literal["suspended", "already_suspended", "revoked", "not_found", "failed"]
Return: TypeAlias = Literal[
    "reinstated", "already_active", "parent_suspended", "revoked", "not_found", "failed"
]
End: TypeAlias = Literal["revoked", "already_revoked", "not_suspended", "not_found", "failed"]
IdentityRevocation: TypeAlias = Literal["revoked", "not_enrolled", "skipped", "failed"]
IdentityRestoration: TypeAlias = Literal["restored", "not_enrolled", "skipped", "failed"]
AccountSuspension: TypeAlias = Literal["suspended", "skipped", "failed"]
AccountReinstatement: TypeAlias = Literal["reinstated", "skipped", "failed"]


class Stopped(msgspec.Struct, frozen=True):
    """The result of a suspension or a revocation for one agent: its status, its workload identity, its ledger account."""

    agent_did: str
    registry: Stop
    mtls: IdentityRevocation
    teg: AccountSuspension


class Restored(msgspec.Struct, frozen=True):
    """The result of the reinstatement for one agent."""

    agent_did: str
    registry: Return
    mtls: IdentityRestoration
    teg: AccountReinstatement


class Ended(msgspec.Struct, frozen=True):
    """The result of the revocation for one agent."""

    agent_did: str
    registry: End
    mtls: IdentityRevocation
    teg: AccountSuspension


class Suspension(msgspec.Struct, frozen=True):
    """A suspension of an agent that stands."""

    basis: Basis
    soft: bool
    reason: str
    suspended_by: int
    suspended_at: datetime


class DeveloperSuspension(msgspec.Struct, frozen=True):
    """A suspension of a developer that stands."""

    reason: str
    suspended_by: int
    suspended_at: datetime


class HardSuspension(msgspec.Struct, frozen=True):
    """A hard suspension of an agent; `lifted_at` is None while it is in force."""

    did: str
    since: datetime
    lifted_at: datetime | None
