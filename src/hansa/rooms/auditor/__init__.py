"""Auditor: supply and balances recomputed from the log and compared with the book."""

from hansa.rooms.auditor.attestations import (
    Attestation,
    Attestor,
    AuditorKey,
    Watch,
    list_attestations,
    list_keys,
    read_watch,
    rebaseline_transit,
    replace_sealed_auditor_key,
    rotate_auditor_key,
    set_native_baseline,
)
from hansa.rooms.auditor.attestations import rotate_as_administrator as rotate_auditor_key_by_administrator
from hansa.rooms.auditor.cycle import (
    AuditVerdict,
    audit,
    audit_from_zero,
    audit_when_due,
    initialize_auditor,
    run_cycle,
)
from hansa.rooms.auditor.descriptor import ROOM
from hansa.rooms.auditor.liabilities import FOREST
from hansa.rooms.auditor.supply import SupplyVerdict, audit_supply, hold_off_audits
from hansa.rooms.auditor.transparency import LogEmpty, read_checkpoint
from hansa.rooms.auditor.watch import SupplyPoint, SupplyWatch, supply_over_time, watch_supply
from hansa.rooms.auditor.witnessing import (
    LogForksOut,
    LogWitnessesOut,
    ask_witnesses,
    list_forks,
    list_log_witnesses,
    replace_sealed_witness_key,
    rotate_witness_key,
)

__all__ = [
    "FOREST",
    "ROOM",
    "Attestation",
    "Attestor",
    "AuditVerdict",
    "AuditorKey",
    "LogEmpty",
    "LogForksOut",
    "LogWitnessesOut",
    "SupplyPoint",
    "SupplyVerdict",
    "SupplyWatch",
    "Watch",
    "ask_witnesses",
    "audit",
    "audit_from_zero",
    "audit_supply",
    "audit_when_due",
    "hold_off_audits",
    "initialize_auditor",
    "list_attestations",
    "list_forks",
    "list_keys",
    "list_log_witnesses",
    "read_checkpoint",
    "read_watch",
    "rebaseline_transit",
    "replace_sealed_auditor_key",
    "replace_sealed_witness_key",
    "rotate_auditor_key",
    "rotate_auditor_key_by_administrator",
    "rotate_witness_key",
    "run_cycle",
    "set_native_baseline",
    "supply_over_time",
    "watch_supply",
]
