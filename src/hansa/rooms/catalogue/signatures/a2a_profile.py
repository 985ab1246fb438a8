"""The profile of stock A2A clients (`jcs-a2a/1`): RFC 8785 over the members that A2A knows, as the official package does.

It covers neither `pricing` nor top-level `extensions`, so nothing that costs money rests on it.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from a2a.types import AgentCard, AgentCardSignature
from a2a.utils.signing import (
    InvalidSignaturesError,
    create_agent_card_signer,
    create_signature_verifier,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf.json_format import ParseError
from jwt import PyJWK

from hansa_verify import DetachedSignature, encoded

A2A_PROFILE = "jcs-a2a/1"
# The official parser lets some shapes it does not expect escape as plain Python errors.
NOT_A2A = (ParseError, AttributeError, TypeError, ValueError, KeyError, RecursionError)


def a2a_signature(
    card: Mapping[str, Any], key: Ed25519PrivateKey, header: Mapping[str, Any]
) -> dict[str, str]:
    """The entry that stock A2A clients verify."""
    signer = create_agent_card_signer(key, {"alg": "EdDSA", **header})  # type: ignore[arg-type, typeddict-item]
    (signature,) = signer(_message(card)).signatures
    return {"protected": signature.protected, "signature": signature.signature}


def is_a2a_signed(
    card: Mapping[str, Any], signatures: Sequence[DetachedSignature], jwk: Mapping[str, str]
) -> bool:
    """Return whether one of these is by the holder of the public key `jwk`, as the official verifier judges it."""
    key = PyJWK(dict(jwk))
    verify = create_signature_verifier(lambda _kid, _jku: key, ["EdDSA"])
    try:
        message = _message(card)
        for one in signatures:
            message.signatures.append(
                AgentCardSignature(protected=one.protected, signature=encoded(one.signature))
            )
        verify(message)
    except (InvalidSignaturesError, *NOT_A2A):
        return False
    return True


def _message(card: Mapping[str, Any]) -> AgentCard:
    # Its client is a tenth of a start.
    from a2a.client.card_resolver import parse_agent_card

    return parse_agent_card(
        copy.deepcopy({name: value for name, value in card.items() if name != "signatures"})
    )
