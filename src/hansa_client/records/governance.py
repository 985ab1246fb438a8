"""Proposals, votes, and the settings that votes may change."""

from datetime import datetime
from decimal import Decimal
from typing import TypeAlias

from .record import Record

ParameterValue: TypeAlias = bool | int | str


class PolicyChange(Record, frozen=True, rename={"before": "from", "after": "to"}):
    """Change of one setting: its value in force and the one proposed. Decimals are strings."""

    before: ParameterValue
    after: ParameterValue


class Proposal(Record, frozen=True):
    """A proposal. `execution` is the state of a passed change of policy; `end_timestamp` may move once, by a late quorum."""

    id: int
    proposer_did: str
    title: str
    description: str
    kind: str
    policy_diff: dict[str, PolicyChange] | None
    status: str
    execution: str | None
    created_at: datetime
    end_timestamp: datetime
    snapshot_at: datetime
    votes_for: Decimal
    votes_against: Decimal
    votes_abstain: Decimal
    total_voters: int
    eligible_weight: Decimal
    quorum_weight: Decimal
    effective_at: datetime | None
    reason: str | None


class ProposalVote(Record, frozen=True):
    """A vote. `voting_power` is the lesser of the stake at the snapshot and at the vote."""

    id: int
    proposal_id: int
    voter_did: str
    vote: str
    voting_power: Decimal
    reason: str | None
    created_at: datetime


class VotingPower(Record, frozen=True):
    """Stake of the agent; `pinned` stays staked until `pinned_until`."""

    staked: Decimal
    pinned: Decimal
    pinned_until: datetime | None


class ParameterBounds(Record, frozen=True):
    """Least and most of a setting; null for a switch."""

    kind: str
    least: ParameterValue | None
    most: ParameterValue | None


class ScheduledValue(Record, frozen=True):
    """The value that a setting is to have, and its moment."""

    value: ParameterValue | None
    at: datetime


class Parameter(Record, frozen=True):
    """A setting that votes may change; `source` is `default`, `environment` or `governance`."""

    name: str
    value: ParameterValue
    source: str
    bounds: ParameterBounds
    scheduled: ScheduledValue | None


class Parameters(Record, frozen=True):
    """All settings that votes may change."""

    items: list[Parameter]
