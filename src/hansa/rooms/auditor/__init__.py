"""The auditor: supply and balances recomputed from the log, against what the book holds."""

from hansa.rooms.auditor.cycle import (
    AuditVerdict,
    audit,
    audit_from_zero,
    audit_when_due,
)
from hansa.rooms.auditor.descriptor import ROOM
from hansa.rooms.auditor.supply import SupplyVerdict, audit_supply
from hansa.rooms.auditor.watch import SupplyWatch, watch_supply

__all__ = [
    "ROOM",
    "AuditVerdict",
    "SupplyVerdict",
    "SupplyWatch",
    "audit",
    "audit_from_zero",
    "audit_supply",
    "audit_when_due",
    "watch_supply",
]
