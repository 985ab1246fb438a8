"""Workload identities of agents: certificates for mutual TLS, and the end of them."""

from hansa.rooms.agents.mtls.revocation import restore_mtls, revoke_mtls

__all__ = ["restore_mtls", "revoke_mtls"]
