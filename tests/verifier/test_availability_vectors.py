"""Frozen availability: no bound is believed that does not follow from signed and logged hours."""

import json
import random
from datetime import datetime
from typing import Any

from hansa_verify import read_auditor_keys, read_keys, verify_availability
from tests.properties.scale import by_tier, printed_seed
from tests.verifier.availability import FROZEN, frozen


def verdict_of(vector: dict[str, Any], document: str) -> Any:
    keys, auditors = read_keys(vector["keys"]), read_auditor_keys(vector["auditor_keys"])
    return verify_availability(document, keys, auditors, at=datetime.fromisoformat(vector["at"]))


def test_each_frozen_answer_is_judged_as_it_must_be():
    vectors = [json.loads(line) for line in FROZEN.read_text().splitlines()]
    verdicts = {one["name"]: verdict_of(one, one["document"]).code for one in vectors}
    assert verdicts == {one["name"]: one["expect"] for one in vectors}


def test_the_answers_are_made_again_byte_for_byte():
    assert "".join(json.dumps(one) + "\n" for one in frozen()) == FROZEN.read_text()


def test_as_of_an_earlier_time_a_later_statement_is_not_believed():
    vector = next(frozen())
    earlier = vector | {"at": "2026-05-30T00:00:00+00:00"}
    assert verdict_of(earlier, vector["document"]).code == "statements"


def test_no_cut_or_changed_character_raises_or_passes_for_another_answer():
    vector, rng = next(frozen()), random.Random(printed_seed())
    text = vector["document"]
    for _ in range(by_tier(150, 1500, 15_000)):
        place = rng.randrange(len(text))
        changed = text[:place] + rng.choice(["", "0", "9", '"', "é", "null", "\ud800"]) + text[place + 1 :]
        verdict = verdict_of(vector, changed)
        assert not verdict.is_valid or json.loads(changed) == json.loads(text)
