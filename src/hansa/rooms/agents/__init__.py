"""Agents: who they are, how they come to be, how they prove it, how they end."""

from hansa.rooms.agents.check import check_agent
from hansa.rooms.agents.mtls import restore_mtls, revoke_mtls
from hansa.rooms.agents.routes import router
from hansa.rooms.agents.rules import OwnedAgent
from hansa.rooms.agents.status import of_developer, reinstate, retire, revoke, suspend

__all__ = [
    "OwnedAgent",
    "check_agent",
    "of_developer",
    "reinstate",
    "restore_mtls",
    "retire",
    "revoke",
    "revoke_mtls",
    "router",
    "suspend",
]
