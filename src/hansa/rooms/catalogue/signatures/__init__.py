"""Signatures on cards: the registry's own on exported cards, and agents' own on incoming ones."""

from .agent_keys import AGENT_KEYS, AgentKeys
from .document import TOMBSTONE_TIME
from .export import EXPORT_DESK, is_exported
from .records import AgentKey, InboundVerdict, SignaturePolicy
from .routes import router
from .rules import verify_inbound, verify_jws
from .served_jws import JwsUnreadable, ServedJws, compact_jws, json_jws
from .written import CardSignatureRefused, require_genuine

__all__ = [
    "AGENT_KEYS",
    "EXPORT_DESK",
    "TOMBSTONE_TIME",
    "AgentKey",
    "AgentKeys",
    "CardSignatureRefused",
    "InboundVerdict",
    "JwsUnreadable",
    "ServedJws",
    "SignaturePolicy",
    "compact_jws",
    "is_exported",
    "json_jws",
    "require_genuine",
    "router",
    "verify_inbound",
    "verify_jws",
]
