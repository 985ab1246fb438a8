"""`python -m tests.verifier.edit_served`: edits of the served objects, each with the outcome that it must have.

The edits are the same for each seed, so that `tests/vectors/served_edited.jsonl` can be made again byte for byte.
"""

import json
import random
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa_verify import canonical_json, encoded
from tests.verifier.served import EDITED, SERVED, Vector, judged, vectors_in

SEED = 7
OF_EACH_KIND = {
    "card": 6,
    "receipt": 2,
    "registry_card": 1,
    "chain": 3,
    "balance": 3,
    "blocks": 1,
    "leaf": 4,
    "consistency": 3,
}
STRANGER = encoded(Ed25519PrivateKey.from_private_bytes(b"\x03" * 32).public_key().public_bytes_raw())
SMALL_ORDER = encoded(b"\x01" + bytes(31))
NOT_CANONICAL = encoded(b"\xee" + b"\xff" * 30 + b"\x7f")
OFF_THE_CURVE = encoded(b"\x02" + bytes(31))
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

Edit = tuple[str, Any, Callable[[Vector, Any], None]]


def in_text(change: Callable[[str], str]) -> Callable[[Vector, Any], None]:
    """An edit of the text of the document."""

    def edit(vector: Vector, _: Any) -> None:
        vector["document"] = change(vector["document"])

    return edit


def in_document(change: Callable[[Any], object]) -> Callable[[Vector, Any], None]:
    """An edit of the document as a value."""

    def edit(vector: Vector, _: Any) -> None:
        document = json.loads(vector["document"])
        change(document)
        vector["document"] = json.dumps(document)

    return edit


def in_keys(**members: Any) -> Callable[[Vector, Any], None]:
    def edit(vector: Vector, _: Any) -> None:
        for key in vector["keys"]["keys"]:
            key.update(members)

    return edit


def in_header(**members: Any) -> Callable[[Vector, Any], None]:
    """An edit of the protected header of the registry's signature; the signature stays."""

    def change(document: Any) -> None:
        entry = document["signatures"][0]
        header = json.loads(urlsafe_b64decode(entry["protected"] + "=="))
        entry["protected"] = encoded(canonical_json({**header, **members}))

    return in_document(change)


def put(value: Any, *path: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for name in path[:-1]:
            document = document[name]
        document[path[-1]] = value(document[path[-1]]) if callable(value) else value

    return change


def flipped(text: str) -> str:
    """Another text of the same length: its middle character is replaced."""
    place = len(text) // 2
    return text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]


def alias(text: str) -> str:
    """The same bytes by another last character: its unused bits are set."""
    return text[:-1] + ALPHABET[ALPHABET.index(text[-1]) | 1]


def moved(days: float) -> Callable[[Vector, Any], None]:
    def edit(vector: Vector, _: Any) -> None:
        vector["at"] = (datetime.fromisoformat(vector["at"]) + timedelta(days=days)).isoformat()

    return edit


