"""Facts of governance. All are public, always recorded, and leaves of the log. Weights are decimal strings."""

from typing import Any, ClassVar

from hansa.foundation.events.base import REGISTRY_ACCOUNT, Event


class GovernanceEvent(Event, frozen=True):
    """A fact about proposals or about what they change."""

    is_always_recorded: ClassVar[bool] = True


class ProposalEvent(GovernanceEvent, frozen=True):
    """A fact about one proposal."""

    aggregate_type: ClassVar[str] = "proposal"

    proposal_id: int


class _EventOfProposer(ProposalEvent, frozen=True):
    proposer_did: str

    @property
    def aggregate_id(self) -> str:
        return self.proposer_did


class ProposalCreated(_EventOfProposer, frozen=True):
    """An agent made a proposal; `diff` is null unless it is a change of policy."""

    title: str
    kind: str
    diff: dict[str, Any] | None
    end_timestamp: str
    eligible_weight: str
    quorum_weight: str


class VoteCast(ProposalEvent, frozen=True):
    """An agent voted `for`, `against` or `abstain`; its vote is final."""

    voter_did: str
    vote: str
    weight: str

    @property
    def aggregate_id(self) -> str:
        return self.voter_did


class ProposalTallied(_EventOfProposer, frozen=True):
    """The vote has ended: `status` is `PASSED`, `FAILED`, or `CANCELLED` by the proposer or an administrator."""

    status: str
    votes_for: str
    votes_against: str
    votes_abstain: str
    total_voters: int
    quorum_weight: str


class _PolicyEvent(_EventOfProposer, frozen=True):
    diff: dict[str, Any]
    by: str | None
    reason: str | None


class PolicyScheduled(_PolicyEvent, frozen=True):
    """A change of policy is to take effect; `by` is `tally`, or the administrator who applied it."""

    effective_at: str


class PolicyApplied(_PolicyEvent, frozen=True):
    """A change of policy has taken effect."""


class PolicyVetoed(_PolicyEvent, frozen=True):
    """A proposal is not carried out; `execution` is `VETOED`, `DECLINED`, `LAPSED` or `STALE`, or `CANCELLED` by a veto of an open one.

    `by` is null for a change that lapsed or became stale.
    """

    execution: str


class PolicyReset(GovernanceEvent, frozen=True):
    """An administrator gave a setting back to the environment: from `effective_at` on `after` is in force in place of `before`."""

    aggregate_type: ClassVar[str] = "system_account"

    name: str
    before: bool | int | str
    after: bool | int | str
    by: str
    reason: str
    effective_at: str

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT
