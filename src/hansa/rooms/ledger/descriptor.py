"""Descriptor of the ledger for the process."""

from hansa.foundation.plumbing.jobs import scheduled
from hansa.foundation.plumbing.room import Room, Routes
from hansa.foundation.plumbing.telemetry.metrics import (
    batch_seconds,
    batch_size,
    postings_total,
    transfers_waiting,
)
from hansa.rooms import journal

from .history import count_of_account, held_balances, keys_of_account
from .holds import HAS_OVERDUE, free_overdue_holds
from .routes import router
from .staking import COMPOUND_REWARDS, KEPT_ACTIVE, STAKE_PINS

ROOM = Room(
    name="ledger",
    routes=(Routes(1900, router),),
    jobs=(scheduled("ledger: free overdue holds", 10, free_overdue_holds, HAS_OVERDUE), COMPOUND_REWARDS),
    settings=frozenset(
        {
            "did_method",
            "fee_base_rate_percent",
            "fee_max_rate_percent",
            "governed",
            "settlement_currency",
            "staking_enabled",
            "staking_min_stake_amount",
            "staking_rewards_enabled",
            "is_operator",
            "ledger_id",
        }
    ),
    metrics=(batch_seconds, batch_size, postings_total, transfers_waiting),
    offers=(KEPT_ACTIVE, STAKE_PINS),
    fills=(
        journal.LEDGER_READINGS.filled_with(
            journal.LedgerReadings(
                keys_of_account=keys_of_account,
                count_of_account=count_of_account,
                balances=held_balances,
            )
        ),
    ),
)