KEYS: list[Edit] = [
    ("key_of_small_order", "keys_refused", in_keys(x=SMALL_ORDER)),
    ("key_not_canonical", "keys_refused", in_keys(x=NOT_CANONICAL)),
    ("key_off_the_curve", "keys_refused", in_keys(x=OFF_THE_CURVE)),
    ("key_padded", "keys_refused", in_keys(x=STRANGER + "=")),
    ("key_with_its_private_half", "keys_refused", in_keys(d=STRANGER)),
    ("key_of_another_curve", "keys_refused", in_keys(crv="X25519")),
    ("keys_no_list", "keys_refused", lambda vector, _: vector["keys"].update(keys={})),
    ("key_twice", "keys_refused", lambda vector, _: vector["keys"]["keys"].extend(vector["keys"]["keys"])),
]
TEXT: list[Edit] = [
    (name, None, in_text(change))
    for name, change in {
        "member_twice": lambda text: '{"kind":1,"kind":2,' + text[1:],
        "half_of_a_surrogate_pair": lambda text: '{"zz":"\\ud83d",' + text[1:],
        "surrogates_reversed": lambda text: '{"zz":"\\ude00\\ud83d",' + text[1:],
        "too_deep": lambda text: '{"zz":' + "[" * 70 + "]" * 70 + "," + text[1:],
        "number_out_of_range": lambda text: '{"zz":1e999,' + text[1:],
        "number_of_1001_digits": lambda text: '{"zz":' + "1" * 1001 + "," + text[1:],
        "number_not_a_number": lambda text: '{"zz":NaN,' + text[1:],
        "byte_order_mark": lambda text: "\ufeff" + text,
        "text_behind_the_end": lambda text: text + "{}",
        "cut_off": lambda text: text[: len(text) // 2],
        "no_object": lambda text: f"[{text}]",
    }.items()
]


def documents(vector: Vector) -> list[Edit]:
    """Edits of a document with detached signatures."""
    document = json.loads(vector["document"])
    is_card = vector["kind"] == "card"
    name = next(name for name in document if name != "signatures")
    signature = ("signatures", 0, "signature")
    return [
        ("members_in_another_order", "verified", in_text(lambda text: json.dumps(dict(reversed(json.loads(text).items())), indent=1))),
        ("member_changed", "bad_signature", in_document(put("changed", name))),
        ("member_removed", "bad_signature", in_document(lambda one: one.pop(name))),
        ("member_added", "bad_signature", in_document(lambda one: one.update(price=1))),
        ("signatures_empty", "unsigned", in_document(put([], "signatures"))),
        ("signatures_no_list", "unsigned", in_document(put({}, "signatures"))),
        ("signatures_many", "unsigned", in_document(put(lambda them: them * 17, "signatures"))),
        ("signature_twice", "profile_missing", in_document(put(lambda them: [them[0], *them], "signatures"))),
        ("signature_of_the_profile_removed", "profile_missing" if is_card else "unsigned", in_document(put(lambda them: them[1:], "signatures"))),
        ("header_alg_none", "unknown_alg", in_header(alg="none")),
        ("header_alg_es256", "unknown_alg", in_header(alg="ES256")),
        ("header_kid_of_another", "unknown_key", in_header(kid="another")),
        ("header_kid_a_number", "malformed", in_header(kid=7)),
        ("header_typ_jwt", "malformed", in_header(typ="JWT")),
        ("header_canon_of_another", "profile_missing", in_header(canon="jcs")),
        ("header_crit", "malformed", in_header(crit=["exp"])),
        ("header_b64", "malformed", in_header(b64=False)),
        ("header_iat_a_fraction", "malformed", in_header(iat=1.5)),
        ("header_iat_changed", "bad_signature", in_header(iat=1_700_000_000)),
        ("header_iat_in_the_future", "from_the_future", in_header(iat=4_000_000_000)),
        ("header_with_a_key", "bad_signature", in_header(jwk={"kty": "OKP"})),
        ("header_padded", "malformed", in_document(put(lambda text: text + "=", "signatures", 0, "protected"))),
        ("signature_padded", "malformed", in_document(put(lambda text: text + "==", *signature))),
        ("signature_alias_of_its_last_character", "malformed", in_document(put(alias, *signature))),
        ("signature_of_63_bytes", "malformed", in_document(put(lambda text: text[:84], *signature))),
        ("signature_changed", "bad_signature", in_document(put(flipped, *signature))),
        ("signature_zero", "bad_signature", in_document(put("A" * 86, *signature))),
        ("key_of_a_stranger", "bad_signature", in_keys(x=STRANGER)),
        ("key_of_another_kid", "unknown_key", in_keys(kid="another")),
        ("key_not_yet_valid", "key_not_yet_valid", in_keys(valid_from="2100-01-01T00:00:00+00:00")),
        ("key_retired", "key_retired", in_keys(retired_at="2001-01-01T00:00:00+00:00")),
        ("judged_a_day_before", "from_the_future", moved(-1)),
        *((label, "malformed", edit) for label, _, edit in TEXT),
        *KEYS,
    ]  # fmt: skip


def registry_cards(vector: Vector) -> list[Edit]:
    """Each signed leaf changed, each unsigned block left out, and the signature."""
    card = json.loads(vector["document"])
    signed = card["signature"]["signed_canonical"]
    refusals = {
        "bad_signature",
        "schema_violated",
        "version_unknown",
        "did_namespace_mismatch",
        "did_namespace_invalid",
    }
    leaves = [
        (f"leaf_{path}", refusals, in_document(put(changed_leaf, *path.split("."))))
        for path in signed
        if has(card, path)
    ]
    block = ("signature",)
    return [
        *leaves,
        ("members_in_another_order", "verified", in_text(lambda text: json.dumps(dict(reversed(json.loads(text).items())), indent=1))),
        ("unsigned_member_changed", "verified", in_document(put("Another", "identity", "display_name"))),
        ("description_added", {"bad_signature", "etag_mismatch"}, in_document(put("Another", "description"))),
        ("links_added", "etag_mismatch", in_document(put([], "links"))),
        ("key_retired_within_its_grace", "verified", in_keys(retired_at=vector["at"])),
        ("judged_in_its_last_days", "verified", moved(29.9)),
        ("path_removed", "paths_missing", in_document(lambda one: one["signature"]["signed_canonical"].remove("identity.tier"))),
        ("path_twice", "paths_missing", in_document(lambda one: one["signature"]["signed_canonical"].append(signed[0]))),
        ("path_added", "bad_signature", in_document(lambda one: one["signature"]["signed_canonical"].append("identity.display_name"))),
        ("member_added", "schema_violated", in_document(lambda one: one.update(price=1))),
        ("signature_absent", "unsigned", in_document(lambda one: one.pop("signature"))),
        ("string_too_long", "string_too_long", in_document(put("x" * 2049, "description"))),
        ("value_changed", "bad_signature", in_document(put(flipped, *block, "value"))),
        ("value_alias_of_its_last_character", "malformed", in_document(put(alias, *block, "value"))),
        ("jws_of_other_leaves", "bad_signature", in_document(put(lambda jws: jws[:-86] + flipped(jws[-86:]), *block, "jws"))),
        ("expires_at_later", "bad_signature", in_document(put("2100-01-01T00:00:00+00:00", *block, "expires_at"))),
        ("kid_of_another", {"unknown_key", "schema_violated"}, in_document(put("another", *block, "kid"))),
        ("expired", "expired", moved(31)),
        ("judged_a_day_before", "from_the_future", moved(-1)),
        ("key_of_a_stranger", "bad_signature", in_keys(x=STRANGER)),
        ("key_retired", "key_retired", in_keys(retired_at="2001-01-01T00:00:00+00:00")),
        *((label, "malformed", edit) for label, _, edit in TEXT),
        *KEYS,
    ]  # fmt: skip


def has(card: Any, path: str) -> bool:
    for name in path.split("."):
        if not isinstance(card, dict) or card.get(name) is None:
            return False
        card = card[name]
    return True


def changed_leaf(value: Any) -> Any:
    """Another value of the same type, which the schema may refuse."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return flipped(value) if value else "x"
    return [*value, "x"] if isinstance(value, list) else {**value, "x": 1}


def chains(vector: Vector) -> list[Edit]:
    """Records are listed with the newest first."""
    records = json.loads(vector["document"])["attestations"]
    last = ("attestations", 0)
    number = len(records)
    return [
        ("payload_changed", "C2", in_document(put(lambda text: text.replace("audit", "audIt"), *last, "payload"))),
        ("payload_too_long", "C2", in_document(put("x" * 16_385, *last, "payload"))),
        ("digest_changed", "C2", in_document(put(flipped, *last, "digest"))),
        ("signature_changed", "C3", in_document(put(flipped, *last, "signature"))),
        ("signature_alias_of_its_last_character", "C3", in_document(put(alias, *last, "signature"))),
        ("prev_hash_changed", "C4", in_document(put("0" * 63 + "1", *last, "prev_hash"))),
        ("time_changed", "C5", in_document(put("2001-01-01T00:00:00+00:00", *last, "ts"))),
        ("frame_changed", "C5", in_document(put("other.example", *last, "frame"))),
        ("kind_changed", "C5", in_document(put("baseline_set", *last, "kind"))),
        ("id_a_text", "C5", in_document(put(str, *last, "id"))),
        ("kid_of_another", "C1", in_document(put("0" * 16, *last, "kid"))),
        ("newest_no_object", "C5", in_document(put(None, *last))),
        ("attestations_no_list", "unreadable", in_document(put({}, "attestations"))),
        ("attestations_empty", "C5", in_document(put([], "attestations"))),
        ("standard_of_another", "unreadable", in_document(put("SA-2.0", "standard"))),
        ("keys_none", "C1", lambda one, _: one["keys"].update(keys=[])),
        ("key_of_a_stranger", "C1", in_keys(x=STRANGER)),
        ("key_retired_before", "C1", in_keys(retired_at_id=0)),
        ("judged_a_day_before", "C8", moved(-1)),
        *((label, "unreadable", edit) for label, _, edit in TEXT),
        *KEYS,
        *([
            ("record_removed", "C4", in_document(lambda one: one["attestations"].pop(1))),
            ("first_record_removed", "C4", in_document(lambda one: one["attestations"].pop())),
            ("order_reversed", "verified", in_document(lambda one: one["attestations"].reverse())),
            ("record_twice", "C4", in_document(lambda one: one["attestations"].insert(0, one["attestations"][0]))),
        ] if number > 2 else []),
    ]  # fmt: skip


def balances(vector: Vector) -> list[Edit]:
    proof = json.loads(vector["document"])
    leaf = ("leaves", 0)
    names = {f"leaf {one['index']}" for one in proof["leaves"]} | {
        f"leaf {one['index'] ^ 1}" for one in proof["leaves"]
    }
    return [
        ("leaves_in_another_order", "verified", in_document(put(lambda them: them[::-1], "leaves"))),
        ("balance_changed", "balance", in_document(put("123456.5", "balance"))),
        ("account_changed", names, in_document(put(flipped, "agent_did"))),
        ("amount_changed", names, in_document(put("0.00000001", *leaf, "amount"))),
        ("amount_in_another_spelling", "proof", in_document(put("1.50", *leaf, "amount"))),
        ("amount_negative", "proof", in_document(put("-1", *leaf, "amount"))),
        ("amount_beyond_63_bits", "proof", in_document(put("999999999999.9", *leaf, "amount"))),
        ("salt_changed", names, in_document(put(flipped, *leaf, "salt"))),
        ("salt_too_short", "proof", in_document(put(lambda text: text[:28], *leaf, "salt"))),
        ("index_of_the_neighbour", names, in_document(put(lambda index: index ^ 1, *leaf, "index"))),
        ("index_outside", {f"leaf {2**50}"}, in_document(put(2**50, *leaf, "index"))),
        ("index_true", "proof", in_document(put(True, *leaf, "index"))),
        ("path_hash_changed", names, in_document(put("0" * 64, *leaf, "path", 0, "hash"))),
        ("path_hash_in_capitals", "proof", in_document(put("A" * 64, *leaf, "path", 0, "hash"))),
        ("path_amount_changed", names, in_document(put("7.7", *leaf, "path", 0, "amount"))),
        ("path_cut_off", names, in_document(lambda one: one["leaves"][0]["path"].pop())),
        ("path_too_long", "proof", in_document(put(lambda path: path * 9, *leaf, "path"))),
        ("one_leaf", "proof", in_document(lambda one: one["leaves"].pop())),
        ("one_leaf_twice", "leaves", in_document(lambda one: one.update(leaves=[one["leaves"][0]] * 2))),
        ("moment_of_another", "moment", in_document(put(1, "as_of_event_seq"))),
        ("attestation_null", "attestation", in_document(put(None, "attestation"))),
        ("attestation_changed", "attestation", in_document(put(flipped, "attestation", "payload"))),
        ("attestation_signature_changed", "attestation", in_document(put(flipped, "attestation", "signature"))),
        ("key_of_a_stranger", "attestation", in_keys(x=STRANGER)),
        *((label, "proof" if label == "no_object" else "unreadable", edit) for label, _, edit in TEXT),
        *KEYS,
    ]  # fmt: skip


def blocks(_: Vector) -> list[Edit]:
    return [
        ("amount_changed", "sum", in_document(put("0.1", "blocks", 0, "amount"))),
        ("hash_changed", "root", in_document(put("0" * 64, "blocks", 0, "hash"))),
        ("blocks_empty", "blocks", in_document(put([], "blocks"))),
        ("blocks_no_list", "blocks", in_document(put({}, "blocks"))),
        ("block_twice", {"sum", "root"}, in_document(put(lambda them: them + them, "blocks"))),
        ("amount_beyond_63_bits", "blocks", in_document(put("999999999999.9", "blocks", 0, "amount"))),
        ("moment_of_another", "moment", in_document(put(1, "as_of_event_seq"))),
        ("attestation_changed", "attestation", in_document(put(flipped, "attestation", "payload"))),
    ]


def size_in(note: str) -> int:
    return int(note.split("\n")[1])


def leaves(vector: Vector) -> list[Edit]:
    note = "checkpoint"
    size = size_in(json.loads(vector["document"])[note])
    return [
        ("key_retired_at_this_size", "verified", in_keys(retired_at_id=0, retired_at_size=size)),
        ("key_retired_before_this_size", "checkpoint", in_keys(retired_at_id=0, retired_at_size=size - 1)),
        ("key_retired_at_no_size", "checkpoint", in_keys(retired_at_id=10**6)),
        ("retired_at_size_a_text", "keys_refused", in_keys(retired_at_size="9")),
        ("retired_at_size_below_zero", "keys_refused", in_keys(retired_at_size=-1)),
        ("retired_at_size_a_fraction", "keys_refused", in_keys(retired_at_size=9.0)),
        ("entry_changed", "inclusion", in_document(put(lambda text: text + " ", "entry"))),
        ("index_of_the_neighbour", "inclusion", in_document(put(lambda index: index ^ 1, "index"))),
        ("index_negative", "inclusion", in_document(put(-1, "index"))),
        ("index_a_text", "unreadable", in_document(put(str, "index"))),
        ("size_of_another", "inclusion", in_document(put(lambda size: size + 1, "size"))),
        ("hash_changed", "inclusion", in_document(put("A" * 43 + "=", "hashes", 0))),
        ("hash_not_canonical", "inclusion", in_document(put("A" * 42 + "B=", "hashes", 0))),
        ("hash_too_short", "inclusion", in_document(put("AAAA", "hashes", 0))),
        ("hash_removed", "inclusion", in_document(lambda one: one["hashes"].pop())),
        ("hash_added", "inclusion", in_document(lambda one: one["hashes"].append(one["hashes"][0]))),
        ("hashes_no_list", "unreadable", in_document(put({}, "hashes"))),
        ("checkpoint_unsigned", "checkpoint", in_document(put(lambda text: text.rpartition("\n\n")[0] + "\n\n", note))),
        ("checkpoint_of_another_origin", "checkpoint", in_document(put(lambda text: "x" + text, note))),
        ("checkpoint_of_another_size", "checkpoint", in_document(put(lambda text: text.replace("\n", "\n1", 1), note))),
        ("checkpoint_size_with_a_zero", "checkpoint", in_document(put(lambda text: text.replace("\n", "\n0", 1), note))),
        ("checkpoint_with_a_line_more", "checkpoint", in_document(put(lambda text: text.replace("\n\n", "\nmore\n\n"), note))),
        ("checkpoint_with_text_behind_the_signatures", "checkpoint", in_document(put(lambda text: text + "more\n", note))),
        ("checkpoint_with_text_between_the_signatures", "checkpoint", in_document(put(lambda text: text.replace("\n\n", "\n\nmore\n"), note))),
        ("checkpoint_without_its_last_line_feed", "checkpoint", in_document(put(lambda text: text[:-1], note))),
        ("checkpoint_with_an_empty_line_behind", "checkpoint", in_document(put(lambda text: text + "\n", note))),
        ("checkpoint_with_a_line_of_a_stranger", "verified", in_document(put(lambda text: text + "\u2014 other.example AAAAAAAA\n", note))),
        ("checkpoint_with_a_name_of_two_words", "checkpoint", in_document(put(lambda text: text + "\u2014 other name AAAAAAAA\n", note))),
        ("checkpoint_with_a_key_id_alone", "checkpoint", in_document(put(lambda text: text + "\u2014 other.example AAAAAA==\n", note))),
        ("checkpoint_too_long", "checkpoint", in_document(put(lambda text: text + "x" * 65_536, note))),
        ("key_of_a_stranger", "checkpoint", in_keys(x=STRANGER)),
        *((label, "unreadable", edit) for label, _, edit in TEXT),
        *KEYS,
    ]  # fmt: skip


def consistencies(vector: Vector) -> list[Edit]:
    def in_old(change: Callable[[str], str]) -> Callable[[Vector, Any], None]:
        return lambda vector, _: vector.update(old=change(vector["old"]))

    old_size = size_in(vector["old"])
    return [
        ("key_retired_between", "checkpoint", in_keys(retired_at_id=0, retired_at_size=old_size)),
        ("key_retired_before", "checkpoint", in_keys(retired_at_id=0, retired_at_size=0)),
        ("hash_changed", "consistency", in_document(put("A" * 43 + "=", "hashes", 0))),
        ("hash_removed", "consistency", in_document(lambda one: one["hashes"].pop())),
        ("hash_added", "consistency", in_document(lambda one: one["hashes"].append(one["hashes"][0]))),
        ("hashes_no_list", "unreadable", in_document(put({}, "hashes"))),
        ("another_size", "consistency", in_document(put(lambda size: size + 1, "size"))),
        ("another_old_size", "consistency", in_document(put(lambda size: size + 1, "old_size"))),
        ("checkpoint_of_another_size", "checkpoint", in_document(put(lambda text: text.replace("\n", "\n1", 1), "checkpoint"))),
        ("old_checkpoint_of_another_size", "old checkpoint", in_old(lambda text: text.replace("\n", "\n1", 1))),
        ("old_checkpoint_unsigned", "old checkpoint", in_old(lambda text: text.rpartition("\n\n")[0] + "\n\n")),
        ("key_of_a_stranger", "checkpoint", in_keys(x=STRANGER)),
    ]  # fmt: skip


EDITS = {
    "card": documents,
    "receipt": documents,
    "registry_card": registry_cards,
    "chain": chains,
    "balance": balances,
    "blocks": blocks,
    "leaf": leaves,
    "consistency": consistencies,
}


def edited() -> Iterator[Vector]:
    """Every edit of a few objects of each kind, those of texts and keys of one, and the edits that change nothing of all."""
    rng = random.Random(SEED)
    served = vectors_in(SERVED)
    shared = {label for label, _, _ in (*TEXT, *KEYS)}
    for kind, edits in EDITS.items():
        of_kind = [
            vector for vector in served if vector["kind"] == kind and '"hashes": []' not in vector["document"]
        ]
        for number, original in enumerate(rng.sample(of_kind, len(of_kind))):
            for label, expected, edit in edits(original):
                is_chosen = number < (1 if label in shared else OF_EACH_KIND[kind])
                if not is_chosen and expected != "verified":
                    continue
                vector = deepcopy(original)
                edit(vector, rng)
                vector["name"] = f"{original['name']}_{label}"
                vector["expect"] = judged(vector)
                allowed = expected if isinstance(expected, set) else {expected}
                assert vector["expect"] in allowed, (vector["name"], vector["expect"], allowed)
                yield vector


if __name__ == "__main__":
    EDITED.write_text("".join(json.dumps(vector) + "\n" for vector in edited()))
