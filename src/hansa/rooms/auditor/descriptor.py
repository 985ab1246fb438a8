"""Descriptor of the auditor for the process."""

from hansa.foundation.plumbing.jobs import scheduled, sweep
from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.room import Room, Routes
from hansa.foundation.plumbing.telemetry.metrics import (
    audit_checked,
    audit_status,
    supply_delta,
    witness_silent,
)
from hansa.rooms import catalogue, federation, transfers

from .alarm import NOTICE
from .attestations import SEALED_AUDITOR_KEYS, admin_router, forget_retired_keys, present_kids, root_router
from .card_figures import last_audit
from .cross_registry import agreed_at, compare_with_peers
from .cross_registry import peer_router as totals_router
from .cross_registry import router as across_router
from .cycle import CYCLE, CYCLE_SECONDS, run_cycle, show_last_audit
from .liabilities import balance_proof_router, liabilities_router
from .routes import router
from .solvency import solvency_router
from .transparency import log_router, prove_statements, tile_router
from .witnessing import (
    ASK,
    ASK_SECONDS,
    FOLLOW,
    FOLLOW_SECONDS,
    PEER_KEYS,
    SEALED_WITNESS_KEYS,
    SHOW_SILENT_WITNESSES,
    ask_witnesses,
    cosigning_router,
    follow_in_turns,
    forget_retired_witness_keys,
    withdraw_unstated_keys,
    witness_router,
)

ROOM = Room(
    name="auditor",
    routes=(
        Routes(2300, router),
        Routes(2310, admin_router),
        Routes(2330, across_router),
        Routes(2340, totals_router),
        Routes(2320, balance_proof_router),
        Routes(3600, root_router, at_root=True),
        Routes(3610, log_router, at_root=True),
        Routes(3611, tile_router, at_root=True),
        Routes(3620, liabilities_router, at_root=True),
        Routes(3625, solvency_router, at_root=True),
        Routes(3630, cosigning_router, at_root=True),
        Routes(3631, witness_router, at_root=True),
    ),
    jobs=(
        NOTICE,
        scheduled(CYCLE, CYCLE_SECONDS, run_cycle),
        scheduled("auditor: compare totals with peers", CYCLE_SECONDS, compare_with_peers),
        scheduled(ASK, ASK_SECONDS, ask_witnesses),
        scheduled(FOLLOW, FOLLOW_SECONDS, follow_in_turns),
        PEER_KEYS,
        sweep("auditor: forget retired keys", 3600, forget_retired_keys),
        sweep("auditor: forget retired keys of the witness", 3600, forget_retired_witness_keys),
    ),
    rounds=(PeriodicTask("auditor: show the last audit", 15, show_last_audit), SHOW_SILENT_WITNESSES),
    settings=frozenset(
        {
            "base_url",
            "exchange_enabled",
            "log_witnesses",
            "registry_name",
            "settlement_currency",
            "is_operator",
            "ledger_id",
            "trust_domain",
            "witnessed_logs",
        }
    ),
    sealed=(SEALED_AUDITOR_KEYS, SEALED_WITNESS_KEYS),
    fills=(
        catalogue.PROVE_IN_LOG.filled_with(prove_statements),
        federation.AUDITOR_KIDS.filled_with(present_kids),
        federation.LAST_AUDIT.filled_with(last_audit),
        federation.PEER_AUDITOR_KIDS.filled_with(withdraw_unstated_keys),
        transfers.TOTALS_AGREED.filled_with(agreed_at),
    ),
    metrics=(audit_checked, audit_status, supply_delta, witness_silent),
)
