"""Contracts: two agents agree on work; it is paid in the commit that approves it."""

from hansa.rooms.commerce.contracts.account_end import ACCOUNT_END_OF_CONTRACTS, require_unbound
from hansa.rooms.commerce.contracts.contract import Contract, Status
from hansa.rooms.commerce.contracts.deadlines import CONTRACT_DEADLINES
from hansa.rooms.commerce.contracts.disputing import (
    award,
    close,
    dispute,
    held_for,
    restore,
)
from hansa.rooms.commerce.contracts.errors import ContractUnknown, DeadlinePassed, WrongState
from hansa.rooms.commerce.contracts.moves import require_in_time, take
from hansa.rooms.commerce.contracts.reading import open_contracts_of, shown
from hansa.rooms.commerce.contracts.routes import router
from hansa.rooms.commerce.contracts.rules import require_state
from hansa.rooms.commerce.contracts.store import counts, find, now, paid_by
from hansa.rooms.commerce.contracts.suspension import CONTRACTS_FOLLOW, CONTRACTS_OF_REVOKED

__all__ = [
    "ACCOUNT_END_OF_CONTRACTS",
    "CONTRACTS_FOLLOW",
    "CONTRACTS_OF_REVOKED",
    "CONTRACT_DEADLINES",
    "Contract",
    "ContractUnknown",
    "DeadlinePassed",
    "Status",
    "WrongState",
    "award",
    "close",
    "counts",
    "dispute",
    "find",
    "held_for",
    "now",
    "open_contracts_of",
    "paid_by",
    "require_in_time",
    "require_state",
    "require_unbound",
    "restore",
    "router",
    "shown",
    "take",
]
