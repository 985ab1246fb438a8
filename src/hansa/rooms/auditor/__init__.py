"""The auditor: supply and balances recomputed from the log, against what the book holds."""

from hansa.rooms.auditor.cycle import (
    CYCLE_SECONDS,
    AuditVerdict,
    audit,
    audit_from_zero,
    audit_when_due,
    show_last_audit,
)
from hansa.rooms.auditor.routes import router
from hansa.rooms.auditor.supply import SupplyVerdict, audit_supply
from hansa.rooms.auditor.watch import SupplyWatch, watch_supply

__all__ = [
    "CYCLE_SECONDS",
    "AuditVerdict",
    "SupplyVerdict",
    "SupplyWatch",
    "audit",
    "audit_from_zero",
    "audit_supply",
    "audit_when_due",
    "router",
    "show_last_audit",
    "watch_supply",
]
