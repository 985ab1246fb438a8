"""Frozen statements of achievements: none is believed for more than was signed."""

import json
from datetime import datetime

from hansa_verify import read_keys, verify_achievement
from tests.verifier.achievements import FROZEN, frozen
from tests.verifier.served import Vector, vectors_in


def judged(vector: Vector) -> str:
    at = datetime.fromisoformat(vector["at"])
    verdict = verify_achievement(vector["document"], read_keys(vector["keys"]), at=at)
    assert verdict.is_valid == all(step.holds for step in verdict.steps) == (verdict.card is not None)
    return verdict.code


def test_each_frozen_statement_is_judged_as_it_must_be():
    vectors = vectors_in(FROZEN)
    assert {one["name"]: judged(one) for one in vectors} == {one["name"]: one["expect"] for one in vectors}


def test_the_statements_are_made_again_byte_for_byte():
    assert "".join(json.dumps(one) + "\n" for one in frozen()) == FROZEN.read_text()
