"""Witnesses (C2SP tlog-witness): this registry cosigns the logs of others, and asks witnesses to cosign its own."""

from .asking import ASK, ASK_SECONDS, ask_witnesses, list_log_witnesses
from .keys import (
    SEALED_WITNESS_KEYS,
    forget_retired_witness_keys,
    initialize_witness,
    replace_sealed_witness_key,
    rotate_witness_key,
)
from .peer_logs import (
    FOLLOW,
    FOLLOW_SECONDS,
    PEER_KEYS,
    follow_in_turns,
    follow_peers,
    list_forks,
    withdraw_unstated_keys,
)
from .routes import cosigning_router, witness_router
from .schemas import LogForksOut, LogWitnessesOut, LogWitnessOut
from .silence import SHOW_SILENT_WITNESSES

__all__ = [
    "ASK",
    "ASK_SECONDS",
    "FOLLOW",
    "FOLLOW_SECONDS",
    "PEER_KEYS",
    "SEALED_WITNESS_KEYS",
    "SHOW_SILENT_WITNESSES",
    "LogForksOut",
    "LogWitnessOut",
    "LogWitnessesOut",
    "ask_witnesses",
    "cosigning_router",
    "follow_in_turns",
    "follow_peers",
    "forget_retired_witness_keys",
    "initialize_witness",
    "list_forks",
    "list_log_witnesses",
    "replace_sealed_witness_key",
    "rotate_witness_key",
    "withdraw_unstated_keys",
    "witness_router",
]
