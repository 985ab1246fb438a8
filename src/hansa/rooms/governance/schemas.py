"""Shapes of governance. Weights are decimal strings."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from pydantic import AfterValidator, Field, StrictBool, StrictInt, model_validator

from hansa.foundation.plumbing.parameters import Parameter
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import format_amount
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.visible_text import plain, plain_and_visible

from .records import Ballot, Choice, Execution, Kind, NewProposal, Power, Proposal, Status, Vote

DESCRIPTION_MAX = 20_000
DURATION_MAX_SECONDS = 30 * 24 * 3600
REASON_MAX = 2000
DIFF_MAX = 10
VALUE_MAX = 40

Reason = Annotated[str, Field(min_length=1, max_length=REASON_MAX), AfterValidator(plain_and_visible)]


Value: TypeAlias = StrictBool | StrictInt | Annotated[str, Field(max_length=VALUE_MAX)]


class PolicyChangeIn(RequestBody):
    """Change of one setting. Decimals are strings."""

    from_: Value = Field(alias="from", description="The value in force.")
    to: Value


class GovernanceProposalIn(RequestBody):
    """A proposal on which agents vote with their stakes."""

    title: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(plain_and_visible)]
    description: Annotated[str, Field(max_length=DESCRIPTION_MAX), AfterValidator(plain)]
    duration_seconds: Annotated[int, Field(strict=True, ge=1, le=DURATION_MAX_SECONDS)]
    kind: Kind = Field(
        default="signal",
        description="`signal`: a text without an effect. `policy_change`: settings of the registry, named in `policy_diff`.",
    )
    policy_diff: dict[str, PolicyChangeIn] | None = Field(
        default=None,
        min_length=1,
        max_length=DIFF_MAX,
        description="The settings that are to change, by their names in lower case.",
    )

    @model_validator(mode="after")
    def _diff_of_a_change(self) -> "GovernanceProposalIn":
        if (self.policy_diff is not None) != (self.kind == "policy_change"):
            raise ValueError("policy_diff belongs to a policy_change, and a policy_change needs it")
        return self

    def proposal(self) -> NewProposal:
        """The proposal that this request makes."""
        return NewProposal(self.title, self.description, self.duration_seconds, self.kind, self._diff())

    def _diff(self) -> dict[str, Any] | None:
        if self.policy_diff is None:
            return None
        return {name: {"from": one.from_, "to": one.to} for name, one in self.policy_diff.items()}


class GovernanceProposalOut(LazyModel):
    """A proposal."""

    id: int
    proposer_did: str
    title: str
    description: str
    kind: Kind
    policy_diff: dict[str, Any] | None = Field(
        description="The settings that change: {name: {from, to}}; null for a signal."
    )
    status: Status
    execution: Execution | None = Field(description="State of a passed change of policy, else null.")
    created_at: datetime
    end_timestamp: datetime = Field(
        description="A quorum that is first reached in the last 24 hours moves it, once."
    )
    snapshot_at: datetime = Field(description="The stakes of this moment have weight.")
    votes_for: str
    votes_against: str
    votes_abstain: str
    total_voters: int
    eligible_weight: str = Field(description="All units that were staked at the snapshot.")
    quorum_weight: str = Field(description="Weight that has to take part; `0` for a signal.")
    effective_at: datetime | None = Field(description="The moment at which a passed change takes effect.")
    reason: str | None = Field(description="Reason of the administrator who decided on the proposal last.")

    @classmethod
    def of(cls, proposal: Proposal) -> "GovernanceProposalOut":
        return cls.model_validate(
            {
                "id": proposal.id,
                "proposer_did": proposal.proposer_did,
                "title": proposal.title,
                "description": proposal.description,
                "kind": proposal.kind,
                "policy_diff": proposal.policy_diff,
                "status": proposal.status,
                "execution": proposal.execution,
                "created_at": proposal.created_at,
                "end_timestamp": proposal.ends_at,
                "snapshot_at": proposal.snapshot_at,
                "votes_for": format_amount(proposal.votes_for),
                "votes_against": format_amount(proposal.votes_against),
                "votes_abstain": format_amount(proposal.votes_abstain),
                "total_voters": proposal.total_voters,
                "eligible_weight": format_amount(proposal.eligible_weight),
                "quorum_weight": format_amount(proposal.quorum_weight),
                "effective_at": proposal.effective_at,
                "reason": proposal.reason,
            }
        )


class GovernanceVoteIn(RequestBody):
    """A vote: either `vote_in_favor` or `vote`."""

    vote_in_favor: StrictBool | None = Field(
        default=None, description="The same as `vote` with `for` or `against`."
    )
    vote: Choice | None = None
    reason: Reason | None = Field(default=None, description="Public, as the vote is.")

    @model_validator(mode="after")
    def _one_vote(self) -> "GovernanceVoteIn":
        if (self.vote_in_favor is None) == (self.vote is None):
            raise ValueError("send either vote_in_favor or vote")
        return self

    def ballot(self, proposal_id: int, voter_did: str) -> Ballot:
        """The ballot that this request casts."""
        vote = self.vote or ("for" if self.vote_in_favor else "against")
        return Ballot(proposal_id, voter_did, vote, self.reason)


class GovernanceVoteOut(LazyModel):
    """A vote. It is final."""

    id: int
    proposal_id: int
    voter_did: str
    vote: Choice
    voting_power: str = Field(description="The lesser of the stake at the snapshot and at the vote.")
    reason: str | None
    created_at: datetime

    @classmethod
    def of(cls, vote: Vote) -> "GovernanceVoteOut":
        return cls(
            id=vote.id,
            proposal_id=vote.proposal_id,
            voter_did=vote.voter_did,
            vote=vote.vote,
            voting_power=format_amount(vote.weight),
            reason=vote.reason,
            created_at=vote.created_at,
        )


class VotingPowerOut(LazyModel):
    """Stake of the calling agent, and the part that its votes pin."""

    staked: str
    pinned: str = Field(description="Largest weight of its votes on open proposals; so much stays staked.")
    pinned_until: datetime | None = Field(description="End of the last of these proposals.")

    @classmethod
    def of(cls, power: Power) -> "VotingPowerOut":
        return cls(
            staked=format_amount(power.staked),
            pinned=format_amount(power.pinned),
            pinned_until=power.pinned_until,
        )


class GovernanceReasonIn(RequestBody):
    """Reason of an administrator. It is public."""

    reason: Reason


class ParameterBoundsOut(LazyModel):
    """Values that a setting may have; null for a switch."""

    kind: Literal["decimal", "integer", "boolean"]
    least: Value | None
    most: Value | None


class ScheduledValueOut(LazyModel):
    """The value that a setting is to have, and its moment."""

    value: Value | None
    at: datetime


class ParameterOut(LazyModel):
    """A setting that votes may change."""

    name: str
    value: Value
    source: Literal["default", "environment", "governance"]
    bounds: ParameterBoundsOut
    scheduled: ScheduledValueOut | None

    @classmethod
    def of(cls, parameter: Parameter) -> "ParameterOut":
        return cls.model_validate(msgspec.to_builtins(parameter, builtin_types=(datetime,)))


class ParametersOut(LazyModel):
    """The settings that votes may change, by name."""

    items: list[ParameterOut]
