"""Reading of stakes: an agent its own, and anyone the totals."""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms.ledger.errors import AccountUnknown

from . import rules, store
from .figures import GlobalTotals, HistoryLine, Holdings, StakeGap, Stats
from .policy import StakingPolicy


async def read_holdings(tx: Tx, did: str) -> Holdings:
    """Raises: AccountUnknown."""
    found = await store.holdings(tx, did)
    if found is None:
        raise AccountUnknown
    return found


async def read_stakes(
    tx: Tx, did: str, policy: StakingPolicy, limit: int
) -> tuple[Stats, list[rules.Position], int]:
    """The stats of an agent with its first positions, and how many positions there are. Raises: AccountUnknown."""
    found = await read_holdings(tx, did)
    first, total = await store.page_of_positions(tx, found.account_id, limit=limit, offset=0)
    active = [position for position in first if position.remaining] if total <= limit else None
    return await _stats(tx, found, policy, active), first, total


async def read_positions(tx: Tx, did: str, *, limit: int, offset: int) -> tuple[list[rules.Position], int]:
    """A page of the agent's positions, and how many there are. Raises: AccountUnknown."""
    found = await read_holdings(tx, did)
    return await store.page_of_positions(tx, found.account_id, limit=limit, offset=offset)


async def read_history(tx: Tx, did: str, *, limit: int, offset: int) -> tuple[list[HistoryLine], int]:
    """Return a page of the agent's staking acts, newest first, and the number of all. Raises: AccountUnknown."""
    found = await read_holdings(tx, did)
    return await store.page_of_history(tx, found.account_id, limit=limit, offset=offset)


async def read_stats(tx: Tx, did: str, policy: StakingPolicy) -> Stats:
    """Raises: AccountUnknown."""
    return await _stats(tx, await read_holdings(tx, did), policy, None)


async def _stats(
    tx: Tx, found: Holdings, policy: StakingPolicy, active: Sequence[rules.Position] | None
) -> Stats:
    """The stats of an account; its active positions are read where the caller does not know them."""
    totals = await store.totals(tx, found.account_id)
    if not policy.pays_rewards:
        return Stats(found, totals, ZERO)
    if active is None:
        active = await store.active_positions(tx, found.account_id)
    earned = sum(rules.reward_of(position) for position in active)
    return Stats(found, totals, Minor(totals.reward_due + earned))


async def read_global_totals(tx: Tx) -> GlobalTotals:
    """The stakes of all agents together."""
    return await store.global_totals(tx)


async def stake_gaps(tx: Tx) -> list[StakeGap]:
    """The accounts whose staked balance and active positions disagree."""
    return await store.gaps(tx)
