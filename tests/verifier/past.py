"""`python -m tests.verifier.past`: documents of every kind judged as of a time, into `tests/vectors/as_of.jsonl`.

The keys are those whose private half is 32 bytes of a small number; each key and time is fixed, so that each line is made again.
"""

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa_verify import (
    ACHIEVEMENT_TYPE,
    AGENT_KEYS_TYPE,
    FORMULA,
    encoded,
    key_thumbprint,
    licence_hash,
    read_certificate,
    read_signal,
    scores_of,
)
from tests.licences import TestGenesis, TestIssuer
from tests.verifier.achievements import STATEMENT
from tests.verifier.past_balances import balances
from tests.verifier.past_signing import (
    ACCOUNT,
    DAY,
    MINUTE,
    NEW,
    OLD,
    OTHER_ACCOUNT,
    START,
    STRANGER,
    jwk,
    point,
    signed,
    vector,
)
from tests.verifier.served import VECTORS, Vector

FROZEN = VECTORS / "as_of.jsonl"
AGENT_POINTS = [
    Ed25519PrivateKey.from_private_bytes(bytes([byte]) * 32).public_key().public_bytes_raw()
    for byte in (11, 12)
]


def frozen() -> Iterator[Vector]:
    """Every vector with the code that it must have."""
    yield from _documents()
    yield from _licences()
    yield from _agent_keys()
    yield from _scores()
    yield from balances()


# Cards and achievements: the key r1 from START until 30 days later, then r2.
REGISTRY_KEYS = {
    "keys": [
        jwk("r1", OLD, valid_from=START.isoformat(), retired_at=(START + 30 * DAY).isoformat()),
        jwk("r2", NEW, valid_from=(START + 30 * DAY).isoformat()),
    ]
}


def _documents() -> Iterator[Vector]:
    contents = {
        "card": ("JOSE", {"name": "Übersetzer", "did": ACCOUNT, "pricing": {"base_rate": 2.5}}),
        "achievement": (ACHIEVEMENT_TYPE, {**STATEMENT, "earned_at": (START - DAY).isoformat()}),
    }
    retired = START + 30 * DAY
    cases: Sequence[tuple[str, str, datetime, datetime, Ed25519PrivateKey, str]] = (
        ("valid_then", "r1", START + DAY, START + 2 * DAY, OLD, "verified"),
        ("in_the_second_of_its_signature", "r1", START + DAY, START + DAY, OLD, "verified"),
        ("before_it_was_signed", "r1", START + DAY, START, OLD, "from_the_future"),
        ("before_the_key_existed", "r2", START + 2 * DAY, START + 3 * DAY, NEW, "key_not_yet_valid"),
        ("by_the_old_key_at_its_end", "r1", retired, retired, OLD, "verified"),
        ("in_the_grace_of_the_key", "r1", START + DAY, retired + 7 * DAY, OLD, "verified"),
        ("past_the_grace_of_the_key", "r1", START + DAY, retired + 7 * DAY + MINUTE, OLD, "key_retired"),
        ("signed_after_the_key_was_retired", "r1", retired + DAY, retired + 2 * DAY, OLD, "key_retired"),
        ("by_the_new_key", "r2", retired + DAY, retired + 90 * DAY, NEW, "verified"),
        ("of_a_stranger", "r1", START + DAY, START + 2 * DAY, STRANGER, "bad_signature"),
    )
    for kind, (typ, content) in contents.items():
        for name, kid, signed_at, at, key, expect in cases:
            text = signed(content, typ, kid, signed_at, key)
            yield vector(kind, name, at, expect, document=text, keys=REGISTRY_KEYS)


