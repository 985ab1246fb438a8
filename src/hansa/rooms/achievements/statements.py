"""Statements that an agent earned an achievement, signed by the registry: verifiable offline, like its cards.

- A statement is signed when it is read: the same in the same hour by the same key, and by the present key after a rotation.
"""

from datetime import datetime
from typing import Any

from hansa.foundation.values.canonical import canonical_json
from hansa.rooms import federation
from hansa_verify import ACHIEVEMENT_KIND, ACHIEVEMENT_TYPE, CARD_PROFILE

from .earning import MARKS
from .records import Achievements, Earned

SIGNED_ANEW_SECONDS = 3600
_CODES_OF_MARKS = frozenset(mark.code for mark in MARKS)


def is_dashed(found: Achievements, earned: Earned) -> bool:
    """Return whether an achievement is a mark that includes work for other registries."""
    return found.is_dashed and earned.code in _CODES_OF_MARKS


def statement_of(
    found: Achievements, earned: Earned, key: federation.SigningKey, registry: str
) -> dict[str, Any]:
    """The signed statement of one achievement of an agent by this registry."""
    content: dict[str, Any] = {
        "kind": ACHIEVEMENT_KIND,
        "registry": registry,
        "did": found.agent_did,
        "code": earned.code,
        "earned_at": earned.earned_at.isoformat(),
        "event_seq": earned.event_seq,
        "dashed": is_dashed(found, earned),
    }
    header = {
        "typ": ACHIEVEMENT_TYPE,
        "iat": _signing_moment(earned.earned_at, key),
        "canon": CARD_PROFILE,
    }
    return {**content, "signatures": [federation.detached_signature(key, canonical_json(content), header)]}


def _signing_moment(earned_at: datetime, key: federation.SigningKey) -> int:
    hour = int(key.now.timestamp()) // SIGNED_ANEW_SECONDS * SIGNED_ANEW_SECONDS
    return max(hour, int(key.valid_from.timestamp()), int(earned_at.timestamp()))
