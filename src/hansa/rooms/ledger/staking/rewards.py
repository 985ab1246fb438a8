"""Rewards of staked units: counted when a position is drawn from or its reward claimed, paid by the fee collector."""

from collections.abc import Sequence

import msgspec

from hansa.foundation.events import RewardsDistributed
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor, format_amount
from hansa.rooms import journal
from hansa.rooms.ledger import orders
from hansa.rooms.ledger.book import Book
from hansa.rooms.ledger.engine import apply

from . import rules, store
from .buckets import lock_own
from .policy import StakingPolicy


class Claim(msgspec.Struct, frozen=True):
    """Reward paid by a claim; `due` is the part that the fee collector could not cover. Without payment there is no transaction."""

    tx_id: int | None
    paid: Minor
    due: Minor
    liquid: Minor


async def claim_rewards(tx: Tx, agent: str, policy: StakingPolicy, book: Book) -> Claim:
    """Pay the rewards of the agent's stakes, limited by the balance of the fee collector.

    Raises: RewardsDisabled, AccountUnknown, AccountSuspended.
    """
    rules.require_rewards(policy)
    account = await lock_own(tx, agent)
    due = await count_rewards(tx, account.id, await store.active_positions(tx, account.id))
    if due == 0:
        return Claim(None, ZERO, ZERO, account.liquid)
    (result,) = await apply(tx, [orders.reward(book.fee_collector, agent, due)], book)
    if result.tx_id is None:
        return Claim(None, ZERO, due, account.liquid)
    assert result.credited is not None
    left = await store.take_reward(tx, account.id, result.moved)
    distributed = RewardsDistributed(
        tx_id=result.tx_id,
        from_=book.fee_collector,
        to=agent,
        amount=format_amount(result.moved),
        currency=book.currency,
    )
    await journal.append(tx, distributed)
    return Claim(result.tx_id, result.moved, left, result.credited)


async def count_rewards(tx: Tx, account_id: int, positions: Sequence[rules.Position]) -> Minor:
    """Count the rewards of these positions of a locked account as due, and return all that is due.

    Time that earned less than the smallest unit is not counted yet, so that nothing is lost by looking often.
    """
    earned = {position: rules.reward_of(position) for position in positions}
    counted = [position for position, reward in earned.items() if reward]
    return await store.count_reward(tx, account_id, sum(earned.values()), counted)
