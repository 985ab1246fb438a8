"""x402: stock clients of the protocol pay agents of this registry, with a wallet or with a payment token."""

from hansa.rooms.commerce.x402.judging import PaymentInvalid
from hansa.rooms.commerce.x402.networks import Networks
from hansa.rooms.commerce.x402.passing_on import PassedOn, pass_on, payment_required, presented
from hansa.rooms.commerce.x402.routes import router

__all__ = [
    "Networks",
    "PassedOn",
    "PaymentInvalid",
    "pass_on",
    "payment_required",
    "presented",
    "router",
]
