"""`python -m tests.verifier.contract_proofs`: contract proofs with the cards on which they rest, into `tests/vectors/contract_proofs.jsonl`.

Each card is that of a registry with a block `compliance`, signed anew with a key of 32 bytes of 1.
"""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa_verify import canonical_json, encoded
from hansa_verify.registry_card import card_etag
from tests.verifier.served import SERVED, VECTORS, Vector, vectors_in

FROZEN = VECTORS / "contract_proofs.jsonl"
KEY = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
KID = "spiffe://hansa.local/registry/proofs#1"
LEAF = "compliance.digest"
SUBSET = {
    "title": "Zulassung für Köln 😀",
    "terms": {"b": "ü", "a": [1, None, 0.5, 1e22, -0.0], "ﬀ": {}, "😀": True},
    "amount": "12.5",
    "provider_did": "did:hansa:hansa.local:1",
}
ID = "7d1c2a5e-0000-4000-8000-000000000001"
Edit = Callable[[Any], None]


def digest_of(value: Any) -> str:
    return sha256(canonical_json(value)).hexdigest()


PROOF = {
    "contract_id": 7,
    "subset": SUBSET,
    "digest": digest_of(SUBSET),
    "authorization_id": ID,
    "verdict": "attestation-grade",
}
AUTHORIZATION = {
    "id": ID,
    "action": "fiat.lane",
    "authority": "Behörde",
    "subject": "hansa.local",
    "valid_until": "2099-01-01T00:00:00.000000+00:00",
    "evidence": {"tier": "contract", "contract_id": 7, "contract_digest": PROOF["digest"]},
}
OTHER = {**AUTHORIZATION, "id": "7d1c2a5e-0000-4000-8000-000000000002", "evidence": {"tier": "reference"}}


