"""Frozen contract proofs with the cards on which they rest, and changes of one: none is believed for more than was signed."""

import json
import random
from datetime import datetime

from hansa_verify import read_keys, verify_contract_proof
from tests.properties.scale import by_tier, printed_seed
from tests.verifier.contract_proofs import FROZEN, PROOF, frozen
from tests.verifier.served import Vector, vectors_in

VALID = next(one for one in vectors_in(FROZEN) if one["name"] == "valid")


def judged(vector: Vector) -> str:
    at = datetime.fromisoformat(vector["at"])
    verdict = verify_contract_proof(vector["document"], vector["card"], read_keys(vector["keys"]), at=at)
    assert verdict.is_valid == all(step.holds for step in verdict.steps)
    return verdict.code


def test_each_frozen_proof_is_judged_as_it_must_be():
    vectors = vectors_in(FROZEN)
    assert {one["name"]: judged(one) for one in vectors} == {one["name"]: one["expect"] for one in vectors}


def test_the_proofs_are_made_again_byte_for_byte():
    assert "".join(json.dumps(one) + "\n" for one in frozen()) == FROZEN.read_text()


def test_no_single_edit_of_a_proof_or_its_card_is_accepted_with_another_contract():
    rng = random.Random(printed_seed())
    card = json.loads(VALID["card"])
    for _ in range(by_tier(300, 20_000, 100_000)):
        member = rng.choice(["document", "card"])
        text = VALID[member]
        place = rng.randrange(len(text))
        added = rng.choice(["", chr(rng.randrange(32, 127)), chr(ord(text[place]) ^ 1 << rng.randrange(7))])
        mutant = {**VALID, member: text[:place] + added + text[place + rng.randrange(2) :]}
        if judged(mutant) == "verified":
            assert json.loads(mutant["document"]) == PROOF
            assert json.loads(mutant["card"])["compliance"] == card["compliance"]
