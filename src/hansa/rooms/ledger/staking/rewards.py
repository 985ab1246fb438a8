"""What staked units earn: counted when a position is drawn from or its reward claimed, paid by the fee collector."""

from collections.abc import Sequence
from dataclasses import dataclass

from hansa.foundation.events import RewardsDistributed
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.metrics import postings_total
from hansa.foundation.words.money import ZERO, Minor, format_amount
from hansa.rooms import journal
from hansa.rooms.ledger.book import Book
from hansa.rooms.ledger.posting import balance_changed
from hansa.rooms.ledger.rules import Account
from hansa.rooms.ledger.store import Posting, lock_accounts, post

from . import rules, store
from .buckets import lock_own
from .policy import StakingPolicy


@dataclass(frozen=True)
class Claim:
    """What a claim paid; `due` is what the fee collector could not cover. Without payment there is no transaction."""

    tx_id: int | None
    paid: Minor
    due: Minor
    liquid: Minor


async def claim_rewards(tx: Tx, agent: str, policy: StakingPolicy, book: Book) -> Claim:
    """Pay what the agent's stakes earned, as far as the fee collector's balance reaches.

    Raises: RewardsDisabled, AccountUnknown, AccountSuspended.
    """
    rules.require_rewards(policy)
    account = await lock_own(tx, agent)
    due = await count_rewards(tx, account.id, await store.active_positions(tx, account.id))
    if due == 0:
        return Claim(None, ZERO, ZERO, account.liquid)
    collector = (await lock_accounts(tx, [book.fee_collector]))[book.fee_collector]
    paid = rules.payable(due, collector.liquid)
    if paid == 0:
        return Claim(None, ZERO, due, account.liquid)
    left = await store.take_reward(tx, account.id, paid)
    return await _pay(tx, account, collector, book, paid=paid, left=left)


async def count_rewards(tx: Tx, account_id: int, positions: Sequence[rules.Position]) -> Minor:
    """Add what these positions of a locked account earned to what is due; returns all that is due.

    Time that earned less than the smallest unit is not counted yet, so that nothing is lost by looking often.
    """
    earned = {position: rules.reward_of(position) for position in positions}
    counted = [position for position, reward in earned.items() if reward]
    return await store.count_reward(tx, account_id, sum(earned.values()), counted)


async def _pay(
    tx: Tx, account: Account, collector: Account, book: Book, *, paid: Minor, left: Minor
) -> Claim:
    posted = await post(
        tx,
        Posting(
            tx_type="reward",
            payer_id=collector.id,
            payee_id=account.id,
            amount=paid,
            movements=[(account.did, paid)],
            own_movements=[(collector.did, -paid)],
        ),
    )
    distributed = RewardsDistributed(
        tx_id=posted.tx_id,
        from_=collector.did,
        to=account.did,
        amount=format_amount(paid),
        currency=book.currency,
    )
    await journal.append(tx, balance_changed(posted, "reward", book), distributed)
    postings_total.labels("reward").inc()
    return Claim(posted.tx_id, paid, left, posted.balance_after(account.did))
