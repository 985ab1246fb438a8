"""Releasing staked units whose lock has ended."""

from datetime import datetime

import msgspec

from hansa.foundation.events import PositionDrawn, TokensUnstaked
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import journal
from hansa.rooms.ledger import orders
from hansa.rooms.ledger.book import Book
from hansa.rooms.ledger.engine import apply

from . import rules, store
from .buckets import lock_own
from .rewards import count_rewards


class UnstakeOrder(msgspec.Struct, frozen=True):
    """Release that an agent asks for; without a position its unlocked ones are drawn from, oldest first."""

    agent: str
    amount: Minor
    position_id: str | None = None


class UnstakeReceipt(msgspec.Struct, frozen=True):
    """Receipt of a release: the draws, and the balances after it."""

    tx_id: int
    amount: Minor
    draws: list[rules.Draw]
    liquid: Minor
    staked: Minor
    recorded_at: datetime


async def unstake(tx: Tx, order: UnstakeOrder, book: Book) -> UnstakeReceipt:
    """Release units; rewards earned so far stay due.

    Raises: AccountUnknown, AccountSuspended, PositionUnknown, PositionLocked, InsufficientUnlockedStake.
    """
    account = await lock_own(tx, order.agent)
    draws = await _decide(tx, account.id, order)
    await count_rewards(tx, account.id, [one.position for one in draws])
    await store.draw(tx, account.id, draws)
    only = draws[0].position.position_id if len(draws) == 1 else None
    (result,) = await apply(tx, [orders.unstake(order.agent, order.amount, only)], book)
    assert result.tx_id is not None
    assert result.credited is not None
    unstaked = TokensUnstaked(
        tx_id=result.tx_id,
        account=order.agent,
        amount=format_amount(order.amount),
        currency=book.currency,
        positions=[PositionDrawn(one.position.position_id, format_amount(one.amount)) for one in draws],
    )
    await journal.append(tx, unstaked)
    return UnstakeReceipt(
        result.tx_id, order.amount, draws, result.credited, result.balance, result.recorded_at
    )


async def _decide(tx: Tx, account_id: int, order: UnstakeOrder) -> list[rules.Draw]:
    if order.position_id is None:
        return rules.draw_oldest_first(await store.active_positions(tx, account_id), order.amount)
    number = rules.position_number(order.position_id)
    return rules.draw_from(await store.find_position(tx, account_id, number), order.amount)
