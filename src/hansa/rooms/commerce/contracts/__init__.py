"""Contracts: two agents agree on work; it is paid in the commit that approves it."""

from hansa.rooms.commerce.contracts.account_end import ACCOUNT_END_OF_CONTRACTS, require_unbound
from hansa.rooms.commerce.contracts.deadlines import CONTRACT_DEADLINES
from hansa.rooms.commerce.contracts.reading import open_business
from hansa.rooms.commerce.contracts.records import OpenBusiness
from hansa.rooms.commerce.contracts.routes import router
from hansa.rooms.commerce.contracts.suspension import CONTRACTS_FOLLOW, CONTRACTS_OF_REVOKED

__all__ = [
    "ACCOUNT_END_OF_CONTRACTS",
    "CONTRACTS_FOLLOW",
    "CONTRACTS_OF_REVOKED",
    "CONTRACT_DEADLINES",
    "OpenBusiness",
    "open_business",
    "require_unbound",
    "router",
]
