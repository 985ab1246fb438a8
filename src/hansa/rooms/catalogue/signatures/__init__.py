"""Signatures on cards: the registry's own on what it exports, and agents' own on what comes in."""

from .agent_keys import AgentKeys
from .export import ExportDesk
from .records import AgentKey, InboundVerdict, SignaturePolicy
from .routes import router
from .rules import judge_inbound
from .written import CardSignatureRefused, require_genuine

__all__ = [
    "AgentKey",
    "AgentKeys",
    "CardSignatureRefused",
    "ExportDesk",
    "InboundVerdict",
    "SignaturePolicy",
    "judge_inbound",
    "require_genuine",
    "router",
]
