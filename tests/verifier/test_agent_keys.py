"""The signing key that an agent had at a time, by the signed statement of its keys: exact at each begin and end."""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa_verify import (
    AGENT_KEYS_TYPE,
    CARD_PROFILE,
    AgentKeyVerdict,
    canonical_json,
    encoded,
    key_thumbprint,
    read_keys,
    verify_agent_key,
)
from tests.properties.scale import by_tier, printed_seed

REGISTRY = Ed25519PrivateKey.from_private_bytes(b"\x21" * 32)
KEY_SET = {
    "keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "r1", "x": encoded(REGISTRY.public_key().public_bytes_raw())}]
}  # fmt: skip
START = datetime(2026, 5, 1, 12, tzinfo=UTC)
POINTS = [
    Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32).public_key().public_bytes_raw()
    for number in range(1, 8)
]
KIDS = [key_thumbprint(point) for point in POINTS]
TICK = timedelta(microseconds=1)


def after(days: float) -> datetime:
    return START + timedelta(days=days)


def key(number: int, begins: datetime, ends: datetime | None) -> dict[str, Any]:
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": encoded(POINTS[number - 1])}
    times = {"valid_from": begins.isoformat(), "valid_until": ends and ends.isoformat()}
    return {"number": number, "public_key_jwk": jwk, **times}


def statement(
    known_until: datetime, *keys: dict[str, Any], typ: str = AGENT_KEYS_TYPE, **members: Any
) -> str:
    """The signed statement of these keys, oldest first."""
    content = {
        "kind": "agent.keys.v1",
        "registry": "hansa.local",
        "did": "did:hansa:hansa.local:a",
        "as_of": known_until.isoformat(),
        "keys": list(reversed(keys)),
    } | members
    header = {
        "alg": "EdDSA",
        "kid": "r1",
        "typ": typ,
        "canon": CARD_PROFILE,
        "iat": int(known_until.timestamp()),
    }
    protected = encoded(canonical_json(header))
    signature = REGISTRY.sign(f"{protected}.{encoded(canonical_json(content))}".encode())
    return json.dumps({**content, "signatures": [{"protected": protected, "signature": encoded(signature)}]})


ROTATED = statement(after(20), key(1, after(0), after(10)), key(2, after(10), None))
REVOKED = statement(after(20), key(1, after(0), after(10)), key(2, after(10), after(15)))


def judged(text: str, at: datetime, kid: str | None = None) -> AgentKeyVerdict:
    verdict = verify_agent_key(text, read_keys(KEY_SET), at, kid=kid)
    assert verdict.is_valid == (verdict.code == "verified") == all(step.holds for step in verdict.steps)
    return verdict


@pytest.mark.parametrize(
    ("at", "first", "second"),
    [
        (after(0) - TICK, "key_not_yet_valid", "key_not_yet_valid"),
        (after(0), "verified", "key_not_yet_valid"),
        (after(10) - TICK, "verified", "key_not_yet_valid"),
        (after(10), "key_retired", "verified"),
        (after(20), "key_retired", "verified"),
        (after(20) + TICK, "unverified", "unverified"),
    ],
)
def test_a_key_counts_from_its_begin_until_its_rotation(at: datetime, first: str, second: str):
    assert [judged(ROTATED, at, kid).code for kid in KIDS[:2]] == [first, second]


@pytest.mark.parametrize(("at", "code"), [(after(15) - TICK, "verified"), (after(15), "key_retired")])
def test_the_last_key_of_a_revoked_agent_ends_with_it(at: datetime, code: str):
    assert judged(REVOKED, at).code == judged(REVOKED, at, KIDS[1]).code == code


def test_without_a_named_key_the_verdict_names_the_key_of_the_moment():
    held = judged(ROTATED, after(9)).held
    assert held is not None
    assert (held.number, held.kid, held.valid_until) == (1, KIDS[0], after(10))
    assert judged(ROTATED, after(0), KIDS[5]).code == "unknown_key"


def test_a_statement_of_the_newest_keys_alone_knows_no_moment_before_them():
    newest = statement(after(20), key(3, after(5), after(9)), key(4, after(9), None))
    assert judged(newest, after(5)).code == "verified"
    assert judged(newest, after(5) - TICK).code == "unverified"
    assert judged(newest, after(6), KIDS[0]).code == "unverified"


