"""Cards that agents sign themselves: whose signature counts, and the consequences of one that fails."""

import itertools
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from json import dumps

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.values.canonical import canonical_json
from hansa.rooms.catalogue.signatures import AgentKey, InboundVerdict, SignaturePolicy, verify_inbound
from hansa.rooms.catalogue.signatures.a2a_profile import a2a_signature
from tests.registry import card_of

ENDED = datetime(2026, 1, 1, tzinfo=UTC)
PRESENT, FORMER, STRANGER = [Ed25519PrivateKey.generate() for _ in range(3)]


def encoded(raw):
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def held(key, number, ended_at=None):
    return AgentKey(number, key.public_key().public_bytes_raw(), datetime(2026, 1, 1, tzinfo=UTC), ended_at)


KEYS = [held(PRESENT, 2), held(FORMER, 1, ENDED)]


def whole(card, key, **header):
    """The registry's profile, as an agent may use it too."""
    header = {"alg": "EdDSA", "typ": "JOSE", "kid": "any", "canon": "sorted-ascii-json/1", **header}
    protected = encoded(dumps(header).encode())
    signed = f"{protected}.{encoded(canonical_json(card))}".encode()
    return {"protected": protected, "signature": encoded(key.sign(signed))}


def stock(card, key, **header):
    """Sign a card as a stock A2A signer does."""
    return a2a_signature(card, key, {"kid": "any", "typ": "JOSE", **header})


def judged(card, *signatures, keys=KEYS):
    verdict = verify_inbound({**card, "signatures": list(signatures)}, keys)
    return verdict.outcome if verdict.reason is None else verdict.reason


@pytest.mark.parametrize("sign", [whole, stock])
def test_only_the_present_key_of_the_agent_signs_its_card(sign):
    card = card_of(description="Grüße 🌍", pricing={"base_rate": 0.05})
    assert judged(card, sign(card, PRESENT)) == "verified"
    assert judged(card, sign(card, FORMER)) == "key_retired"
    assert judged(card, sign(card, STRANGER)) == "bad_signature"
    assert judged(card, sign(card, PRESENT), keys=[held(PRESENT, 1, ENDED)]) == "key_unknown"
    assert judged(card, sign(card, PRESENT), keys=[]) == "key_unknown"


@pytest.mark.parametrize("sign", [whole, stock])
def test_a_card_changed_after_signing_fails(sign):
    card = card_of()
    assert judged({**card, "description": "Another."}, sign(card, PRESENT)) == "bad_signature"


def test_a_stock_signature_does_not_cover_a_price_and_one_over_the_whole_card_does():
    card = card_of(pricing={"base_rate": 1})
    dearer = {**card, "pricing": {"base_rate": 2}}
    assert judged(dearer, stock(card, PRESENT)) == "verified"
    assert judged(dearer, whole(card, PRESENT)) == "bad_signature"


def test_one_good_signature_among_others_is_enough():
    card = card_of()
    assert judged(card, {"protected": 7}, whole(card, STRANGER), stock(card, PRESENT)) == "verified"


def test_a_card_without_signatures_is_unsigned():
    assert verify_inbound(card_of(), KEYS).outcome == "unsigned"
    assert judged(card_of()) == "unsigned"


@pytest.mark.parametrize(
    ("reason", "header"),
    [
        ("unknown_alg", {"alg": "none"}),
        ("unknown_alg", {"alg": "ES256"}),
        ("unknown_alg", {"alg": None}),
        ("unknown_profile", {"canon": "other/1"}),
        ("malformed", {"crit": ["b64"], "b64": False}),
        ("malformed", {"kid": 5}),
        ("malformed", {"canon": []}),
        ("malformed", {"iat": "now"}),
        ("malformed", {"kid": "k" * 2000}),
    ],
)
def test_a_header_that_cannot_be_judged_has_a_named_reason(reason, header):
    card = card_of()
    assert judged(card, whole(card, PRESENT, **header)) == reason


@pytest.mark.parametrize(
    "signatures",
    [
        "text",
        7,
        {"protected": "e30"},
        [None],
        [7],
        [[]],
        [{}],
        [{"protected": "", "signature": ""}],
        [{"protected": "e30=", "signature": "AA"}],
        [{"protected": "e31", "signature": "AA"}],
        [{"protected": encoded(b'{"alg":"EdDSA","alg":"EdDSA"}'), "signature": encoded(bytes(64))}],
        [{"protected": encoded(b'{"alg":"EdDSA"}'), "signature": encoded(bytes(63))}],
        [{"protected": encoded(b"[" * 5000), "signature": encoded(bytes(64))}],
        [{"protected": encoded(b"[]"), "signature": encoded(bytes(64))}],
        [{"protected": "é", "signature": "é"}],
        [{"protected": "A" * 100_000, "signature": "A"}],
        [whole(card_of(), PRESENT)] * 17,
    ],
)
def test_whatever_stands_in_signatures_is_judged_and_raises_nothing(signatures):
    verdict = verify_inbound({**card_of(), "signatures": signatures}, KEYS)
    assert (verdict.outcome, verdict.reason in {"malformed", "unknown_alg"}) == ("failed", True)


@pytest.mark.parametrize(
    "card",
    [{}, {"skills": 7}, {"name": {"a": []}}, {"skills": [None]}, {"name": "\ud800"}, {"x": float("nan")}],
)
@pytest.mark.parametrize("canon", ["sorted-ascii-json/1", "jcs-a2a/1"])
def test_a_document_that_is_no_card_fails_and_raises_nothing(card, canon):
    assert judged(card, whole(card_of(), PRESENT, canon=canon)) == "bad_signature"


def test_what_a_registry_signed_is_no_word_of_the_agent():
    card = card_of()
    kid = "spiffe://hansa.local/registry/hansa#1"
    by_a_registry = [whole(card, STRANGER, kid=kid), stock(card, STRANGER, kid=kid)]
    assert judged(card, *by_a_registry) == "unsigned"
    assert judged(card, *by_a_registry, whole(card, PRESENT)) == "verified"
    assert judged(card, *by_a_registry, whole(card, FORMER)) == "key_retired"


def test_the_signature_has_one_text():
    card = card_of()
    good = whole(card, PRESENT)
    last = good["signature"][-1]
    aliases = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    place = aliases.index(last)
    spellings = [
        good["signature"] + "==",
        good["signature"] + "\n",
        good["signature"][:40] + "!" + good["signature"][40:],
        *(good["signature"][:-1] + aliases[place - place % 16 + low] for low in range(1, 16)),
    ]
    assert {judged(card, {**good, "signature": text}) for text in spellings} == {"malformed"}


def test_what_follows_from_a_verdict_is_the_policy_of_the_operator():
    verdicts = {
        outcome: InboundVerdict(outcome, None, "for the test")
        for outcome in ("verified", "unsigned", "failed")
    }
    for keep, enforce, require in itertools.product([False, True], repeat=3):
        policy = SignaturePolicy(keep=keep, enforce=enforce, require=require)
        refused = {outcome for outcome, verdict in verdicts.items() if policy.refuses(verdict)}
        noted = {outcome for outcome, verdict in verdicts.items() if policy.notes(verdict)}
        assert refused == ({"failed", *(["unsigned"] if require else [])} if enforce else set())
        assert noted == ({"verified"} if keep or enforce else set())