def put(value: Any, *path: Any) -> Edit:
    """Set a member; a function makes the new value of the old one."""

    def edit(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = value(document[path[-1]]) if callable(value) else value

    return edit


def drop(*path: Any) -> Edit:
    def edit(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        del document[path[-1]]

    return edit


def signed(original: Any, edit: Edit | None = None, *, signs_block: bool = True) -> dict[str, Any]:
    """A card whose block `compliance` was edited before it was signed."""
    card = deepcopy(original)
    block = {"profile": "Example law", "authorizations": deepcopy([OTHER, AUTHORIZATION])}
    if edit:
        edit(block)
    card["compliance"] = {**block, "digest": f"sha256:{digest_of(block)}"}
    returned = card["signature"]
    paths = [path for path in returned["signed_canonical"] if path != LEAF] + [LEAF] * signs_block
    card["lifecycle"]["card_etag"] = card_etag(card, paths)
    leaves = {path: at(card, path) for path in paths}
    leaves |= {"_signed_at": returned["signed_at"], "_expires_at": returned["expires_at"]}
    value = encoded(KEY.sign(canonical_json(leaves)))
    card["signature"] = {**returned, "kid": KID, "signed_canonical": paths, "value": value}
    card["signature"].pop("jws", None)
    return card


def at(card: Any, path: str) -> Any:
    for name in path.split("."):
        card = card.get(name) if isinstance(card, dict) else None
    return card


IN_PROOF: tuple[tuple[str, str, Edit], ...] = (
    ("subset_changed", "digest", put("Other", "subset", "title")),
    ("subset_member_added", "digest", put(None, "subset", "x")),
    ("subset_number_in_another_type", "digest", put(1.0, "subset", "terms", "a", 0)),
    ("subset_text_in_another_unicode_form", "digest", put("Zulassung fu\u0308r Köln 😀", "subset", "title")),
    ("digest_of_another", "digest", put("0" * 64, "digest")),
    ("subset_and_digest_changed", "authorization", lambda one: one.update(subset={}, digest=digest_of({}))),
    ("another_contract", "authorization", put(8, "contract_id")),
    ("another_authorization", "authorization", put(OTHER["id"], "authorization_id")),
    ("unknown_authorization", "authorization", put("x", "authorization_id")),
    ("digest_in_capitals", "proof", put(str.upper, "digest")),
    ("digest_a_number", "proof", put(1, "digest")),
    ("contract_id_zero", "proof", put(0, "contract_id")),
    ("contract_id_a_text", "proof", put("7", "contract_id")),
    ("contract_id_true", "proof", put(True, "contract_id")),
    ("contract_id_a_fraction", "proof", put(7.0, "contract_id")),
    ("authorization_id_empty", "proof", put("", "authorization_id")),
    ("authorization_id_of_65_characters", "proof", put("a" * 65, "authorization_id")),
    ("verdict_of_another", "proof", put("good", "verdict")),
    ("subset_a_list", "proof", put([], "subset")),
    ("member_added", "proof", put(None, "x")),
    *((f"{name}_absent", "proof", drop(name)) for name in PROOF),
)
IN_BLOCK: tuple[tuple[str, str, Edit], ...] = (
    ("no_authorizations", "authorization", drop("authorizations")),
    ("authorizations_empty", "authorization", put([], "authorizations")),
    ("id_twice", "authorization", put(lambda all_of: [*all_of, all_of[1]], "authorizations")),
    ("id_absent", "authorization", drop("authorizations", 1, "id")),
    ("id_a_number", "authorization", put(7, "authorizations", 1, "id")),
    ("action_absent", "authorization", drop("authorizations", 1, "action")),
    ("authority_a_list", "authorization", put([], "authorizations", 1, "authority")),
    ("evidence_absent", "authorization", drop("authorizations", 1, "evidence")),
    ("evidence_a_text", "authorization", put("contract", "authorizations", 1, "evidence")),
    ("evidence_of_another_tier", "authorization", put("hash", "authorizations", 1, "evidence", "tier")),
    ("evidence_of_another_contract", "authorization", put(8, "authorizations", 1, "evidence", "contract_id")),
    ("evidence_a_fraction", "authorization", put(7.0, "authorizations", 1, "evidence", "contract_id")),
    ("evidence_true", "authorization", put(True, "authorizations", 1, "evidence", "contract_id")),
    ("evidence_of_another_digest", "authorization", put("0" * 64, "authorizations", 1, "evidence", "contract_digest")),
    ("ended", "authorization", put("2026-01-01T00:00:00+00:00", "authorizations", 1, "valid_until")),
    ("end_without_offset", "authorization", put("2099-01-01T00:00:00", "authorizations", 1, "valid_until")),
    ("end_of_no_month", "authorization", put("2099-13-01T00:00:00Z", "authorizations", 1, "valid_until")),
    ("end_a_number", "authorization", put(4_000_000_000, "authorizations", 1, "valid_until")),
)  # fmt: skip
VALID_BLOCKS: tuple[tuple[str, Edit | None], ...] = (
    ("valid", None),
    ("valid_without_end", drop("authorizations", 1, "valid_until")),
    ("valid_with_end_null", put(None, "authorizations", 1, "valid_until")),
    ("valid_with_further_members", put("x", "authorizations", 1, "note")),
    ("valid_end_in_utc", put("2099-01-01T00:00:00Z", "authorizations", 1, "valid_until")),
)
IN_CARD: tuple[tuple[str, str, Edit], ...] = (
    ("card_changed", "card", put("Other", "description")),
    ("card_unsigned", "card", drop("signature")),
    ("card_without_the_block", "card", drop("compliance")),
    ("block_with_another_member", "compliance", put(["x"], "compliance", "denied_features")),
    ("block_with_another_subject", "compliance", put("x", "compliance", "authorizations", 0, "subject")),
    ("block_and_digest_changed", "card", put("sha256:" + "0" * 64, "compliance", "digest")),
)


def frozen() -> Iterator[Vector]:
    """Every vector: proofs that hold, then each edit with the step that it fails."""
    source = next(one for one in vectors_in(SERVED) if one["kind"] == "registry_card")
    original = json.loads(source["document"])
    point = encoded(KEY.public_key().public_bytes_raw())
    keys = {"keys": [{"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": KID, "x": point}]}

    def vector(name: str, expect: str, card: Any, proof: Any = PROOF, **more: Any) -> Vector:
        texts = {"document": json.dumps(proof), "card": card if isinstance(card, str) else json.dumps(card)}
        return {"name": name, **texts, "keys": keys, "at": source["at"], "expect": expect, **more}

    valid = signed(original)
    for name, edit in VALID_BLOCKS:
        yield vector(name, "verified", signed(original, edit))
    yield vector("valid_in_another_order", "verified", valid, dict(reversed(PROOF.items())))
    for name, expect, edit in IN_PROOF:
        proof = deepcopy(PROOF)
        edit(proof)
        yield vector(name, expect, valid, proof)
    for name, expect, edit in IN_BLOCK:
        yield vector(f"authorization_{name}", expect, signed(original, edit))
    for name, expect, edit in IN_CARD:
        card = deepcopy(valid)
        edit(card)
        yield vector(name, expect, card)
    yield vector("block_not_signed", "compliance", signed(original, signs_block=False))
    yield vector("no_keys", "card", valid, keys={"keys": []})
    yield vector("expired", "card", valid, at="2099-01-01T00:00:00+00:00")
    text = json.dumps(valid)
    number = '"velocity_scaling_factor": 0.5'
    assert number in text
    yield vector(
        "number_with_two_readings", "compliance", text.replace(number, f"{number}000000000000000000001")
    )
    yield vector("card_cut_off", "card", text[:-1])
    for name, document in (
        ("proof_no_json", "{"),
        ("proof_a_list", "[]"),
        ("member_twice", '{"digest":1,"digest":1}'),
    ):
        yield {**vector(name, "proof", valid), "document": document}


if __name__ == "__main__":
    FROZEN.write_text("".join(json.dumps(one) + "\n" for one in frozen()))
