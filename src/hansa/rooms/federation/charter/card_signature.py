"""The signature of the registry card, and its entity tag (Specification 2, "Registry card"; decisions F and T).

The signed value is one flat object: the full dotted path of each signed leaf with its value, null where the card has none,
and the window `_signed_at`, `_expires_at`; as canonical JSON. The signature stands in two forms over the same bytes: bare
in `value`, and as a detached JWS in `jws`.
"""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from hansa.foundation.values.canonical import canonical_json
from hansa_verify import registry_card

from .card_paths import SIGNED_PATHS
from .records import SigningKey
from .schemas import KEY_SET
from .signing import detached_signature

WINDOW = timedelta(days=30)
"""How long a signature is valid: long against the minutes for which a card is cached."""
RENEWAL = WINDOW / 2
"""The age at which a signature is renewed."""
JWS_TYPE = "registry-card+jws"


class SignatureWindow(msgspec.Struct, frozen=True):
    """From when until when a signature is valid, in whole seconds UTC."""

    signed_at: datetime
    expires_at: datetime

    @classmethod
    def beginning(cls, now: datetime) -> "SignatureWindow":
        """The window of a signature made now."""
        signed_at = now.astimezone(UTC).replace(microsecond=0)
        return cls(signed_at, signed_at + WINDOW)


def value_at(card: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, or None where there is none."""
    value: Any = card
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def card_etag(card: Mapping[str, Any]) -> str:
    """The entity tag of a card, as verifiers compute it."""
    return registry_card.card_etag(card, SIGNED_PATHS)


def signed_payload(card: Mapping[str, Any], window: SignatureWindow) -> bytes:
    """The bytes that are signed."""
    leaves = {path: value_at(card, path) for path in SIGNED_PATHS}
    times = {"_signed_at": window.signed_at.isoformat(), "_expires_at": window.expires_at.isoformat()}
    return canonical_json({**leaves, **times})


def signature_block(card: Mapping[str, Any], key: SigningKey) -> dict[str, Any]:
    """The block `signature` of a card that is complete but for it, signed at the key's time."""
    window = SignatureWindow.beginning(key.now)
    payload = signed_payload(card, window)
    jws = detached_signature(key, payload, {"typ": JWS_TYPE})
    return {
        "value": urlsafe_b64encode(key.private.sign(payload)).rstrip(b"=").decode(),
        "kid": key.kid,
        "signed_canonical": list(SIGNED_PATHS),
        "signed_at": window.signed_at.isoformat(),
        "expires_at": window.expires_at.isoformat(),
        "alg": "EdDSA",
        "jwks_url": KEY_SET,
        "jws": f"{jws['protected']}..{jws['signature']}",
    }
