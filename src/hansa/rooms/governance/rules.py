"""Decisions of governance, without I/O.

- The weight of a vote is the lesser of the stake at the snapshot and at the vote.
- A signal passes by more than half of for and against. A change of policy also needs the quorum, in which abstentions count.
- A quorum that is first reached in the last 24 hours moves the end by 24 hours, once.
"""

from datetime import datetime, timedelta

from msgspec.structs import replace

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.errors import Invalid
from hansa.foundation.values.money import ZERO, Minor, format_amount, parse_amount

from .errors import (
    GovernanceDisabled,
    NotTheProposer,
    NoWeight,
    OthersVoted,
    ProposalNotOpen,
    TooManyProposals,
    VotingUnderWay,
    WeightTooSmall,
    WrongExecution,
)
from .records import Ballot, Execution, Kind, Proposal, Status

OPEN_MAX, OPEN_CHANGES_MAX = 3, 1
"""Open proposals of one owner, and changes of policy among them."""
LATE = timedelta(hours=24)
LAPSE = timedelta(days=14)
"""How long a passed change waits for an administrator."""
FLOOR_PERCENT = 1
"""The least quorum, in percent of the units in agents' accounts."""


def require_enabled(settings: Settings) -> None:
    """Raises: GovernanceDisabled."""
    if settings.governance_weight_mode == "off":
        raise GovernanceDisabled


def require_duration(kind: Kind, duration: timedelta, settings: Settings) -> None:
    """Raises: Invalid."""
    hours = settings.governance_min_hours
    if kind == "policy_change" and duration < timedelta(hours=hours):
        raise Invalid(
            f"duration_seconds must be at least {hours * 3600} for a change of policy.",
            field="duration_seconds",
        )


def snapshot_of(kind: Kind, created_at: datetime, settings: Settings) -> datetime:
    """The moment whose stakes have weight."""
    if kind == "signal":
        return created_at
    return created_at - timedelta(hours=settings.governance_stake_age_hours)


def require_weight(weight: Minor) -> None:
    """Raises: NoWeight."""
    if weight == 0:
        raise NoWeight


def require_proposer_weight(kind: Kind, weight: Minor, settings: Settings) -> None:
    """Raises: NoWeight, WeightTooSmall."""
    require_weight(weight)
    needed = parse_amount(settings.governance_proposal_min)
    if kind == "policy_change" and weight < needed:
        raise WeightTooSmall(
            context={"needed": format_amount(needed), "weight": format_amount(weight)},
        )


def require_room(kind: Kind, open_kinds: list[Kind]) -> None:
    """Require that an owner with these open proposals may make another one. Raises: TooManyProposals."""
    if len(open_kinds) >= OPEN_MAX:
        raise TooManyProposals(
            f"An owner has at most {OPEN_MAX} open proposals.", context={"limit": OPEN_MAX}
        )
    if kind == "policy_change" and open_kinds.count(kind) >= OPEN_CHANGES_MAX:
        raise TooManyProposals(
            f"An owner has at most {OPEN_CHANGES_MAX} open change of policy.",
            context={"limit": OPEN_CHANGES_MAX},
        )


def quorum_of(kind: Kind, eligible: Minor, units: Minor, percent: int) -> Minor:
    """The weight that has to take part, rounded up; none for a signal."""
    if kind == "signal":
        return ZERO
    return Minor(max(_percent_of(eligible, percent), _percent_of(units, FLOOR_PERCENT)))


def require_voting(proposal: Proposal, now: datetime) -> None:
    """Raises: ProposalNotOpen."""
    if proposal.status != "OPEN" or now >= proposal.ends_at:
        raise ProposalNotOpen(
            context={"state": proposal.state, "end_timestamp": proposal.ends_at.isoformat()}
        )


def counted(proposal: Proposal, ballot: Ballot, weight: Minor, now: datetime) -> Proposal:
    """The proposal with this vote in its sums, and with a later end where the vote is the late quorum."""
    sums = {f"votes_{ballot.vote}": getattr(proposal, f"votes_{ballot.vote}") + weight}
    after = replace(proposal, **sums, total_voters=proposal.total_voters + 1)
    is_reached = proposal.turnout < proposal.quorum_weight <= after.turnout
    if is_reached and not proposal.is_extended and proposal.ends_at - now <= LATE:
        return replace(after, ends_at=proposal.ends_at + LATE, is_extended=True)
    return after


def require_ended(proposal: Proposal, now: datetime) -> None:
    """Raises: VotingUnderWay."""
    if now < proposal.ends_at:
        raise VotingUnderWay(
            context={"state": proposal.status, "end_timestamp": proposal.ends_at.isoformat()}
        )


def outcome_of(proposal: Proposal) -> Status:
    """The result of a vote that has ended. A tie fails, and so does a proposal without votes."""
    has_quorum = proposal.turnout >= proposal.quorum_weight
    return "PASSED" if has_quorum and proposal.votes_for > proposal.votes_against else "FAILED"


def require_cancellable(proposal: Proposal, did: str, now: datetime, *, have_others_voted: bool) -> None:
    """Require that the proposer cancels while the vote is under way and nobody else has voted.

    Raises: NotTheProposer, ProposalNotOpen, OthersVoted.
    """
    if proposal.proposer_did != did:
        raise NotTheProposer
    require_voting(proposal, now)
    if have_others_voted:
        raise OthersVoted(context={"state": proposal.state})


def require_execution(proposal: Proposal, expected: Execution) -> None:
    """Raises: WrongExecution."""
    if proposal.execution != expected:
        raise WrongExecution(f"The proposal is {proposal.state}.", context={"state": proposal.state})


def _percent_of(weight: int, percent: int) -> int:
    return -(-weight * percent // 100)
