"""Vectors that the guide of conformance publishes: its table agrees with the files, and canonical JSON is judged as stated."""

import json
import re
from collections import Counter
from pathlib import Path

from hansa_verify import NotCanonical, canonical_json, read_json
from tests.verifier.canonical_texts import FROZEN, frozen
from tests.verifier.served import EDITED, SERVED, VECTORS, Vector, vectors_in

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "conformance.md"
ROW = re.compile(
    r"^\| [^|]+ \| `tests/vectors/([^`]+)` \| [^|]+ \| ([0-9,]+) \| ([0-9,]+) \| [0-9.]+ \|$", re.MULTILINE
)
SUMS = {"balance", "blocks"}


def judged(vector: Vector) -> tuple[str, str | None]:
    """The outcome for a text, and the canonical form of its value."""
    text = bytes.fromhex(vector["text"])
    try:
        form = canonical_json(read_json(text))
    except NotCanonical:
        return "unreadable", None
    return ("verified" if form == text else "not_canonical"), form.decode()


def published(name: str) -> list[Vector]:
    """The vectors of a row: a folder has one in each file; of the served objects a row names those with sums."""
    place = VECTORS / name
    if place.is_dir():
        return [json.loads(file.read_text()) for file in place.glob("*.json")]
    found = vectors_in(place)
    return [one for one in found if one["kind"] in SUMS] if place in {SERVED, EDITED} else found


def test_each_text_has_the_canonical_form_that_is_stated():
    vectors = vectors_in(FROZEN)
    stated = {one["name"]: (one["expect"], one["canonical"]) for one in vectors}
    assert {one["name"]: judged(one) for one in vectors} == stated
    assert len(stated) == len(vectors)


def test_the_texts_are_made_again_byte_for_byte():
    assert "".join(json.dumps(one) + "\n" for one in frozen()) == FROZEN.read_text()


def test_the_table_of_the_guide_agrees_with_the_files():
    rows = {name: (int(passing), int(failing)) for name, passing, failing in ROW.findall(GUIDE.read_text())}
    assert set(rows) == {"canonical.jsonl", "licences", "attestations", "served.jsonl", "served_edited.jsonl"}
    for name, numbers in rows.items():
        counted = Counter(one["expect"] == "verified" for one in published(name))
        assert numbers == (counted[True], counted[False]), name
