"""Contracts: two agents agree on work; it is paid in the commit that approves it."""

from hansa.rooms.commerce.contracts.deadlines import CONTRACT_DEADLINES
from hansa.rooms.commerce.contracts.reading import open_contracts_of
from hansa.rooms.commerce.contracts.routes import router
from hansa.rooms.commerce.contracts.suspension import CONTRACTS_FOLLOW, CONTRACTS_OF_REVOKED

__all__ = ["CONTRACTS_FOLLOW", "CONTRACTS_OF_REVOKED", "CONTRACT_DEADLINES", "open_contracts_of", "router"]
