"""Reading of proposals and votes, which everybody may, and of an agent's voting power."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms import ledger

from . import store
from .errors import ProposalUnknown
from .records import OwnVote, Power, Proposal, Vote

UNDECIDED_SHOWN = 100


async def read_proposal(tx: Tx, proposal_id: int) -> Proposal:
    """One proposal. Raises: ProposalUnknown."""
    proposal = await store.find(tx, proposal_id)
    if proposal is None:
        raise ProposalUnknown
    return proposal


async def read_proposals(tx: Tx, *, with_closed: bool, limit: int, offset: int) -> tuple[list[Proposal], int]:
    """A page of the proposals, the newest first, and how many there are."""
    return await store.page(tx, with_closed=with_closed, limit=limit, offset=offset)


async def read_votes(tx: Tx, proposal_id: int, *, limit: int, offset: int) -> tuple[list[Vote], int]:
    """A page of the votes on a proposal, the newest first, and how many there are. Raises: ProposalUnknown."""
    found = await store.page_of_votes(tx, proposal_id, limit=limit, offset=offset)
    if found is None:
        raise ProposalUnknown
    return found


async def read_own_vote(tx: Tx, proposal: Proposal, did: str) -> OwnVote:
    """Weight and vote of an agent. Raises: AccountUnknown."""
    stake, vote = await read_together(
        tx,
        lambda tx: ledger.read_stake(tx, did, proposal.snapshot_at),
        lambda tx: store.vote_of(tx, proposal.id, did),
    )
    return OwnVote(stake.lasting, vote)


async def read_undecided(tx: Tx) -> list[Proposal]:
    """The proposals that an administrator may decide on: open ones, and passed changes that wait or are scheduled."""
    return await store.undecided(tx, UNDECIDED_SHOWN)


async def read_power(tx: Tx, did: str) -> Power:
    """The stake of an agent, and the part that its votes pin. Raises: AccountUnknown."""
    holdings = await ledger.read_holdings(tx, did)
    return await store.power_of(tx, did, holdings.staked)
