"""The auditor: supply recomputed from the log against the balances."""

from hansa.rooms.auditor.routes import router
from hansa.rooms.auditor.supply import SupplyVerdict, audit_supply

__all__ = ["SupplyVerdict", "audit_supply", "router"]
