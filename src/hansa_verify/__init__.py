"""Verify what a registry signed, offline: nothing here asks a server, a clock of ours or the registry's own code."""

from .base64url import NotBase64url, decoded, encoded
from .canonical import NotCanonical, canonical_json, read_json
from .card import CARD_PROFILE, RegistryKey, Step, Verdict, read_keys, verify_card, verify_document
from .dispute import RULES_VERSION, Proposal, propose
from .jws import BadEntry, DetachedSignature, read_entry
from .keys import NotAKey, public_key_of

__all__ = [
    "CARD_PROFILE",
    "RULES_VERSION",
    "BadEntry",
    "DetachedSignature",
    "NotAKey",
    "NotBase64url",
    "NotCanonical",
    "Proposal",
    "RegistryKey",
    "Step",
    "Verdict",
    "canonical_json",
    "decoded",
    "encoded",
    "propose",
    "public_key_of",
    "read_entry",
    "read_json",
    "read_keys",
    "verify_card",
    "verify_document",
]
