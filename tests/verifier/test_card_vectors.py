"""The frozen vectors, and thousands of changes to a valid card: none is believed."""

import json
import random
from datetime import datetime
from pathlib import Path

import pytest

from hansa.foundation.values.canonical import canonical_json as of_the_registry
from hansa.foundation.values.jwk import NotAKey as RefusedByTheRegistry
from hansa.foundation.values.jwk import public_key_of as key_of_the_registry
from hansa_verify import NotAKey, canonical_json, public_key_of, read_json, read_keys, verify_card
from tests.properties.scale import by_tier, printed_seed

CARDS = Path(__file__).parents[1] / "vectors" / "cards"
MUTANTS = by_tier(4_000, 500_000, 1_000_000)
VECTORS = {file.stem: json.loads(file.read_text()) for file in sorted(CARDS.glob("*.json"))}


def outcome(vector):
    try:
        keys = read_keys(vector["keys"])
    except NotAKey:
        return "keys_refused"
    return verify_card(vector["card"], keys, at=datetime.fromisoformat(vector["at"])).code


@pytest.mark.parametrize("expected", sorted({vector["expect"] for vector in VECTORS.values()}))
def test_each_frozen_card_is_judged_as_it_must_be(expected):
    named = {name: vector for name, vector in VECTORS.items() if vector["expect"] == expected}
    assert {name: outcome(vector) for name, vector in named.items()} == dict.fromkeys(named, expected)


def test_the_verifier_and_the_registry_refuse_the_same_keys_though_they_share_no_code():
    jwks = [jwk for vector in VECTORS.values() for jwk in vector["keys"]["keys"]]
    assert len({jwk["x"] for jwk in jwks}) > 8
    for jwk in jwks:
        theirs, ours = [], []
        for read, refusal, answers in (
            (key_of_the_registry, RefusedByTheRegistry, theirs),
            (public_key_of, NotAKey, ours),
        ):
            try:
                answers.append(read(jwk))
            except refusal:
                answers.append(None)
        assert theirs == ours, jwk


def test_the_verifier_and_the_registry_write_the_same_canonical_form():
    for vector in VECTORS.values():
        if vector["expect"] == "verified":
            value = json.loads(vector["card"])
            assert canonical_json(value) == of_the_registry(value)


def changed(rng, text):
    """The text with one thing changed: a bit, a byte, a member twice, two members exchanged, an end cut off."""
    raw = bytearray(text.encode())
    place = rng.randrange(len(raw))
    kind = rng.randrange(7)
    if kind == 0:
        raw[place] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del raw[place]
    elif kind == 2:
        raw.insert(place, rng.randrange(256))
    elif kind == 3:
        del raw[place : place + rng.randrange(1, 40)]
    elif kind == 4:
        return bytes(raw[: rng.randrange(len(raw))])
    elif kind == 5:
        piece = raw[place : place + rng.randrange(1, 60)]
        raw[place:place] = piece
    else:
        other = rng.randrange(len(raw))
        raw[place], raw[other] = raw[other], raw[place]
    return bytes(raw)


def rebuilt(rng, value):
    """The value with one member or item taken away, doubled or replaced, somewhere in it."""
    if isinstance(value, dict) and value:
        name = rng.choice(list(value))
        rest = {key: one for key, one in value.items() if key != name}
        doubled = {**value, rng.choice(["x", "price", name + " "]): value[name]}
        return rng.choice([rest, doubled, {**value, name: rebuilt(rng, value[name])}])
    if isinstance(value, list) and value:
        place = rng.randrange(len(value))
        before, after = value[:place], value[place + 1 :]
        return rng.choice(
            [before + after, [*value, value[place]], [*before, rebuilt(rng, value[place]), *after]]
        )
    return rng.choice([None, True, False, 0, 1, -1, 0.5, "", "x", [], {}, [value], {"a": value}])


def test_no_changed_card_is_believed_for_more_than_was_signed():
    """Require of an accepted text exactly the statement that the registry signed: blanks may differ, and members that nobody reads."""
    rng = random.Random(printed_seed())
    vector = VECTORS["valid"]
    keys, at = read_keys(vector["keys"]), datetime.fromisoformat(vector["at"])
    original = json.loads(vector["card"])
    signed = {name: value for name, value in original.items() if name != "signatures"}
    accepted = 0
    for turn in range(MUTANTS):
        if turn % 2:
            text = changed(rng, vector["card"])
        else:
            # The registry's own entry stays, so that what is judged is the card.
            document = {**rebuilt(rng, signed), "signatures": original["signatures"]}
            text = json.dumps(document)
        verdict = verify_card(text, keys, at=at)
        if verdict.is_valid:
            accepted += 1
            assert canonical_json(verdict.card) == canonical_json(signed), text
            assert json.loads(text)["signatures"][0] == original["signatures"][0]
    assert accepted < MUTANTS / 10


@pytest.mark.parametrize(
    "text",
    ["5", "null", '"text"', "[]", "{}", '{"signatures":[{}]}', b"\xff\xfe", b"\xef\xbb\xbf{}", "[" * 100_000],
)
def test_whatever_is_judged_there_is_a_verdict_and_no_exception(text):
    assert verify_card(text, ()).code in {"malformed", "unsigned"}


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ({"valid_from": "0001-01-01T00:00:00+23:59", "retired_at": "9999-12-31T23:59:59-23:59"}, "verified"),
        ({"valid_from": "9999-12-31T23:59:59.999999-23:59"}, "key_not_yet_valid"),
        ({"retired_at": "0001-01-01T00:00:00+23:59"}, "key_retired"),
        ({"retired_at": "2026-02-30T00:00:00Z"}, "keys_refused"),
    ],
)
def test_keys_of_the_first_and_the_last_year_are_judged(times, expected):
    vector = VECTORS["valid"]
    keys = {
        "keys": [{**jwk, "valid_from": None, "retired_at": None, **times} for jwk in vector["keys"]["keys"]]
    }
    assert outcome({**vector, "keys": keys}) == expected


def test_numbers_are_read_as_one_value_or_not_at_all():
    assert read_json("[0.1, 1e22, 5e-324, 1.0, 100000000000000000000]") == [0.1, 1e22, 5e-324, 1.0, 10**20]
    for text in ("0.10000000000000001", "1e400", "-1e400", "1e-400", "Infinity", "-NaN", "01", "1.", "+1"):
        with pytest.raises(ValueError, match=r"."):
            read_json(f"[{text}]")
