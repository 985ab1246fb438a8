"""Make a proposal, and cancel it before others have voted."""

from datetime import timedelta
from typing import Any

from hansa.foundation.events import ProposalCreated
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.money import format_amount
from hansa.rooms import ledger

from . import rules, store
from .errors import ProposalNotOpen, ProposalUnknown
from .recording import record
from .records import DEADLINES, NewProposal, Opening, Proposal, key_of
from .tallying import tallied


async def propose(tx: Tx, agent: Agent, new: NewProposal, settings: Settings) -> Proposal:
    """Make a proposal, on which agents vote from now on.

    Raises: GovernanceDisabled, Invalid, AccountUnknown, AccountSuspended, NoWeight, WeightTooSmall, TooManyProposals,
    ParameterUnknown, ParameterValueInvalid, ParameterCombinationRefused, ParameterStale.
    """
    rules.require_enabled(settings)
    duration = timedelta(seconds=new.duration_seconds)
    rules.require_duration(new.kind, duration, settings)
    diff = await _diff_of(tx, new, settings)
    created_at = await clock.now(tx)
    snapshot_at = rules.snapshot_of(new.kind, created_at, settings)
    (stake,) = await ledger.lock_stakes(tx, [(agent.did, snapshot_at)])
    rules.require_proposer_weight(new.kind, ledger.active_stake(stake).lasting, settings)
    owner = agent.owner.name
    await store.lock_owner(tx, owner)
    rules.require_room(new.kind, await store.open_kinds_of(tx, owner))
    eligible = await ledger.staked_then(tx, snapshot_at)
    quorum = rules.quorum_of(
        new.kind, eligible, await ledger.units_of_agents(tx), settings.governance_quorum_percent
    )
    opening = Opening(
        agent.did, owner, diff, created_at, snapshot_at, created_at + duration, eligible, quorum
    )
    made = await store.insert(tx, new, opening)
    await enqueue(tx, DEADLINES, key_of(made.id, "end"), {"proposal_id": made.id}, made.ends_at)
    await record(tx, _created(made))
    return made


async def cancel(tx: Tx, agent: Agent, proposal_id: int) -> Proposal:
    """Cancel an own proposal while the vote is under way and no other agent has voted.

    Raises: ProposalUnknown, NotTheProposer, ProposalNotOpen, OthersVoted.
    """
    proposal = (await store.lock(tx, [proposal_id])).get(proposal_id)
    if proposal is None:
        raise ProposalUnknown
    have_others_voted = await store.have_others_voted(tx, proposal_id, agent.did)
    rules.require_cancellable(proposal, agent.did, await clock.now(tx), have_others_voted=have_others_voted)
    cancelled = await store.end(tx, proposal_id, "CANCELLED")
    if cancelled is None:
        raise ProposalNotOpen
    await record(tx, tallied(cancelled))
    return cancelled


async def _diff_of(tx: Tx, new: NewProposal, settings: Settings) -> dict[str, Any] | None:
    """The change that a proposal asks for in its canonical form: within the bounds, and from the values in force."""
    if new.policy_diff is None:
        return None
    diff = parameters.diff_of(new.policy_diff)
    await parameters.require_acceptable(tx, settings, diff)
    await parameters.require_current(tx, settings, diff)
    return parameters.diff_json(diff)


def _created(made: Proposal) -> ProposalCreated:
    return ProposalCreated(
        made.id,
        made.proposer_did,
        title=made.title,
        kind=made.kind,
        diff=made.policy_diff,
        end_timestamp=made.ends_at.isoformat(),
        eligible_weight=format_amount(made.eligible_weight),
        quorum_weight=format_amount(made.quorum_weight),
    )
