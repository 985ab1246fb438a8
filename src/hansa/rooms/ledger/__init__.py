"""The book: accounts, postings, fees, issuance, staking."""

from hansa.rooms.ledger.accounts import Balance, balance_of, circulating, open_account
from hansa.rooms.ledger.batch import GroupCommit, Told
from hansa.rooms.ledger.book import Book
from hansa.rooms.ledger.errors import (
    AccountSuspended,
    AccountUnknown,
    InsufficientBalance,
    SelfTransfer,
    SystemAccountRefused,
)
from hansa.rooms.ledger.issue import Minted, found_book, grant, issue, mint
from hansa.rooms.ledger.posting import Preview, Receipt, TransferOrder, transfer
from hansa.rooms.ledger.routes import router
from hansa.rooms.ledger.rules import FeePolicy

__all__ = [
    "AccountSuspended",
    "AccountUnknown",
    "Balance",
    "Book",
    "FeePolicy",
    "GroupCommit",
    "InsufficientBalance",
    "Minted",
    "Preview",
    "Receipt",
    "SelfTransfer",
    "SystemAccountRefused",
    "Told",
    "TransferOrder",
    "balance_of",
    "circulating",
    "found_book",
    "grant",
    "issue",
    "mint",
    "open_account",
    "router",
    "transfer",
]
