"""The book: accounts, postings, fees, issuing and destroying units, staking."""

from hansa.rooms.ledger import orders
from hansa.rooms.ledger.accounts import (
    BALANCES,
    WRITTEN_TRANSACTIONS,
    Balance,
    balance_of,
    circulating,
    newest_transaction,
    open_account,
)
from hansa.rooms.ledger.administering import grant_by_administrator, issue_by_administrator
from hansa.rooms.ledger.batch import GroupCommit, OrderAnswer
from hansa.rooms.ledger.book import Book
from hansa.rooms.ledger.closing import AccountHoldsUnits, close_account
from hansa.rooms.ledger.descriptor import GROUP_COMMIT, ROOM
from hansa.rooms.ledger.destroy import destroy
from hansa.rooms.ledger.engine import Result, apply
from hansa.rooms.ledger.errors import (
    AccountSuspended,
    AccountUnknown,
    HoldEnded,
    HoldExpired,
    InsufficientBalance,
    MintTooLarge,
    OrderRefused,
    SelfTransfer,
    SupplyExhausted,
    SystemAccountRefused,
)
from hansa.rooms.ledger.extensions import ClaimRefused, Extension
from hansa.rooms.ledger.holds import (
    HoldOrder,
    capture_hold,
    expire_hold,
    extend_hold,
    free_overdue_holds,
    freeze_hold,
    open_hold,
    read_hold,
    read_holds,
    read_open_holds,
    release_hold,
    thaw_hold,
)
from hansa.rooms.ledger.holds_store import EscrowGap, Hold, escrow_gaps
from hansa.rooms.ledger.issue import grant, initialize_ledger, issue, mint, require_issuable
from hansa.rooms.ledger.orders import Capture, NewHold, Order, TransferOrder
from hansa.rooms.ledger.payments import PaymentMade, PaymentOrder, find_payment, payment_line
from hansa.rooms.ledger.posting import (
    Preview,
    Receipt,
    fee_of,
    is_of_receipts,
    kept_receipts,
    preview,
    transfer,
    transfer_all,
)
from hansa.rooms.ledger.rules import DISPUTE_REFERENCE, FeePolicy, uncovered
from hansa.rooms.ledger.staking import (
    Holdings,
    Position,
    StakeGap,
    StakingPolicy,
    read_holdings,
    read_positions,
    stake_gaps,
)
from hansa.rooms.ledger.statement import Line, StatementFilter, as_csv, lines_of
from hansa.rooms.ledger.suspension import reinstate_accounts, suspend_accounts
from hansa.rooms.ledger.treasury import SupplyChange

__all__ = [
    "BALANCES",
    "DISPUTE_REFERENCE",
    "GROUP_COMMIT",
    "ROOM",
    "WRITTEN_TRANSACTIONS",
    "AccountHoldsUnits",
    "AccountSuspended",
    "AccountUnknown",
    "Balance",
    "Book",
    "Capture",
    "ClaimRefused",
    "EscrowGap",
    "Extension",
    "FeePolicy",
    "GroupCommit",
    "Hold",
    "HoldEnded",
    "HoldExpired",
    "HoldOrder",
    "Holdings",
    "InsufficientBalance",
    "Line",
    "MintTooLarge",
    "NewHold",
    "Order",
    "OrderAnswer",
    "OrderRefused",
    "PaymentMade",
    "PaymentOrder",
    "Position",
    "Preview",
    "Receipt",
    "Result",
    "SelfTransfer",
    "StakeGap",
    "StakingPolicy",
    "StatementFilter",
    "SupplyChange",
    "SupplyExhausted",
    "SystemAccountRefused",
    "TransferOrder",
    "apply",
    "as_csv",
    "balance_of",
    "capture_hold",
    "circulating",
    "close_account",
    "destroy",
    "escrow_gaps",
    "expire_hold",
    "extend_hold",
    "fee_of",
    "find_payment",
    "free_overdue_holds",
    "freeze_hold",
    "grant",
    "grant_by_administrator",
    "initialize_ledger",
    "is_of_receipts",
    "issue",
    "issue_by_administrator",
    "kept_receipts",
    "lines_of",
    "mint",
    "newest_transaction",
    "open_account",
    "open_hold",
    "orders",
    "payment_line",
    "preview",
    "read_hold",
    "read_holdings",
    "read_holds",
    "read_open_holds",
    "read_positions",
    "reinstate_accounts",
    "release_hold",
    "require_issuable",
    "stake_gaps",
    "suspend_accounts",
    "thaw_hold",
    "transfer",
    "transfer_all",
    "uncovered",
]