# Licences: a frame's, which is suspended, active again, and revoked, by lists of several times.
GENESIS = TestGenesis("genesis.example", seed=b"\x07" * 32)
BEGIN = int(START.timestamp())
ROOT = GENESIS.sign(
    GENESIS.payload(
        "genesis", "genesis.example", key=GENESIS.jwk, iat=BEGIN, lid="00000000-0000-4000-8000-000000000001"
    )
)
GENESIS.certificate = ROOT
FRAME = GENESIS.sign(
    GENESIS.payload(
        "frame",
        "frame.example",
        key=TestIssuer("frame.example", seed=b"\x08" * 32).jwk,
        iat=BEGIN + 100,
        exp=BEGIN + 90 * 86_400,
        lid="00000000-0000-4000-8000-000000000002",
    )
)
CHANGES = (
    (BEGIN + 100, "active"),
    (BEGIN + 86_400, "suspended"),
    (BEGIN + 2 * 86_400, "active"),
    (BEGIN + 5 * 86_400, "revoked"),
)


def _list(second: int, changes: Sequence[tuple[int, str]] = CHANGES, key: TestIssuer = GENESIS) -> str:
    entries = []
    for text, states in ((ROOT, [(BEGIN, "active")]), (FRAME, changes)):
        certificate = read_certificate(text)
        seen = [(since, state) for since, state in states if since < second]
        if seen:
            since, state = seen[-1]
            entries.append(
                {**certificate.listed, "hash": certificate.hash, "state": state, "updated_at": since}
            )
    issuer = {"trust_domain": "genesis.example", "name": "genesis.example", "kid": GENESIS.kid}
    stated = {"kind": "fed.licence-list.v1", "issuer": issuer, "generated_at": second, "licences": entries}
    return key.sign(stated, "licence-list+jws", kid=GENESIS.kid)


def _licences() -> Iterator[Vector]:
    day = 86_400
    revoked = BEGIN + 5 * day
    every = [_list(BEGIN + hours * 3600) for hours in (12, 36, 60, 119, 140)]
    late = [every[-1]]
    rewritten = _list(revoked + 2 * day, CHANGES[:1])
    cases: Sequence[tuple[str, int, list[str], str]] = (
        ("before_it_was_issued", BEGIN + 99, every, "not_yet_valid"),
        ("from_its_second_on", BEGIN + 100, every, "verified"),
        ("before_its_suspension", BEGIN + day - 1, every, "verified"),
        ("while_suspended", BEGIN + day, every, "suspended"),
        ("after_its_suspension", BEGIN + 2 * day, every, "verified"),
        ("a_second_before_its_revocation", revoked - 1, every, "verified"),
        ("in_the_second_of_its_revocation", revoked, every, "revoked"),
        ("after_its_revocation", revoked + day, every, "revoked"),
        ("before_its_revocation_by_a_later_list_alone", revoked - 1, late, "unverified"),
        ("after_its_revocation_by_a_later_list_alone", revoked, late, "revoked"),
        ("without_lists", revoked - 1, [], "unverified"),
        ("by_an_old_list_alone", BEGIN + 8 * day, [every[0]], "unverified"),
        ("revoked_and_rewritten_as_active", revoked + day, [every[-1], rewritten], "revoked"),
        ("suspended_and_rewritten_as_active", BEGIN + 36 * 3600, [every[1], rewritten], "unverified"),
        ("by_a_list_of_a_stranger", revoked - 1, [_list(BEGIN + 12 * 3600, key=TestIssuer("x.example", seed=b"\x09" * 32))], "unverified"),
        ("expired", BEGIN + 90 * day, [_list(BEGIN + 89 * day, CHANGES[:1])], "expired"),
        ("a_second_before_its_end", BEGIN + 90 * day - 1, [_list(BEGIN + 89 * day, CHANGES[:1])], "verified"),
    )  # fmt: skip
    for name, second, lists, expect in cases:
        members = {"certificate": FRAME, "chain": [ROOT], "lists": lists, "root": licence_hash(ROOT)}
        yield vector("licence", name, datetime.fromtimestamp(second, UTC), expect, **members)


