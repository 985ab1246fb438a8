"""Compounding: rewards of positions that ask for it are added to them, once a day and as far as the fee collector covers them.

- An account is one transaction: its lock is held while rewards are counted, paid and added, so that no claim and no second run pays
  the same seconds. A run that was interrupted goes on with the accounts that still have a reward of a day.
- What is added has the lock and the tier of its position, and earns from that moment on.
- What is not covered of a position's reward stays due and is paid by a claim. A collector that is empty ends the run: nothing is counted.
"""

from functools import partial
from typing import Protocol

import structlog

from hansa.foundation.events import RewardCompounded, RewardsAutoCompounded
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.jobs import scheduled
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Unavailable
from hansa.foundation.values.money import ZERO, Minor, format_amount
from hansa.rooms import journal
from hansa.rooms.ledger import orders
from hansa.rooms.ledger.book import Book
from hansa.rooms.ledger.store import lock_accounts

from . import rules, store
from .errors import PositionReleased
from .policy import StakingPolicy
from .positions import lock_own, pay_from_fees

EVERY_SECONDS = 3600
"""A position is compounded once its reward is a day old; a run looks for such positions more often."""
ACCOUNTS_AT_ONCE = 200

_log = structlog.get_logger()


class KeptActive(Protocol):
    """Check of an agent before its stakes grow."""

    async def __call__(self, tx: Tx, did: str, /) -> bool:
        """Return whether the agent is active, and keep it so until the transaction ends."""


KEPT_ACTIVE: Slot[KeptActive] = Slot("ledger: agents kept active")


async def set_auto_compound(
    tx: Tx, agent: str, position_id: str, policy: StakingPolicy, *, auto_compound: bool
) -> rules.Position:
    """Let the rewards of an active position be added to it, or no longer.

    Raises: StakingDisabled, AccountUnknown, AccountSuspended, PositionUnknown, PositionReleased.
    """
    if auto_compound:
        rules.require_open(policy)
    number = rules.position_number(position_id)
    account = await lock_own(tx, agent)
    is_set = await store.set_compounding(tx, account.id, number, auto_compound=auto_compound)
    position = rules.require_known(await store.find_position(tx, account.id, number))
    if not is_set:
        raise PositionReleased
    return position


async def compound(tx: Tx, agent: str, settings: Settings, kept_active: KeptActive) -> Minor | None:
    """Add the rewards of an agent's compounding positions to them; returns their sum, None where nothing more is to be paid.

    Nothing is added of an agent that is suspended or revoked.
    """
    policy = StakingPolicy.of(await parameters.in_force(tx, settings))
    if not (policy.is_open and policy.pays_rewards):
        return None
    if not await kept_active(tx, agent):
        return ZERO
    account = (await lock_accounts(tx, [agent]))[agent]
    if not account.is_active:
        return ZERO
    positions = await store.active_positions(tx, account.id)
    earning = [one for one in positions if one.auto_compound and rules.reward_of(one)]
    if not earning:
        return ZERO
    earned = Minor(sum(rules.reward_of(one) for one in earning))
    book, only = Book.of(settings), earning[0].position_id if len(earning) == 1 else None
    result = await pay_from_fees(tx, orders.compound(book.fee_collector, agent, earned, only), book)
    if result.tx_id is None:
        return None
    added = rules.compounded(earning, result.moved)
    await store.compound(tx, account.id, added)
    counted = sum(rules.reward_of(one.position) for one in added)
    if counted > result.moved:
        await store.count_reward(tx, account.id, counted - result.moved, [])
    compounded = RewardsAutoCompounded(
        tx_id=result.tx_id,
        from_=book.fee_collector,
        account=agent,
        amount=format_amount(result.moved),
        currency=book.currency,
        positions=[RewardCompounded(one.position.position_id, format_amount(one.added)) for one in added],
    )
    await journal.append(tx, compounded)
    return result.moved


async def compound_all(runtime: Runtime) -> int:
    """Compound each account that has a reward of a day, each in a transaction; returns how many grew."""
    grown, last = 0, 0
    while due := await runtime.database.read(
        partial(store.due_to_compound, after=last, most=ACCOUNTS_AT_ONCE)
    ):
        for account in due:
            added = await _compounded(runtime, account["did"])
            if added is None:
                return grown
            grown += added > 0
        last = due[-1]["id"]
    return grown


async def _compounded(runtime: Runtime, agent: str) -> Minor | None:
    """Compound one account; one that fails stops no other."""
    kept_active = KEPT_ACTIVE.of(runtime)
    try:
        return await runtime.database.transaction(
            lambda tx: compound(tx, agent, runtime.settings, kept_active)
        )
    except Unavailable:
        raise
    except Exception as failure:  # noqa: BLE001
        _log.error("ledger.stake_not_compounded", account=agent, error=str(failure))
        return ZERO


COMPOUND_REWARDS = scheduled(
    "staking: compound rewards", EVERY_SECONDS, compound_all, store.has_due_to_compound
)
