"""Tokens that a paid service accepts, by the facts that a registry verifies of them."""

import msgspec
import pytest

from hansa_client.records.payments import Verification
from hansa_client.service.terms import Captures, Facts, facts_of

OWN, PEER, OTHER = "https://own.example", "https://peer.example", "https://other.example"
BY_SERVICE, BY_CALLER, NOT_RESERVED = "CAPTURE_NOT_SUPPORTED", "CAPTURE_BY_CALLER", "NOT_RESERVED"


def verified(issuer: str, capture_by: str) -> tuple[Verification, Facts]:
    stated = {
        "valid": True,
        "token_id": "1",
        "caller_did": "did:hansa:own.example:caller",
        "target_agent_did": "did:hansa:own.example:service",
        "amount": "1",
        "currency": "AVT",
        "capture_by": capture_by,
        "reserved": False,
    }
    nothing = dict.fromkeys(Verification.__struct_fields__)
    verdict = msgspec.convert({**nothing, **stated}, Verification)
    facts = facts_of(verdict, issuer, by_x402=False)
    assert facts is not None
    return verdict, facts


def refusal(captures: Captures, issuer: str, capture_by: str) -> str | None:
    verdict, facts = verified(issuer, capture_by)
    refused = captures.of_issuer(issuer, OWN).refusal_of(verdict, facts)
    return refused.code if refused else None


@pytest.mark.parametrize(
    ("captures", "issuer", "capture_by", "expected"),
    [
        (Captures(by_service=True), OWN, "payee", None),
        (Captures(by_service=True), OWN, "caller", BY_CALLER),
        # Of another registry nothing can be captured, whatever its verification says.
        (Captures(by_service=True), PEER, "payee", BY_SERVICE),
        (Captures(by_service=True, callers_of=frozenset({PEER})), PEER, "payee", BY_SERVICE),
        (Captures(by_service=True, by_any_caller=True), PEER, "payee", BY_SERVICE),
        (Captures(by_service=True), PEER, "caller", NOT_RESERVED),
        (Captures(by_service=True, callers_of=frozenset({PEER})), PEER, "caller", None),
        (Captures(by_service=True, callers_of=frozenset({PEER})), OTHER, "caller", NOT_RESERVED),
        (Captures(by_service=True, callers_of=frozenset({PEER})), OWN, "caller", BY_CALLER),
        (Captures(by_service=False, callers_of=frozenset({PEER})), PEER, "caller", None),
        (Captures(by_service=False, callers_of=frozenset({PEER})), OWN, "caller", NOT_RESERVED),
        (Captures(by_service=False, by_any_caller=True), OTHER, "caller", None),
    ],
)
def test_a_token_is_accepted_by_its_issuer_and_by_the_one_that_settles_it(
    captures: Captures, issuer: str, capture_by: str, expected: str | None
):
    assert refusal(captures, issuer, capture_by) == expected


def test_a_challenge_names_the_callers_that_are_trusted():
    assert Captures(by_service=True).stated == ("payee",)
    assert Captures(by_service=True, callers_of=frozenset({PEER})).stated == ("payee", "caller")
    assert Captures(by_service=False, callers_of=frozenset({PEER})).stated == ("caller",)
    assert Captures(by_service=False, callers_of=frozenset({PEER})).needs_reserve
