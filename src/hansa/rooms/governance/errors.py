"""Refusals of governance."""

from hansa.foundation.values.errors import Conflict, Forbidden, NotFound


class GovernanceDisabled(Forbidden):
    """Votes have no weight at this registry: nothing is proposed, voted on or tallied."""

    code = "governance_disabled"
    sentence = "Governance is disabled at this registry."


class NoWeight(Forbidden):
    """The agent has no weight here: it had no stake at the snapshot, or has none now."""

    code = "NO_WEIGHT"
    sentence = "This agent had no stake at the snapshot, or has none now, so its vote has no weight."
    remedy = "Stake units; they have weight on proposals whose snapshot comes later."


class WeightTooSmall(Forbidden):
    """The agent has less weight than a proposal to change the policy needs."""

    code = "WEIGHT_TOO_SMALL"
    sentence = "This agent has less weight than a proposal to change the policy needs."
    remedy = "Stake at least `needed`, and propose once the stake is old enough, or make a signal proposal."


class ProposalUnknown(NotFound):
    """No proposal has this id."""

    code = "PROPOSAL_UNKNOWN"
    sentence = "No proposal has this id."


class ProposalNotOpen(Conflict):
    """The vote on the proposal has ended, or the proposal was cancelled."""

    code = "PROPOSAL_NOT_OPEN"
    sentence = "The vote on this proposal has ended."


class VotingUnderWay(Conflict):
    """The vote has not ended yet."""

    code = "VOTING_UNDER_WAY"
    sentence = "The vote on this proposal has not ended yet."
    remedy = "Repeat the request after `end_timestamp`."


class AlreadyVoted(Conflict):
    """The agent has voted on this proposal."""

    code = "ALREADY_VOTED"
    sentence = "This agent has voted on this proposal; a vote is final."


class OthersVoted(Conflict):
    """Another agent has voted, so the proposer cannot cancel any more."""

    code = "OTHERS_VOTED"
    sentence = "Another agent has voted on this proposal, so its proposer cannot cancel it."


class NotTheProposer(Forbidden):
    """Only the agent that made the proposal can cancel it."""

    code = "NOT_THE_PROPOSER"
    sentence = "Only the agent that made this proposal can cancel it."


class WrongExecution(Conflict):
    """The proposal is not in a state in which this can be decided."""

    code = "WRONG_EXECUTION"
    sentence = "The proposal is not in a state in which this can be decided."


class TooManyProposals(Conflict):
    """The owner of the agent has as many open proposals as there may be."""

    code = "TOO_MANY_PROPOSALS"
    sentence = "The owner of this agent has as many open proposals as there may be."
    remedy = "Wait until one of them ends, or cancel one."
