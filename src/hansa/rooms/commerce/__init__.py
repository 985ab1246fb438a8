"""Commerce: paid calls by payment tokens; contracts and disputes stand beside them."""

from hansa.rooms.commerce.contracts import (
    CONTRACT_DEADLINES,
    CONTRACTS_FOLLOW,
    CONTRACTS_OF_REVOKED,
    open_contracts_of,
)
from hansa.rooms.commerce.contracts import router as contracts_router

__all__ = [
    "CONTRACTS_FOLLOW",
    "CONTRACTS_OF_REVOKED",
    "CONTRACT_DEADLINES",
    "contracts_router",
    "open_contracts_of",
]
