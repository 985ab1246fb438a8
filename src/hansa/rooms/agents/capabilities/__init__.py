"""Capabilities: rights that one agent gives another, within caveats that only narrow."""

from hansa.rooms.agents.capabilities.errors import (
    CapabilityBudgetSpent,
    CapabilityEnded,
    CapabilityUnknown,
    CaveatViolated,
    DelegatorMayNot,
)
from hansa.rooms.agents.capabilities.issue import forget_capabilities
from hansa.rooms.agents.capabilities.routes import router
from hansa.rooms.agents.capabilities.rules import Chain, Use, evaluate, lent, within_ancestors
from hansa.rooms.agents.capabilities.use import found_for_use, held_for_use, return_spent, spend, within_mode

__all__ = [
    "CapabilityBudgetSpent",
    "CapabilityEnded",
    "CapabilityUnknown",
    "CaveatViolated",
    "Chain",
    "DelegatorMayNot",
    "Use",
    "evaluate",
    "forget_capabilities",
    "found_for_use",
    "held_for_use",
    "lent",
    "return_spent",
    "router",
    "spend",
    "within_ancestors",
    "within_mode",
]
