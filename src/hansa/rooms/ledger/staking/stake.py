"""Setting units of an account aside, for a lock period of 0 to 365 days."""

from datetime import datetime

import msgspec

from hansa.foundation.events import TokensStaked
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import journal
from hansa.rooms.ledger import orders
from hansa.rooms.ledger.book import Book
from hansa.rooms.ledger.engine import apply

from . import rules, store
from .buckets import lock_own
from .policy import StakingPolicy


class StakeOrder(msgspec.Struct, frozen=True):
    """Stake that an agent asks for; `lock_period` in days."""

    agent: str
    amount: Minor
    lock_period: int


class StakeReceipt(msgspec.Struct, frozen=True):
    """Receipt of a stake: the position, and the balances after it."""

    tx_id: int
    position: rules.Position
    liquid: Minor
    staked: Minor
    recorded_at: datetime


async def stake(tx: Tx, order: StakeOrder, policy: StakingPolicy, book: Book) -> StakeReceipt:
    """Open a position.

    Raises: StakingDisabled, StakeBelowMinimum, AccountUnknown, AccountSuspended, InsufficientBalance,
    TooManyPositions.
    """
    rules.require_open(policy)
    rules.require_minimum(order.amount, policy)
    account = await lock_own(tx, order.agent)
    position = await store.open_position(tx, account.id, order.amount, order.lock_period)
    moved = orders.stake(order.agent, order.amount, position.position_id)
    (result,) = await apply(tx, [moved], book, uncovered=rules.uncovered)
    rules.require_room(await store.count_active(tx, account.id) - 1)
    assert result.tx_id is not None
    assert result.credited is not None
    staked = TokensStaked(
        tx_id=result.tx_id,
        account=order.agent,
        position_id=position.position_id,
        amount=format_amount(order.amount),
        currency=book.currency,
        lock_period=order.lock_period,
        unlocks_at=position.unlocks_at.isoformat(),
    )
    await journal.append(tx, staked)
    return StakeReceipt(result.tx_id, position, result.balance, result.credited, result.recorded_at)
