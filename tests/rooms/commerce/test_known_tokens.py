"""Tokens that a process knows because it verified them."""

from datetime import UTC, datetime
from uuid import UUID

from hansa.foundation.values.money import Minor
from hansa.rooms.commerce.payments import Token, VerifiedTokenCache

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def token(number: int) -> Token:
    return Token(
        id=UUID(int=number),
        caller="did:hansa:hansa.local:caller",
        payee="did:hansa:hansa.local:payee",
        amount=Minor(1),
        status="consumed",
        capture_by="caller",
        is_reserved=False,
        fixed_fee=None,
        contract_id=None,
        resource=None,
        request_digest=None,
        is_counted=False,
        capability_id=None,
        created_at=NOW,
        expires_at=NOW,
    )


def test_a_token_is_taken_once():
    known = VerifiedTokenCache()
    known.note(b"one", token(1))
    assert known.take(b"one") == token(1)
    assert known.take(b"one") is None


def test_beyond_the_bound_the_oldest_is_forgotten_and_one_that_is_noted_again_displaces_none():
    known = VerifiedTokenCache(2)
    for number in (1, 2, 2, 3):
        known.note(bytes([number]), token(number))
    assert known.take(b"\1") is None
    assert known.take(b"\2") == token(2)
    assert known.take(b"\3") == token(3)
