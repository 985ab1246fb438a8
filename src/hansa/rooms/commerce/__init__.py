"""Commerce: paid calls by payment tokens; contracts and disputes stand beside them."""

from hansa.rooms.commerce.payments import (
    Settlements,
    Verifier,
    expire_due_tokens,
    hot_router,
    resume_settlements,
    router,
)

__all__ = [
    "Settlements",
    "Verifier",
    "expire_due_tokens",
    "hot_router",
    "resume_settlements",
    "router",
]
