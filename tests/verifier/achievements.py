"""`python -m tests.verifier.achievements`: signed statements of achievements, into `tests/vectors/achievements.jsonl`.

The keys are those of the settlements.
"""

import json
from collections.abc import Iterator
from typing import Any

from hansa_verify import ACHIEVEMENT_TYPE, CARD_PROFILE, NotCanonical, canonical_json
from tests.verifier.served import VECTORS, Vector
from tests.verifier.settlements import (
    AT,
    KID,
    OLD_KID,
    PRESENT,
    RETIRED,
    RETIRED_AT,
    SIGNED_AT,
    STRANGER,
    encoded,
    signed,
)

FROZEN = VECTORS / "achievements.jsonl"
STATEMENT: dict[str, Any] = {
    "kind": "agent.achievement.v1",
    "registry": "hansa.local",
    "did": "did:hansa:hansa.local:Köln-😀",
    "code": "mark_veteran",
    "earned_at": "2026-05-01T12:00:00.000001+00:00",
    "event_seq": 4711,
    "dashed": True,
}
KEYS = {
    "keys": [
        {"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": kid, "x": encoded(key.public_key().public_bytes_raw())}
        for kid, key in ((KID, PRESENT), (OLD_KID, RETIRED))
    ]
}  # fmt: skip
KEYS["keys"][1] |= {"valid_from": "2026-01-01T00:00:00+00:00", "retired_at": RETIRED_AT}
ABSENT = object()
# Name, code of the verdict, and the members that differ.
CHANGED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("valid", "verified", {}),
    ("plain_mark", "verified", {"dashed": False}),
    ("unknown_code", "verified", {"code": "walked_on_the_moon"}),
    ("other_kind", "malformed", {"kind": "agent.achievement.v2"}),
    *((f"{name}_absent", "malformed", {name: ABSENT}) for name in STATEMENT),
    *((f"{name}_null", "malformed", {name: None}) for name in STATEMENT),
    ("further_member", "malformed", {"title": "Veteran"}),
    ("event_zero", "malformed", {"event_seq": 0}),
    ("event_a_text", "malformed", {"event_seq": "4711"}),
    ("event_a_flag", "malformed", {"event_seq": True}),
    ("event_a_fraction", "malformed", {"event_seq": 1.5}),
    ("dashed_a_number", "malformed", {"dashed": 1}),
    ("time_without_offset", "malformed", {"earned_at": "2026-05-01T12:00:00"}),
    ("time_that_is_none", "malformed", {"earned_at": "2026-02-30T12:00:00Z"}),
    ("earned_after_the_signature", "from_the_future", {"earned_at": "2026-06-01T00:00:00Z"}),
)


def document(changes: dict[str, Any] | None = None, **how: Any) -> str:
    """A statement with these members changed before it is signed."""
    content = {name: value for name, value in {**STATEMENT, **(changes or {})}.items() if value is not ABSENT}
    header = {"typ": ACHIEVEMENT_TYPE, "canon": CARD_PROFILE, "iat": SIGNED_AT, **how}
    parts = signed(content, **header)
    entry = {name: parts[name] for name in ("protected", "signature")}
    return json.dumps({**content, "signatures": [entry]}, separators=(",", ":"), ensure_ascii=False)


def signed_statement(text: str) -> str:
    """The statement of this JSON text with a signature over it as it is, also where a member is there twice."""
    header = {"alg": "EdDSA", "canon": CARD_PROFILE, "iat": SIGNED_AT, "kid": KID, "typ": ACHIEVEMENT_TYPE}
    try:
        payload = canonical_json(json.loads(text))
    except NotCanonical:
        payload = text.encode()
    protected = encoded(canonical_json(header))
    signature = encoded(PRESENT.sign(f"{protected}.{encoded(payload)}".encode()))
    entry = {"protected": protected, "signature": signature}
    return f'{text[:-1]},"signatures":[{json.dumps(entry)}]}}'


def frozen() -> Iterator[Vector]:
    """Every vector with the code of the verdict that it must have."""
    for name, expect, changes in CHANGED:
        yield vector(name, expect, document(changes))
    valid = document()
    yield vector("changed_after_it_was_signed", "bad_signature", valid.replace("veteran", "sovereign"))
    yield vector("signed_by_a_stranger", "bad_signature", document(key=STRANGER))
    yield vector("signed_as_a_card", "malformed", document(typ="JOSE"))
    yield vector("signed_as_a_bundle", "malformed", document(typ="agent-bundle+jws"))
    yield vector("by_a_retired_key", "verified", document(key=RETIRED, kid=OLD_KID))
    yield vector("without_signatures", "unsigned", json.dumps(STATEMENT))
    yield vector("cut_off", "malformed", valid[:-1])


def vector(name: str, expect: str, text: str) -> Vector:
    """A vector of one statement."""
    return {"name": name, "document": text, "keys": KEYS, "at": AT, "expect": expect}


if __name__ == "__main__":
    FROZEN.write_text("".join(json.dumps(one) + "\n" for one in frozen()))
