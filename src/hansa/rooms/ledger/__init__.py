"""The book: accounts, postings, fees, issuing and destroying units, staking."""

from hansa.rooms.ledger.accounts import (
    BALANCES,
    WRITTEN_TRANSACTIONS,
    Balance,
    balance_of,
    circulating,
    newest_transaction,
    open_account,
)
from hansa.rooms.ledger.batch import GroupCommit, Told
from hansa.rooms.ledger.book import Book
from hansa.rooms.ledger.closing import AccountHoldsUnits, close_account
from hansa.rooms.ledger.destroy import destroy
from hansa.rooms.ledger.errors import (
    AccountSuspended,
    AccountUnknown,
    InsufficientBalance,
    SelfTransfer,
    SystemAccountRefused,
)
from hansa.rooms.ledger.history import count_of_account, held_balances, keys_of_account
from hansa.rooms.ledger.issue import found_book, grant, issue, mint
from hansa.rooms.ledger.posting import Preview, Receipt, TransferOrder, preview, transfer
from hansa.rooms.ledger.routes import router
from hansa.rooms.ledger.rules import FeePolicy
from hansa.rooms.ledger.staking import StakeGap, stake_gaps
from hansa.rooms.ledger.suspension import reinstate_accounts, suspend_accounts
from hansa.rooms.ledger.treasury import SupplyChange

__all__ = [
    "BALANCES",
    "WRITTEN_TRANSACTIONS",
    "AccountHoldsUnits",
    "AccountSuspended",
    "AccountUnknown",
    "Balance",
    "Book",
    "FeePolicy",
    "GroupCommit",
    "InsufficientBalance",
    "Preview",
    "Receipt",
    "SelfTransfer",
    "StakeGap",
    "SupplyChange",
    "SystemAccountRefused",
    "Told",
    "TransferOrder",
    "balance_of",
    "circulating",
    "close_account",
    "count_of_account",
    "destroy",
    "found_book",
    "grant",
    "held_balances",
    "issue",
    "keys_of_account",
    "mint",
    "newest_transaction",
    "open_account",
    "preview",
    "reinstate_accounts",
    "router",
    "stake_gaps",
    "suspend_accounts",
    "transfer",
]
