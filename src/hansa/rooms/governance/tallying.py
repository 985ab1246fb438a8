"""Tally a vote whose time has ended, from the running sums: however many voted, it costs the same."""

from hansa.foundation.events import ProposalTallied
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount

from . import deciding, rules, store
from .errors import ProposalUnknown
from .recording import record
from .records import Proposal


async def tally(tx: Tx, proposal_id: int, settings: Settings) -> Proposal:
    """End the vote on a proposal; one that has ended is returned as it is.

    Raises: GovernanceDisabled, ProposalUnknown, VotingUnderWay.
    """
    rules.require_enabled(settings)
    proposal = (await store.lock(tx, [proposal_id])).get(proposal_id)
    if proposal is None:
        raise ProposalUnknown
    if proposal.status != "OPEN":
        return proposal
    rules.require_ended(proposal, await clock.now(tx))
    return await close_vote(tx, proposal, settings)


async def close_vote(tx: Tx, proposal: Proposal, settings: Settings) -> Proposal:
    """Write the outcome of a locked proposal whose time has ended. A passed change waits for a decision, or is scheduled."""
    status = rules.outcome_of(proposal)
    is_decided = status == "PASSED" and proposal.kind == "policy_change"
    ended = await store.end(tx, proposal.id, status, "AWAITING" if is_decided else None)
    assert ended is not None, "a locked proposal is open as it was judged"
    await record(tx, tallied(ended))
    return await deciding.await_decision(tx, ended, settings) if is_decided else ended


def tallied(proposal: Proposal) -> ProposalTallied:
    """The event of a vote that has ended."""
    return ProposalTallied(
        proposal.id,
        proposal.proposer_did,
        status=proposal.status,
        votes_for=format_amount(proposal.votes_for),
        votes_against=format_amount(proposal.votes_against),
        votes_abstain=format_amount(proposal.votes_abstain),
        total_voters=proposal.total_voters,
        quorum_weight=format_amount(proposal.quorum_weight),
    )