# Keys of an agent: two, the second one revoked.
def _agent_keys() -> Iterator[Vector]:
    times = [START, START + 10 * DAY, START + 15 * DAY]
    as_of = START + 20 * DAY
    held = [
        {
            "number": number,
            "public_key_jwk": {"kty": "OKP", "crv": "Ed25519", "x": encoded(point)},
            "valid_from": begin.isoformat(),
            "valid_until": end.isoformat(),
        }
        for number, (point, begin, end) in enumerate(
            zip(AGENT_POINTS, times, times[1:], strict=False), start=1
        )
    ]
    content = {
        "kind": "agent.keys.v1",
        "registry": "hansa.local",
        "did": ACCOUNT,
        "as_of": as_of.isoformat(),
        "keys": held[::-1],
    }
    keys = {"keys": [jwk("r1", OLD)]}
    text = signed(content, AGENT_KEYS_TYPE, "r1", as_of, OLD)
    first, second = (key_thumbprint(point) for point in AGENT_POINTS)
    tick = timedelta(microseconds=1)
    cases: Sequence[tuple[str, datetime, str | None, str]] = (
        ("before_the_key_existed", times[0] - tick, first, "key_not_yet_valid"),
        ("from_its_begin_on", times[0], first, "verified"),
        ("until_its_end", times[1] - tick, first, "verified"),
        ("after_it_was_retired", times[1], first, "key_retired"),
        ("of_the_next_key", times[1], second, "verified"),
        ("of_the_next_key_too_early", times[1] - tick, second, "key_not_yet_valid"),
        ("after_the_agent_was_revoked", times[2], None, "key_retired"),
        ("of_any_key", times[0] + DAY, None, "verified"),
        ("of_another_key", times[0], key_thumbprint(point(STRANGER)), "unknown_key"),
        ("after_the_statement", as_of + tick, second, "unverified"),
    )
    for name, at, kid, expect in cases:
        yield vector("agent_key", name, at, expect, document=text, keys=keys, kid=kid)
    other = signed(content, AGENT_KEYS_TYPE, "r1", as_of, STRANGER)
    yield vector(
        "agent_key", "of_a_stranger", times[0], "bad_signature", document=other, keys=keys, kid=first
    )


# Scores: an export of a day, and one of a later day whose events are more, fewer or changed.
def _scores() -> Iterator[Vector]:
    events = [
        {
            "sequence": number,
            "event_type": "A2APaymentSettled",
            "timestamp": (START + number * DAY).isoformat(),
            "data": {"caller": caller, "payee": payee, "fee": fee, "counts": True},
        }
        for number, (caller, payee, fee) in enumerate(
            ((OTHER_ACCOUNT, ACCOUNT, "12.5"), (ACCOUNT, OTHER_ACCOUNT, "3"), (OTHER_ACCOUNT, ACCOUNT, "40"))
        )
    ]
    days = [(START + number * DAY).date().isoformat() for number in (2, 4, 5)]
    kept, newest = _export(days[0], events), _export(days[1], events)
    changed, wrong = deepcopy(events), _export(days[0], events)
    changed[0]["data"]["fee"] = "90"
    wrong["scores"][0]["score"] += 1
    cases: Sequence[tuple[str, str, dict[str, Any], dict[str, Any] | None, str]] = (
        ("of_the_newest_day", days[1], newest, None, "verified"),
        ("of_an_earlier_day", days[0], newest, kept, "verified"),
        ("another_score_was_stated", days[0], newest, wrong, "differing"),
        ("an_event_was_rewritten", days[0], _export(days[1], changed), kept, "differing"),
        ("an_event_was_removed", days[0], _export(days[1], events[1:]), kept, "differing"),
        ("not_stated", days[0], newest, None, "unverified"),
        ("of_a_later_day", days[2], newest, None, "unverified"),
    )
    for name, day, document, stated, expect in cases:
        texts = {"document": json.dumps(document), "stated": None if stated is None else json.dumps(stated)}
        yield vector("reputation", name, datetime.fromisoformat(f"{day}T00:00:00+00:00"), expect, **texts)


def _export(day: str, events: list[dict[str, Any]]) -> dict[str, Any]:
    known = [one for one in events if one["timestamp"][:10] < day]
    signals = [signal for signal in map(read_signal, known) if signal]
    found = scores_of(signals, datetime.fromisoformat(day).date())
    scores = [{"agent_did": did, "score": score.score} for did, score in sorted(found.items())]
    return {"formula": FORMULA, "epoch": day, "events": known, "scores": scores, "next": None}


if __name__ == "__main__":
    FROZEN.write_text("".join(json.dumps(one) + "\n" for one in frozen()))
