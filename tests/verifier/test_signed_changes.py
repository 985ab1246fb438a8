"""A signed document counts only where it agrees with itself: each single member changed, and the document signed anew.

Each exception of a subject is a member that says nothing a reader can hold against the rest, and has its reason beside it.
"""

import json
import re
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hansa.doors.verification.licences import LicenceToVerify, verify_licence_source
from hansa.rooms.federation.charter import card_paths
from hansa_verify import (
    canonical_json,
    encoded,
    licence_hash,
    read_keys,
    verify_registry_card,
)
from hansa_verify.registry_card import EDITABLE_BLOCKS, card_etag
from tests.licences import TestGenesis
from tests.verifier.members import changes_of
from tests.verifier.served import SERVED, vectors_in
from tests.verifier.signed_anew import AUDITOR, KEY, RESIGNED

CARD_KID = "spiffe://hansa.local/registry/changed#1"
OPERATOR = {
    "operator": {"display_name": "Ada", "latitude": 52.516275, "support_contact": {"email": "a@b.example"}},
    "description": "A registry.",
    "tags": ["one", "two"],
    "visual": {"orb_pulse_speed_hz": 0.5, "theme": "neural"},
}


def stated_card() -> dict[str, Any]:
    """Return a served card with the statements of an operator, and its entity tag."""
    card = json.loads(next(one["document"] for one in vectors_in(SERVED) if one["kind"] == "registry_card"))
    card = {**card, "visual": {**card.get("visual", {}), **OPERATOR["visual"]}, **{
        name: value for name, value in OPERATOR.items() if name != "visual"
    }}  # fmt: skip
    card["lifecycle"]["card_etag"] = card_etag(card, card["signature"]["signed_canonical"])
    return card


def judged_card(card: Any) -> str:
    """The card with its leaves signed anew, whatever its entity tag."""
    signed = deepcopy(card)
    block = signed["signature"]
    leaves = {path: _at(signed, path) for path in block["signed_canonical"]}
    leaves |= {"_signed_at": block["signed_at"], "_expires_at": block["expires_at"]}
    block |= {"kid": CARD_KID, "value": encoded(KEY.sign(canonical_json(leaves)))}
    block.pop("jws", None)
    keys = read_keys({"keys": [{**AUDITOR, "kid": CARD_KID}]})
    return verify_registry_card(json.dumps(signed), keys, at=datetime.fromisoformat(block["signed_at"])).code


def _at(card: Any, path: str) -> Any:
    for name in path.split("."):
        card = card.get(name) if isinstance(card, dict) else None
    return card


@pytest.mark.parametrize("name", RESIGNED)
def test_each_change_that_its_signer_signs_is_refused_unless_it_contradicts_nothing(name: str):
    resigned = RESIGNED[name]()
    (_, unchanged), *changed = resigned.vectors()
    assert resigned.evaluate(unchanged) == "verified"
    verified = [what for what, vector in changed if resigned.evaluate(vector) == "verified"]
    wrong = [what for what in verified if not any(re.fullmatch(one, what) for one in resigned.free)]
    assert not wrong, "verified: " + ", ".join(wrong)
    unused = [one for one in resigned.free if not any(re.fullmatch(one, what) for what in verified)]
    assert not unused, "an exception of which nothing is verified"


@pytest.mark.parametrize("block", [*OPERATOR, "fees", "identity", "federation", "capabilities"])
def test_no_change_of_tagged_content_is_verified_under_the_entity_tag_of_other_content(block: str):
    card = stated_card()
    assert judged_card(card) == "verified"
    paths = [path for path in card["signature"]["signed_canonical"] if path.split(".")[0] == block]
    refused = 0
    for change in changes_of(json.dumps({block: card[block]}, separators=(",", ":"))):
        changed = {**card, **json.loads(change.text)}
        same = card_etag(changed, card["signature"]["signed_canonical"]) == card["lifecycle"]["card_etag"]
        code = judged_card(changed) if block in changed else "absent"
        assert same or code != "verified", change
        refused += code == "etag_mismatch"
    assert refused or not (paths or block in EDITABLE_BLOCKS)


def test_the_blocks_of_the_entity_tag_are_those_that_operators_edit():
    assert card_paths.EDITABLE_BLOCKS == EDITABLE_BLOCKS


@pytest.mark.parametrize(
    ("stated", "code"), [({}, "verified"), ({"hash": None}, "verified"), ({"hash": "0" * 64}, "malformed")]
)
def test_a_document_counts_only_with_the_hash_of_its_certificate(
    tmp_path: Path, stated: dict[str, Any], code: str
):
    now = TestGenesis("genesis.example")
    text, listed = now.certificate, now.issued_list(now.certificate)
    licence, issued = tmp_path / "licence.json", tmp_path / "list.json"
    licence.write_text(json.dumps({"certificate": text, "chain": [], **stated}))
    issued.write_text(json.dumps({"list": listed}))
    asked = LicenceToVerify(str(licence), licence_hash(text), (str(issued),))
    assert verify_licence_source(asked).code == code
    licence.write_text(json.dumps({"certificate": text, "chain": [], "hash": licence_hash(text)}))
    assert verify_licence_source(asked).code == "verified"
