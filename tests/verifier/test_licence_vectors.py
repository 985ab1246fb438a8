"""Frozen licences with their chains and lists, thousands of changes to a valid one, and calls that never raise."""

import json
import random
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hansa_verify import verify_licence
from tests.properties.scale import by_tier, printed_seed

LICENCES = Path(__file__).parents[1] / "vectors" / "licences"
VECTORS = {file.stem: json.loads(file.read_text()) for file in sorted(LICENCES.glob("*.json"))}
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.="


def judged(vector: dict[str, Any]) -> str:
    verdict = verify_licence(
        vector["certificate"],
        vector["chain"],
        root_hash=vector["root"],
        lists=vector["lists"],
        at=datetime.fromisoformat(vector["at"]),
    )
    assert verdict.is_valid == (verdict.code == "verified") == all(step.holds for step in verdict.steps)
    assert verdict.reason
    return verdict.code


@pytest.mark.parametrize("expected", sorted({vector["expect"] for vector in VECTORS.values()}))
def test_each_frozen_licence_is_judged_as_it_must_be(expected: str):
    named = {name: vector for name, vector in VECTORS.items() if vector["expect"] == expected}
    outcomes = {name: judged(vector) for name, vector in named.items()}
    assert outcomes == dict.fromkeys(named, expected)


def test_no_licence_with_one_character_changed_is_verified():
    rng = random.Random(printed_seed())
    valid = VECTORS["valid_operator"]
    texts = [("certificate", None), ("chain", 0), ("chain", 1), ("lists", 0), ("lists", 1)]
    for _ in range(by_tier(2_000, 180_000, 200_000)):
        member, index = rng.choice(texts)
        text = valid[member] if index is None else valid[member][index]
        place = rng.randrange(len(text))
        kind = rng.randrange(3)
        end = place + (kind != 0)
        added = rng.choice(ALPHABET) if kind != 1 else ""
        mutant = text[:place] + added + text[end:]
        if mutant == text:
            continue
        parts = [mutant if at == index else part for at, part in enumerate(valid[member])]
        changed = valid | {member: mutant if index is None else parts}
        assert judged(changed) != "verified", (member, index, place, mutant)


def test_the_parts_of_a_licence_of_another_kind_are_judged_and_never_raise():
    valid = VECTORS["valid_operator"]
    for odd in (None, 7, True, [], {}, "\ud800", "a" * 20_000, "…", b"a.b.c"):
        assert judged(valid | {"certificate": odd}) == "malformed"
        assert judged(valid | {"chain": [odd]}) == "malformed"
        assert judged(valid | {"lists": [odd]}) == "malformed"
