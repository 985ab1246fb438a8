"""Signatures on cards: the registry's own on what it exports, and agents' own on what comes in."""

from .agent_keys import AgentKeys, KeysOfAgents
from .export import ExportDesk
from .records import AgentKey, InboundVerdict, SignaturePolicy
from .routes import router
from .rules import judge_inbound

__all__ = [
    "AgentKey",
    "AgentKeys",
    "ExportDesk",
    "InboundVerdict",
    "KeysOfAgents",
    "SignaturePolicy",
    "judge_inbound",
    "router",
]
