"""Moving units between the two buckets of one account: what stakes and releases share."""

from hansa.foundation.events import Entry, LedgerBalanceChanged
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.metrics import postings_total
from hansa.foundation.words.money import format_amount
from hansa.rooms.ledger.book import Book
from hansa.rooms.ledger.errors import AccountUnknown
from hansa.rooms.ledger.rules import Account, require_active
from hansa.rooms.ledger.store import lock_accounts

from . import store


async def lock_own(tx: Tx, did: str) -> Account:
    """The agent's account, locked until the transaction ends. Raises: AccountUnknown, AccountSuspended."""
    account = (await lock_accounts(tx, [did])).get(did)
    if account is None:
        raise AccountUnknown
    require_active([account])
    return account


async def shift(
    tx: Tx, account: Account, *, tx_type: str, delta: int, book: Book, ref: str | None
) -> tuple[store.Shift, LedgerBalanceChanged]:
    """Write the move of `delta` from liquid to staked (back when negative); returns it with the event that tells it."""
    written = await store.shift(tx, account.id, tx_type=tx_type, delta=delta, ref=ref)
    postings_total.labels(tx_type).inc()
    sides = [("liquid", -delta, written.liquid), ("staked", delta, written.staked)]
    entries = [
        Entry(account.did, bucket, format_amount(moved), format_amount(after))
        # The side that gives comes first: that is how a posting is read.
        for bucket, moved, after in sorted(sides, key=lambda side: side[1])
    ]
    return written, LedgerBalanceChanged(
        frame=book.frame,
        tx_id=written.tx_id,
        tx_type=tx_type,
        currency=book.currency,
        entries=entries,
        fee="0",
        memo=ref,
    )
