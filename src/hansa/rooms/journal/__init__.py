"""The journal: append-only, in the same commit as what it records."""

from hansa.rooms.journal.append import append
from hansa.rooms.journal.fold import SupplyTerms, supply_terms
from hansa.rooms.journal.routes import router

__all__ = ["SupplyTerms", "append", "router", "supply_terms"]
