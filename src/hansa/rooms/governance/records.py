"""Proposals and votes. Weights are in minor units."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec

from hansa.foundation.values.money import Minor

Kind: TypeAlias = Literal["signal", "policy_change"]
Status: TypeAlias = Literal["OPEN", "PASSED", "FAILED", "CANCELLED"]
Execution: TypeAlias = Literal["AWAITING", "QUEUED", "APPLIED", "DECLINED", "LAPSED", "VETOED", "STALE"]
Choice: TypeAlias = Literal["for", "against", "abstain"]
Deadline: TypeAlias = Literal["end", "extended end", "lapse", "effect"]
DEADLINES = "governance: deadlines"
"""Jobs that carry out the deadlines of proposals."""


def key_of(proposal_id: int, deadline: Deadline) -> str:
    """The key of the job of a deadline."""
    return f"{proposal_id} {deadline}"


class NewProposal(msgspec.Struct, frozen=True):
    """A proposal that an agent makes; `policy_diff` is {name: {from, to}} as it was sent."""

    title: str
    description: str
    duration_seconds: int
    kind: Kind
    policy_diff: Mapping[str, Any] | None


class Opening(msgspec.Struct, frozen=True):
    """Members of a proposal that are fixed when it is made; `owner` is that of the proposer."""

    proposer_did: str
    owner: str
    policy_diff: dict[str, Any] | None
    created_at: datetime
    snapshot_at: datetime
    ends_at: datetime
    eligible_weight: Minor
    quorum_weight: Minor


class Proposal(msgspec.Struct, frozen=True):
    """A proposal as it was read."""

    id: int
    proposer_did: str
    owner: str
    kind: Kind
    title: str
    description: str
    policy_diff: dict[str, Any] | None
    status: Status
    execution: Execution | None
    created_at: datetime
    snapshot_at: datetime
    ends_at: datetime
    is_extended: bool
    votes_for: Minor
    votes_against: Minor
    votes_abstain: Minor
    total_voters: int
    eligible_weight: Minor
    quorum_weight: Minor
    ended_at: datetime | None
    effective_at: datetime | None
    decided_by: str | None
    reason: str | None

    @property
    def turnout(self) -> Minor:
        """Return the weight of all votes, abstentions included."""
        return Minor(self.votes_for + self.votes_against + self.votes_abstain)

    @property
    def state(self) -> str:
        """Return the execution of a passed change, else the status."""
        return self.execution or self.status


class Ballot(msgspec.Struct, frozen=True):
    """Choice of a voter on a proposal."""

    proposal_id: int
    voter_did: str
    vote: Choice
    reason: str | None


class Vote(msgspec.Struct, frozen=True):
    """A vote that was cast."""

    id: int
    proposal_id: int
    voter_did: str
    vote: Choice
    weight: Minor
    reason: str | None
    created_at: datetime


class OwnVote(msgspec.Struct, frozen=True):
    """Vote of an agent on a proposal: the weight that it would have now, and the vote that was cast."""

    weight: Minor
    vote: Vote | None


class Power(msgspec.Struct, frozen=True):
    """Stake of an agent, and the part that its votes on open proposals pin."""

    staked: Minor
    pinned: Minor
    pinned_until: datetime | None
