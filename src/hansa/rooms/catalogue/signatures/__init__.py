"""Signatures on cards: the agent's own, judged when a card comes in."""

from .agent_keys import AgentKeys, KeysOfAgents
from .records import AgentKey, InboundVerdict, SignaturePolicy
from .rules import judge_inbound

__all__ = ["AgentKey", "AgentKeys", "InboundVerdict", "KeysOfAgents", "SignaturePolicy", "judge_inbound"]
