"""Witnesses (C2SP tlog-witness): this registry cosigns the logs of others, and asks witnesses to cosign its own."""

from .asking import ASK, ASK_SECONDS, ask_witnesses
from .cosigning import initialize_witness, replace_sealed_witness_key
from .routes import witness_router

__all__ = [
    "ASK",
    "ASK_SECONDS",
    "ask_witnesses",
    "initialize_witness",
    "replace_sealed_witness_key",
    "witness_router",
]