@pytest.mark.parametrize(
    "text",
    [
        statement(after(20), key(1, after(0), after(10)), key(3, after(10), None)),
        statement(after(20), key(1, after(0), after(10) + TICK), key(2, after(10), None)),
        statement(after(20), key(1, after(0), None), key(2, after(10), None)),
        statement(after(20), key(1, after(0), after(21))),
        statement(after(20), key(1, after(21), None)),
        statement(after(20), key(1, after(5), after(4))),
        statement(after(20), key(1, after(0), None) | {"number": True}),
        statement(after(20), key(1, after(0), None) | {"further": 1}),
        statement(after(20), key(1, after(0), None) | {"public_key_jwk": None}),
        statement(after(20), key(1, after(0), None) | {"public_key_jwk": {"kty": "OKP", "crv": "Ed25519"}}),
        statement(after(20), key(1, after(0), None) | {"valid_from": "2026-05-01T12:00:00"}),
        statement(after(20), key(1, after(0), None), did=7),
        statement(after(20), key(1, after(0), None), kind="agent.keys.v2"),
        statement(after(20), key(1, after(0), None), further=1),
        statement(after(20), key(1, after(0), None), as_of=after(21).isoformat()),
        statement(after(20), key(1, after(0), None), typ="agent-bundle+jws"),
    ],
)
def test_a_statement_that_no_registry_makes_is_malformed(text: str):
    assert judged(text, after(1)).code == "malformed"


def test_no_statement_with_a_changed_key_or_time_is_verified():
    assert judged(ROTATED.replace(encoded(POINTS[0]), encoded(POINTS[4])), after(1)).code == "bad_signature"
    assert judged(ROTATED.replace("2026-05-11", "2026-05-12"), after(10)).code == "bad_signature"
    assert verify_agent_key(ROTATED, [], after(1)).code == "unknown_key"


def test_a_verdict_for_a_moment_never_changes_by_statements_that_are_made_later():
    rng = random.Random(printed_seed())
    for _ in range(by_tier(40, 300, 2_000)):
        times = [after(day) for day in sorted(rng.sample(range(40), rng.randrange(1, 7)))]
        end = after(rng.randrange(41, 50)) if rng.random() < 0.5 else None
        ends = [*times[1:], end]
        at = after(rng.randrange(60)) + rng.choice([-TICK, timedelta(), TICK])
        kid = rng.choice([None, *KIDS[: len(times)]])

        def stated(as_of: datetime, times: list[datetime] = times, ends: list[Any] = ends) -> str:
            known = [
                key(number, begins, ended if ended and ended <= as_of else None)
                for number, (begins, ended) in enumerate(zip(times, ends, strict=True), 1)
                if begins <= as_of
            ]
            return statement(as_of, *known)

        codes = {day: judged(stated(after(day)), at, kid).code for day in range(0, 61, 3)}
        settled = {code for day, code in codes.items() if after(day) >= at}
        # A key that is not begun is not known yet; it can only become known as one that begins later.
        assert len(settled - {"unknown_key"}) <= 1, (times, ends, at, codes)
        assert settled <= {"verified", "key_retired", "key_not_yet_valid", "unknown_key"}
        assert "verified" not in settled or "unknown_key" not in settled
        assert {code for day, code in codes.items() if after(day) < at} <= {"unverified"}


def test_the_command_names_the_key_and_the_outcome_at_the_time(tmp_path: Path):
    document, keys = tmp_path / "statement.json", tmp_path / "keys.json"
    document.write_text(ROTATED)
    keys.write_text(json.dumps(KEY_SET))

    def verified(*options: str) -> tuple[int, str]:
        ended = CliRunner().invoke(app, ["verify", "agent-key", str(document), "--keys", str(keys), *options])
        return ended.exit_code, ended.stdout

    code, shown = verified("--at", after(9).isoformat(), "--json")
    found = json.loads(shown)
    assert (code, found["then"], found["key"]["kid"]) == (0, "valid", KIDS[0])
    code, shown = verified("--at", after(10).isoformat(), "--kid", KIDS[0])
    assert (code, shown.splitlines()[-1]) == (1, "not valid at 2026-05-11T12:00:00+00:00")
    code, shown = verified("--at", after(30).isoformat())
    assert (code, shown.splitlines()[-1]) == (1, "unverified at 2026-05-31T12:00:00+00:00")
    assert verified()[0] == 0
    assert verified("--at", "yesterday")[0] == 2
