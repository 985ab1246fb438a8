"""Decision whether an agent signed its own card.

- The keys are those that the registry knows. Keys that a card names count for nothing; no key set is ever fetched.
- Of several signatures one that verifies is enough; the others do not matter then.
- The signature of a registry is no word of the agent's: an export that is served or written back counts as unsigned.
- Only the present key speaks: who serves a card now signs it with the key of now, and a key is often replaced because
  somebody else has it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hansa.foundation.values.canonical import canonical_json
from hansa.foundation.values.jwk import jwk_of
from hansa_verify import CARD_PROFILE, BadEntry, DetachedSignature, read_entry

from .a2a_profile import A2A_PROFILE, is_a2a_signed
from .records import AgentKey, InboundVerdict

SIGNATURES_MAX = 16
# A signature that names no profile is verified in both forms: stock A2A signers use the one of A2A, older clients of
# the protocol the sorted one.
KNOWN_PROFILES = frozenset({CARD_PROFILE, A2A_PROFILE, None})

_OF_A_REGISTRY = re.compile(r"spiffe://[^/]+/registry/")


def verify_inbound(card: Mapping[str, Any], keys: Sequence[AgentKey]) -> InboundVerdict:
    """Judge the signatures of a card as it was received, by the keys of its agent, the newest first.

    `reason` of a failure: `malformed`, `unknown_alg`, `unknown_profile`, `key_unknown`, `key_retired`,
    `bad_signature`. Never raises. A large card takes a tenth of a second: keep it off the event loop.
    """
    listed = card.get("signatures") or []
    if not isinstance(listed, list) or len(listed) > SIGNATURES_MAX:
        return _failed("malformed", f"signatures is a list of at most {SIGNATURES_MAX}")
    entries, error = _read(listed, KNOWN_PROFILES)
    if not entries:
        return error or InboundVerdict("unsigned", None, "the card carries no signature of its agent")
    return _judged(lambda key: _is_signed(card, entries, key), keys)


def verify_jws(payload: bytes, signatures: Sequence[Any], keys: Sequence[AgentKey]) -> InboundVerdict:
    """Judge a card that was served as a JWS with this payload. Reasons as of `judge_inbound`; never raises."""
    entries, error = _read(signatures, None)
    if not entries:
        return error or InboundVerdict("unsigned", None, "the JWS carries no signature of the agent")
    return _judged(lambda key: any(entry.is_by(key.public_key, payload) for entry in entries), keys)


def _judged(is_signed: Callable[[AgentKey], bool], keys: Sequence[AgentKey]) -> InboundVerdict:
    present = next((key for key in keys if key.ended_at is None), None)
    if present is None:
        return _failed("key_unknown", "the agent has no key now")
    if is_signed(present):
        return InboundVerdict("verified", None, f"signed with key {present.number}")
    # The previous one is tried too, to distinguish a card that waits to be signed anew from one that was changed.
    former = next((key for key in keys if key.ended_at is not None), None)
    if former is not None and is_signed(former):
        return _failed("key_retired", f"signed with key {former.number}, which has ended")
    return _failed("bad_signature", "signed with no key of the agent, or changed since")


def _read(
    listed: Sequence[Any], profiles: frozenset[str | None] | None
) -> tuple[list[DetachedSignature], InboundVerdict | None]:
    """Return the entries that can be judged, and the verdict on the last of those that cannot.

    `profiles`: the canonical forms that an entry may name; None where the signed bytes are given as they are.
    """
    entries: list[DetachedSignature] = []
    error = None
    for entry in listed:
        try:
            read = read_entry(entry)
        except BadEntry as found:
            error = _failed(found.code, str(found))
            continue
        if profiles is not None and read.profile not in profiles:
            error = _failed(
                "unknown_profile", f"the profiles known here are {CARD_PROFILE} and {A2A_PROFILE}"
            )
        elif _OF_A_REGISTRY.match(read.kid or "") is None:
            entries.append(read)
    return entries, error


def _is_signed(card: Mapping[str, Any], entries: list[DetachedSignature], key: AgentKey) -> bool:
    ours = [entry for entry in entries if entry.profile != A2A_PROFILE]
    theirs = [entry for entry in entries if entry.profile != CARD_PROFILE]
    if ours:
        try:
            payload = canonical_json({name: value for name, value in card.items() if name != "signatures"})
        except ValueError:
            return False
        if any(entry.is_by(key.public_key, payload) for entry in ours):
            return True
    return bool(theirs) and is_a2a_signed(card, theirs, jwk_of(key.public_key))


def _failed(reason: str, said: str) -> InboundVerdict:
    return InboundVerdict("failed", reason, said)
