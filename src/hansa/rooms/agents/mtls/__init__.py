"""Workload identities of agents: certificates for mutual TLS, and the end of them."""

from hansa.rooms.agents.mtls.enrol import identities_ended, restore_mtls, revoke_mtls
from hansa.rooms.agents.mtls.routes import router

__all__ = ["identities_ended", "restore_mtls", "revoke_mtls", "router"]
