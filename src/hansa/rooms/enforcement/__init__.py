"""Enforcement: which agents and developers are suspended or revoked by an administrator."""

from .corrections import correct_balance
from .descriptor import ROOM
from .developers import (
    OwnedAgents,
    agents_by_developer,
    agents_of_named,
    reinstate_developer,
    suspend_developer,
)
from .errors import DeveloperUnknown
from .rules import HardSuspension
from .schemas import (
    EndedAgentsOut,
    ReinstateAgentsIn,
    ReinstateDeveloperIn,
    RestoredAgentsOut,
    RevokeAgentsIn,
    StoppedAgentsOut,
    SuspendAgentsIn,
    SuspendDeveloperIn,
)
from .suspend import hard_suspensions_at, reinstate_agents, revoke_agents, suspend_agents

__all__ = [
    "ROOM",
    "DeveloperUnknown",
    "EndedAgentsOut",
    "HardSuspension",
    "OwnedAgents",
    "ReinstateAgentsIn",
    "ReinstateDeveloperIn",
    "RestoredAgentsOut",
    "RevokeAgentsIn",
    "StoppedAgentsOut",
    "SuspendAgentsIn",
    "SuspendDeveloperIn",
    "agents_by_developer",
    "agents_of_named",
    "correct_balance",
    "hard_suspensions_at",
    "reinstate_agents",
    "reinstate_developer",
    "revoke_agents",
    "suspend_agents",
    "suspend_developer",
]
