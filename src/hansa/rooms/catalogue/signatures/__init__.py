"""Signatures on cards: the registry's own on what it exports, and agents' own on what comes in."""

from .agent_keys import AGENT_KEYS, AgentKeys
from .export import EXPORT_DESK, ExportDesk, is_exported
from .records import AgentKey, InboundVerdict, SignaturePolicy
from .routes import router
from .rules import judge_inbound, judge_jws
from .served_jws import JwsUnreadable, ServedJws, compact_jws, json_jws
from .written import CardSignatureRefused, require_genuine

__all__ = [
    "AGENT_KEYS",
    "EXPORT_DESK",
    "AgentKey",
    "AgentKeys",
    "CardSignatureRefused",
    "ExportDesk",
    "InboundVerdict",
    "JwsUnreadable",
    "ServedJws",
    "SignaturePolicy",
    "compact_jws",
    "is_exported",
    "json_jws",
    "judge_inbound",
    "judge_jws",
    "require_genuine",
    "router",
]
