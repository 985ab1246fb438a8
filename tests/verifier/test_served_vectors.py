"""Objects of every kind as a registry served them, and edits of them: each has the outcome that is frozen with it."""

import json
import random
from collections import Counter
from copy import deepcopy

import pytest

from hansa_verify import read_issued_list, verify_card
from hansa_verify.jws import read_compact
from hansa_verify.licence import LIST_MAX_CHARACTERS, LIST_TYP
from tests.licences import TestGenesis
from tests.properties.scale import by_tier, printed_seed
from tests.verifier.edit_served import edited
from tests.verifier.served import EDITED, SERVED, VECTORS, judged, vectors_in

VALID_MIN, REFUSED_MIN = 200, 400


@pytest.mark.parametrize("file", [SERVED, EDITED], ids=lambda file: file.stem)
def test_each_frozen_object_is_judged_as_it_must_be(file):
    vectors = vectors_in(file)
    assert {one["name"]: judged(one) for one in vectors} == {one["name"]: one["expect"] for one in vectors}


def test_the_edits_are_made_again_byte_for_byte():
    assert "".join(json.dumps(one) + "\n" for one in edited()) == EDITED.read_text()


def test_the_vectors_are_as_many_as_a_verifier_of_another_language_needs():
    expected = Counter(one["expect"] == "verified" for file in (SERVED, EDITED) for one in vectors_in(file))
    for kind in ("cards", "licences", "attestations"):
        for file in (VECTORS / kind).glob("*.json"):
            expected[json.loads(file.read_text())["expect"] == "verified"] += 1
    assert expected[True] >= VALID_MIN
    assert expected[False] >= REFUSED_MIN


def content(vector):
    """Return the content of a verified document, its order and blanks aside."""
    document = json.loads(vector["document"])
    if vector["kind"] == "registry_card":
        block = document["signature"]
        return [leaf(document, path) for path in block["signed_canonical"]], block["signed_at"]
    if vector["kind"] == "leaf":
        text = document["checkpoint"].rpartition("\n\n")[0]
        return document["entry"], document["index"], document["size"], document["hashes"], text
    text = document["checkpoint"].rpartition("\n\n")[0]
    return document["hashes"], text, vector["old"].rpartition("\n\n")[0]


def leaf(card, path):
    for name in path.split("."):
        card = card.get(name) if isinstance(card, dict) else None
    return card


def changed(rng, vector):
    """The vector with one byte of its document changed, removed or inserted, or one character of the older checkpoint."""
    mutant = deepcopy(vector)
    name = "old" if "old" in vector and rng.random() < 0.5 else "document"
    text = vector[name]
    place, kind = rng.randrange(len(text)), rng.randrange(3)
    added = (
        ""
        if kind == 0
        else chr(rng.choice([ord(text[place]) ^ 1 << rng.randrange(7), rng.randrange(32, 127)]))
    )
    mutant[name] = text[:place] + added + text[place + (kind != 2) :]
    return mutant


@pytest.mark.parametrize("kind", ["registry_card", "leaf", "consistency"])
def test_no_single_edit_is_accepted_with_another_signed_content(kind):
    rng = random.Random(printed_seed())
    original = next(one for one in reversed(vectors_in(SERVED)) if one["kind"] == kind)
    if kind == "consistency":
        original = [
            one for one in vectors_in(SERVED) if one["kind"] == kind and '"hashes":[]' not in one["document"]
        ][3]
    for _ in range(by_tier(800, 50_000, 200_000)):
        mutant = changed(rng, original)
        if judged(mutant) == "verified":
            assert content(mutant) == content(original), mutant


def test_a_signed_number_is_compared_with_all_its_digits():
    vector = next(one for one in vectors_in(SERVED) if one["kind"] == "registry_card")
    place = '"cross_registry":{"base_rate_percent":0.5'
    assert place in vector["document"]
    for more, is_same in (("0" * 36 + "1", False), ("000001", False), ("000", True)):
        text = vector["document"].replace(place, place + more, 1)
        assert (judged({**vector, "document": text}) == "verified") == is_same


def test_a_list_of_8_mb_is_read_and_one_character_more_is_refused():
    genesis = TestGenesis("network.example", seed=b"\x05" * 32)
    payload = {"x": "a" * (LIST_MAX_CHARACTERS * 3 // 4 - 600)}
    text = genesis.sign(payload, LIST_TYP)
    assert len(text) <= LIST_MAX_CHARACTERS
    assert read_compact(text, LIST_TYP, LIST_MAX_CHARACTERS) is not None
    assert read_compact(text, LIST_TYP, len(text)) is not None
    assert read_compact(text, LIST_TYP, len(text) - 1) is None
    with pytest.raises(ValueError, match=r"is required|not a member"):
        read_issued_list(text)


def test_a_document_of_2_mb_is_judged_and_a_byte_more_is_refused():
    at_limit = b'{"a":"' + b"x" * (2 * 1024 * 1024 - 8) + b'"}'
    assert verify_card(at_limit, ()).code == "unsigned"
    assert verify_card(at_limit + b" ", ()).code == "malformed"
