"""Witnesses (C2SP tlog-witness): this registry cosigns the logs of others, and asks witnesses to cosign its own."""

from .asking import ASK, ASK_SECONDS, ask_witnesses, list_log_witnesses
from .keys import (
    forget_retired_witness_keys,
    initialize_witness,
    replace_sealed_witness_key,
    rotate_witness_key,
)
from .routes import witness_router
from .schemas import LogWitnessesOut, LogWitnessOut

__all__ = [
    "ASK",
    "ASK_SECONDS",
    "LogWitnessOut",
    "LogWitnessesOut",
    "ask_witnesses",
    "forget_retired_witness_keys",
    "initialize_witness",
    "list_log_witnesses",
    "replace_sealed_witness_key",
    "rotate_witness_key",
    "witness_router",
]
