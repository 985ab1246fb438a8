"""Frozen evidence of slashes across registries, and changes of one: none is believed for more than was signed."""

import json
import random
from datetime import datetime

from hansa_verify import read_keys, verify_settlement
from tests.properties.scale import by_tier, printed_seed
from tests.verifier.served import Vector, vectors_in
from tests.verifier.settlements import FROZEN, frozen

VALID = [one for one in vectors_in(FROZEN) if one["expect"] == "verified"]


def judged(vector: Vector) -> str:
    verdict = verify_settlement(
        vector["document"], read_keys(vector["keys"]), at=datetime.fromisoformat(vector["at"])
    )
    assert verdict.is_valid == all(step.holds for step in verdict.steps) == bool(verdict.messages)
    return verdict.code


def test_each_frozen_settlement_is_judged_as_it_must_be():
    vectors = vectors_in(FROZEN)
    assert {one["name"]: judged(one) for one in vectors} == {one["name"]: one["expect"] for one in vectors}


def test_the_settlements_are_made_again_byte_for_byte():
    assert "".join(json.dumps(one) + "\n" for one in frozen()) == FROZEN.read_text()


def test_evidence_larger_than_two_megabytes_is_not_read():
    assert judged({**VALID[0], "document": VALID[0]["document"] + " " * 2 * 1024 * 1024}) == "malformed"


def test_no_single_edit_of_the_evidence_of_a_settlement_is_accepted_with_another_statement():
    rng = random.Random(printed_seed())
    for _ in range(by_tier(300, 20_000, 100_000)):
        vector = rng.choice(VALID)
        text = vector["document"]
        place = rng.randrange(len(text))
        added = rng.choice(["", chr(rng.randrange(32, 127)), chr(ord(text[place]) ^ 1 << rng.randrange(7))])
        mutant = {**vector, "document": text[:place] + added + text[place + rng.randrange(2) :]}
        if judged(mutant) == "verified":
            assert json.loads(mutant["document"]) == json.loads(text)
