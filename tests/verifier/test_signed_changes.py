"""What a signer signs counts only where it agrees with itself: each single member changed, and the document signed anew.

Each exception of a subject is a member that says nothing a reader can hold against the rest, and has its reason beside it.
"""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.doors.licence_verification import LicenceToVerify, verify_licence_source
from hansa.rooms.federation.charter import card_paths
from hansa_verify import (
    canonical_json,
    encoded,
    licence_hash,
    read_auditor_keys,
    read_keys,
    verify_attestations,
    verify_registry_card,
)
from hansa_verify.registry_card import EDITABLE_BLOCKS, card_etag
from tests.licences import TestGenesis
from tests.verifier.members import changes_of
from tests.verifier.served import SERVED, vectors_in
from tests.verifier.signed_anew import RESIGNED, written

KEY = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
POINT = KEY.public_key().public_bytes_raw()
AUDITOR = {"kty": "OKP", "crv": "Ed25519", "x": encoded(POINT), "kid": sha256(POINT).hexdigest()[:16]}
AT = "2026-01-31T12:00:00.000000+00:00"
ORDER = r"order .*"
FURTHER = r"add (.*\.)?zz"
"""A later version of the standard adds members."""


@dataclass(frozen=True)
class Subject:
    """Members that a signer signs, how the signed document is judged, and the changes that it may have."""

    members: dict[str, Any]
    judge: Callable[[str], str]
    free: tuple[str, ...]


def record(**members: Any) -> dict[str, Any]:
    return {
        "standard": "SA-1.0",
        "kind": "audit",
        "auditor_version": "0.1.0",
        "frame": "hansa.example",
        "ts": AT,
        "prev_hash": "0" * 64,
        **members,
    }


AUDIT = record(
    currency="AVT",
    audit_row_id=1,
    as_of_event_seq=10,
    terms={"issued": 100, "destroyed": 2, "transit_net": 3, "net_supply": 101, "circulating": 101},
    delta=0,
    status="OK",
    live_status="OK",
    maintenance=False,
    native={"ok": True, "basis": "typed_mints_complete", "gap": 0, "gap_rebased": 0},
    checks={
        "supply": "OK",
        "per_user": "OK",
        "staked_guard": "OK",
        "escrow": "OK",
        "transactions": "OK",
        "solvency": "SOLVENT",
    },
)
ENTRY = {"baseline": 5, "set_at": AT, "ref": "why"}
RAIL = "admin/set-native-baseline"
SET = record(kind="baseline_set", entry=ENTRY, ref="why", rail=RAIL)
REMOVED = record(kind="baseline_removed", entry=None, ref="why", rail=RAIL)
REBASED = record(
    kind="transit_rebaselined",
    old_baseline=0,
    old_drift=5,
    new_baseline=5,
    ref="why",
    rail="admin/rebaseline-transit",
)


def judged_record(text: str) -> str:
    """The only record of a chain, whose envelope repeats the payload, signed by the auditor."""
    payload = json.loads(text)
    said = payload if isinstance(payload, dict) else {}
    envelope = {name: said.get(name) for name in ("frame", "ts", "kind", "prev_hash")}
    signed = {"payload": text, "digest": sha256(text.encode()).hexdigest(), "kid": AUDITOR["kid"]}
    one = {"id": 1, **envelope, **signed, "signature": encoded(KEY.sign(text.encode()))}
    keys = read_auditor_keys({"keys": [AUDITOR]})
    return verify_attestations([one], keys, exact=True, at=datetime.fromisoformat(AT)).code


# Who signs, for which frame and by which program is for the reader to compare.
ENVELOPE = r"(drop|type|value) auditor_version|value frame"


def attestation(payload: dict[str, Any], *free: str) -> Subject:
    return Subject(payload, judged_record, (ORDER, FURTHER, ENVELOPE, *free))


def audit() -> Subject:
    return attestation(
        AUDIT,
        # Informative, or of the database of the auditor.
        r"(drop|type|value) (currency|audit_row_id|live_status|maintenance)",
        # What is null is skipped; a check that was not made is absent.
        r"drop (as_of_event_seq|native\.(gap|gap_rebased)|checks\.\w+)|value as_of_event_seq|drop (status|delta|terms)",
        # Beside a gap that was rebased the plain one is informative.
        r"(type|value) native\.gap",
    )


CARD_KID = "spiffe://hansa.local/registry/changed#1"
OPERATOR = {
    "operator": {"display_name": "Ada", "latitude": 52.516275, "support_contact": {"email": "a@b.example"}},
    "description": "A registry.",
    "tags": ["one", "two"],
    "visual": {"orb_pulse_speed_hz": 0.5, "theme": "neural"},
}


def stated_card() -> dict[str, Any]:
    """A served card with what an operator states, and its entity tag."""
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


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "audit": audit,
    # A higher baseline, or another moment and reason, are what the administrator states.
    "baseline_set": lambda: attestation(SET, r"value (ref|entry\.ref|entry\.baseline)"),
    "baseline_removed": lambda: attestation(REMOVED, r"value ref"),
    "transit_rebaselined": lambda: attestation(REBASED, r"value (ref|old_baseline|old_drift|new_baseline)"),
}  # fmt: skip


@pytest.mark.parametrize("name", SUBJECTS)
def test_each_single_change_that_its_signer_signs_is_refused_unless_it_contradicts_nothing(name: str):
    subject = SUBJECTS[name]()
    text = written(subject.members)
    changes = [(f"{change.kind} {change.place}", change.text) for change in changes_of(text)]
    require_refused([("", text), *changes], subject.judge, subject.free)


@pytest.mark.parametrize("name", RESIGNED)
def test_each_change_of_a_certificate_a_list_or_a_checkpoint_that_its_signer_signs_is_refused(name: str):
    resigned = RESIGNED[name]()
    require_refused([*resigned.vectors()], resigned.judge, resigned.free)


def require_refused(
    changed: list[tuple[str, Any]], judge: Callable[[Any], str], free: tuple[str, ...]
) -> None:
    """Each of the changes but those that are free; the first of them is none and is verified."""
    assert judge(changed[0][1]) == "verified"
    verified = [what for what, document in changed[1:] if judge(document) == "verified"]
    wrong = [what for what in verified if not any(re.fullmatch(one, what) for one in free)]
    assert not wrong, "verified: " + ", ".join(wrong)
    unused = [one for one in free if not any(re.fullmatch(one, what) for what in verified)]
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
