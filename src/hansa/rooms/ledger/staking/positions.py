"""Positions: units of an account set aside for a lock period of 0 to 365 days, and released when it has ended.

Rewards are counted when a position is drawn from or its reward claimed, paid by the fee collector.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from hansa.foundation.events import PositionDrawn, RewardsDistributed, TokensStaked, TokensUnstaked
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor, format_amount
from hansa.rooms import journal
from hansa.rooms.ledger import orders
from hansa.rooms.ledger.book import Book
from hansa.rooms.ledger.engine import Result, apply
from hansa.rooms.ledger.errors import AccountUnknown
from hansa.rooms.ledger.rules import Account, require_active
from hansa.rooms.ledger.store import lock_accounts

from . import rules, store
from .errors import StakePinned
from .pins import PinnedUntil
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


async def unstake(tx: Tx, order: UnstakeOrder, book: Book, pinned_until: PinnedUntil) -> UnstakeReceipt:
    """Release units; rewards earned so far stay due.

    Raises: AccountUnknown, AccountSuspended, PositionUnknown, PositionLocked, InsufficientUnlockedStake, StakePinned.
    """
    account = await lock_own(tx, order.agent)
    draws = await _decide(tx, account.id, order)
    await count_rewards(tx, account.id, [one.position for one in draws])
    await store.draw(tx, account.id, draws)
    only = draws[0].position.position_id if len(draws) == 1 else None
    (result,) = await apply(tx, [orders.unstake(order.agent, order.amount, only)], book)
    assert result.tx_id is not None
    assert result.credited is not None
    if (until := await pinned_until(tx, order.agent, result.balance)) is not None:
        raise StakePinned(context={"until": until.isoformat()})
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


async def release_unlocked(
    tx: Tx, agent: str, policy: StakingPolicy, book: Book, pinned_until: PinnedUntil
) -> None:
    """Release all stakes of an agent whose lock has ended, and pay its rewards where rewards are paid.

    Raises: AccountUnknown, AccountSuspended, StakePinned.
    """
    account = await lock_own(tx, agent)
    unlocked = [one for one in await store.active_positions(tx, account.id) if one.is_unlocked]
    if unlocked:
        amount = Minor(sum(one.remaining for one in unlocked))
        await unstake(tx, UnstakeOrder(agent, amount), book, pinned_until)
    if policy.pays_rewards:
        await claim_rewards(tx, agent, policy, book)


async def _decide(tx: Tx, account_id: int, order: UnstakeOrder) -> list[rules.Draw]:
    if order.position_id is None:
        return rules.draw_oldest_first(await store.active_positions(tx, account_id), order.amount)
    number = rules.position_number(order.position_id)
    return rules.draw_from(await store.find_position(tx, account_id, number), order.amount)


class Claim(msgspec.Struct, frozen=True):
    """Reward paid by a claim; `due` is the part that the fee collector could not cover. Without payment there is no transaction."""

    tx_id: int | None
    paid: Minor
    due: Minor
    liquid: Minor


async def claim_rewards(tx: Tx, agent: str, policy: StakingPolicy, book: Book) -> Claim:
    """Pay the rewards of the agent's stakes, limited by what the accounts that collect fees hold.

    Raises: RewardsDisabled, AccountUnknown, AccountSuspended.
    """
    rules.require_rewards(policy)
    account = await lock_own(tx, agent)
    due = await count_rewards(tx, account.id, await store.active_positions(tx, account.id))
    if due == 0:
        return Claim(None, ZERO, ZERO, account.liquid)
    result = await pay_from_fees(tx, orders.reward(book.fee_collector, agent, due), book)
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


async def pay_from_fees(tx: Tx, order: orders.Order, book: Book) -> Result:
    """Carry out an order of the fee collector as far as all accounts that collect fees cover it."""
    gathered = await store.collectors_to_gather(tx, book.fee_collector, Minor(order.amount))
    given = [orders.gather(collector, book.fee_collector, Minor(order.amount)) for collector in gathered]
    *_, result = await apply(tx, [*given, order], book)
    return result


async def count_rewards(tx: Tx, account_id: int, positions: Sequence[rules.Position]) -> Minor:
    """Count the rewards of these positions of a locked account as due, and return all that is due.

    Time that earned less than the smallest unit is not counted yet, so that nothing is lost by looking often.
    """
    earned = {position: rules.reward_of(position) for position in positions}
    counted = [position for position, reward in earned.items() if reward]
    return await store.count_reward(tx, account_id, sum(earned.values()), counted)


async def lock_own(tx: Tx, did: str) -> Account:
    """The agent's account, locked until the transaction ends. Raises: AccountUnknown, AccountSuspended."""
    account = (await lock_accounts(tx, [did])).get(did)
    if account is None:
        raise AccountUnknown
    require_active([account])
    return account
