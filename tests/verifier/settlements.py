"""`python -m tests.verifier.settlements`: signed evidence of slashes across registries, into `tests/vectors/settlements.jsonl`.

The keys are those whose private half is 32 bytes of 1 (in force), 2 (retired) and 3 (a stranger's).
"""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa_verify import canonical_json, encoded
from tests.verifier.contract_proofs import drop, put
from tests.verifier.served import VECTORS, Vector

FROZEN = VECTORS / "settlements.jsonl"
AT = "2026-06-01T12:00:00+00:00"
SIGNED_AT = 1_780_000_000
RETIRED_AT = "2026-05-31T00:00:00+00:00"
RETIRED_SECOND = 1_780_185_600
PRESENT, RETIRED, STRANGER = (Ed25519PrivateKey.from_private_bytes(bytes([byte]) * 32) for byte in (1, 2, 3))
KID, OLD_KID = (f"spiffe://hansa.local/registry/slashes#{number}" for number in (2, 1))
DEFENDANT, COMPLAINANT = "did:hansa:b.example:1", "did:hansa:a.example:Köln-😀"
CLAIM = {
    "kind": "fed.slash.v1",
    "dispute_id": 7,
    "defendant_did": DEFENDANT,
    "complainant_did": COMPLAINANT,
    "amount": "15",
    "currency": "AVT",
}
FACTS = {
    "kind": "dispute.bundle.v1",
    "rules": 1,
    "registry": "hansa.local",
    "dispute": {"id": 7, "defendant_did": DEFENDANT, "complainant_did": COMPLAINANT, "description": "Hälfte fehlt."},
    "offer": {"card": {"pricing": {"amount": 0.5, "large": 1e22}}},
}  # fmt: skip
Edit = Callable[[Any], None]


def signed(
    stated: dict[str, Any], *, key: Ed25519PrivateKey = PRESENT, kid: str = KID, **header: Any
) -> dict[str, str]:
    """The parts of a JWS over the canonical text; a part of the header that is None is left out."""
    whole = {"alg": "EdDSA", "typ": "fed-slash+jws", "kid": kid, **header}
    protected = encoded(canonical_json({name: one for name, one in whole.items() if one is not None}))
    payload = encoded(canonical_json(stated))
    return {
        "protected": protected,
        "payload": payload,
        "signature": encoded(key.sign(f"{protected}.{payload}".encode())),
    }


def message(stated: dict[str, Any], **how: Any) -> str:
    """A compact JWS."""
    return ".".join(signed(stated, **how).values())


def facts(edit: Edit | None = None, **how: Any) -> dict[str, Any]:
    """The signed facts of the dispute, edited before they were signed."""
    stated = deepcopy(FACTS)
    if edit:
        edit(stated)
    header = {"typ": "dispute-bundle+jws", "canon": "sorted-ascii-json/1", "iat": SIGNED_AT, **how}
    parts = signed(stated, **header)
    return {**stated, "signatures": [{name: parts[name] for name in ("protected", "signature")}]}


def stated(kind: str, **members: Any) -> dict[str, Any]:
    """Return the statement of a message."""
    return {**CLAIM, "type": kind, "iat": SIGNED_AT, **members}


REQUEST = stated("slash-request", verdict=facts())
CONFIRMATION = stated(
    "slash-confirmation", settlement_id=3, status="SLASHED", slashed_amount="12.5", tx_id="tx-9"
)
AWARD = stated(
    "slash-award", slashed_amount="15", compensation_amount="7.00000001", verdict=facts(), tx_id="tx-9"
)
RECEIPT = stated("slash-receipt", status="SETTLED")
NAMED = {"slashed_amount": "15", "compensation_amount": "7.00000001"}
PAYMENT = "contract:5:2026-05-01T00:00:00+00:00"
AWARD_OF_PAYMENT = {**AWARD, "payment": PAYMENT}
RECEIPT_OF_AWARD = {**RECEIPT, **NAMED, "payment": PAYMENT}
PAID = stated("slash-paid", **NAMED, proof="e30.e30.e30", payment=PAYMENT)
FAILED = stated("slash-confirmation", settlement_id=3, status="FAILED", slashed_amount="0", reason="NO_FUNDS")
VALID: dict[str, list[dict[str, Any]]] = {
    "request": [REQUEST],
    "confirmation": [CONFIRMATION],
    "failure": [FAILED],
    "expiry": [{**FAILED, "status": "EXPIRED"}],
    "pending": [{**FAILED, "status": "PENDING_SLASH"}],
    "award": [AWARD],
    "receipt": [RECEIPT],
    "receipt_of_an_award": [RECEIPT_OF_AWARD],
    "refused_award": [{**RECEIPT_OF_AWARD, "status": "FAILED", "reason": "COMPLAINANT_UNKNOWN"}],
    "award_and_receipt": [AWARD_OF_PAYMENT, RECEIPT_OF_AWARD],
    "award_and_receipt_that_names_none": [AWARD_OF_PAYMENT, RECEIPT],
    "paid": [PAID],
    "paid_without_a_payment": [stated("slash-paid", **NAMED, proof="e30.e30.e30")],
    "request_and_receipt": [REQUEST, RECEIPT],
    "further_member": [{**RECEIPT, "note": "x"}],
    "smallest_amount": [{**CONFIRMATION, "amount": "0.00000001", "slashed_amount": "0.00000001"}],
}

# The message that is edited before it is signed; then what fails.
IN_MESSAGE: tuple[tuple[str, str, dict[str, Any], Edit], ...] = (
    *((f"{name}_absent", "malformed", CONFIRMATION, drop(name)) for name in ("type", "iat", *CLAIM)),
    *((f"confirmation_without_{name}", "malformed", CONFIRMATION, drop(name)) for name in ("settlement_id", "status", "slashed_amount")),
    *((f"award_without_{name}", "malformed", AWARD, drop(name)) for name in ("slashed_amount", "compensation_amount", "verdict")),
    ("request_without_verdict", "malformed", REQUEST, drop("verdict")),
    ("receipt_without_status", "malformed", RECEIPT, drop("status")),
    *((f"paid_without_{name}", "malformed", PAID, drop(name)) for name in ("slashed_amount", "compensation_amount", "proof")),
    ("paid_nothing", "outcome", PAID, put("0", "compensation_amount")),
    ("paid_above_the_slash", "outcome", PAID, put("15.00000001", "compensation_amount")),
    ("paid_of_a_slash_above_the_claim", "outcome", PAID, put("16", "slashed_amount")),
    ("receipt_of_an_award_above_the_slash", "outcome", RECEIPT_OF_AWARD, put("15.00000001", "compensation_amount")),
    ("receipt_of_an_award_above_the_claim", "outcome", RECEIPT_OF_AWARD, put("16", "slashed_amount")),
    ("payment_a_number", "malformed", PAID, put(5, "payment")),
    ("payment_empty", "malformed", RECEIPT_OF_AWARD, put("", "payment")),
    ("proof_an_object", "malformed", PAID, put({}, "proof")),
    ("another_kind", "malformed", CONFIRMATION, put("fed.transfer.v1", "kind")),
    ("another_type", "malformed", CONFIRMATION, put("slash-order", "type")),
    ("unknown_status", "malformed", CONFIRMATION, put("DONE", "status")),
    ("dispute_zero", "malformed", CONFIRMATION, put(0, "dispute_id")),
    ("dispute_a_text", "malformed", CONFIRMATION, put("7", "dispute_id")),
    ("dispute_true", "malformed", CONFIRMATION, put(True, "dispute_id")),
    ("dispute_a_fraction", "malformed", CONFIRMATION, put(7.0, "dispute_id")),
    ("dispute_of_a_hundred_digits", "malformed", CONFIRMATION, put(10**99, "dispute_id")),
    ("amount_a_number", "malformed", CONFIRMATION, put(15, "amount")),
    ("amount_below_zero", "malformed", CONFIRMATION, put("-15", "amount")),
    ("amount_with_a_leading_zero", "malformed", CONFIRMATION, put("015", "amount")),
    ("amount_with_nine_decimals", "malformed", CONFIRMATION, put("15.000000001", "amount")),
    ("amount_with_an_exponent", "malformed", CONFIRMATION, put("1e2", "amount")),
    ("amount_in_other_digits", "malformed", CONFIRMATION, put("١٥", "amount")),
    ("amount_with_a_line_feed", "malformed", CONFIRMATION, put("15\n", "amount")),
    ("amount_zero", "claim", RECEIPT, put("0.0", "amount")),
    ("currency_in_small_letters", "malformed", CONFIRMATION, put("avt", "currency")),
    ("defendant_empty", "malformed", CONFIRMATION, put("", "defendant_did")),
    ("time_a_text", "malformed", CONFIRMATION, put("now", "iat")),
    ("time_below_zero", "malformed", CONFIRMATION, put(-1, "iat")),
    ("time_beyond_9999", "malformed", CONFIRMATION, put(10**12, "iat")),
    ("time_in_the_future", "from_the_future", CONFIRMATION, put(SIGNED_AT + 10**7, "iat")),
    ("more_slashed_than_asked", "outcome", CONFIRMATION, put("15.00000001", "slashed_amount")),
    ("slashed_nothing", "outcome", CONFIRMATION, put("0", "slashed_amount")),
    ("failed_with_a_slash", "outcome", FAILED, put("1", "slashed_amount")),
    ("expired_with_a_slash", "outcome", CONFIRMATION, put("EXPIRED", "status")),
    ("slashing_with_a_slash", "outcome", CONFIRMATION, put("SLASHING", "status")),
    ("award_above_the_slash", "outcome", AWARD, put("15.00000001", "compensation_amount")),
    ("award_of_nothing", "outcome", AWARD, put("0", "compensation_amount")),
    ("award_of_a_slash_above_the_claim", "outcome", AWARD, put("16", "slashed_amount")),
    ("receipt_of_a_pending_slash", "outcome", RECEIPT, put("PENDING_SLASH", "status")),
    ("facts_unsigned", "facts", REQUEST, drop("verdict", "signatures")),
    ("facts_changed", "facts", REQUEST, put("Nothing is missing.", "verdict", "dispute", "description")),
    ("facts_of_an_award_changed", "facts", AWARD, put(8, "verdict", "dispute", "id")),
    ("facts_a_list", "malformed", REQUEST, put([], "verdict")),
    ("facts_of_another_dispute", "facts", REQUEST, put(facts(put(8, "dispute", "id")), "verdict")),
    ("facts_with_the_number_as_a_fraction", "facts", REQUEST, put(facts(put(7.0, "dispute", "id")), "verdict")),
    ("facts_with_the_number_as_true", "facts", {**REQUEST, "dispute_id": 1}, put(facts(put(True, "dispute", "id")), "verdict")),
    ("facts_about_another_defendant", "facts", REQUEST, put(facts(put("did:x", "dispute", "defendant_did")), "verdict")),
    ("facts_of_another_complainant", "facts", REQUEST, put(facts(put("did:x", "dispute", "complainant_did")), "verdict")),
    ("facts_without_a_dispute", "facts", REQUEST, put(facts(drop("dispute")), "verdict")),
    ("facts_by_a_stranger", "facts", REQUEST, put(facts(key=STRANGER), "verdict")),
    ("facts_of_another_signed_type", "facts", REQUEST, put(facts(typ="JOSE"), "verdict")),
    ("facts_signed_after_retirement", "facts", REQUEST, put(facts(key=RETIRED, kid=OLD_KID, iat=RETIRED_SECOND + 3600), "verdict")),
)  # fmt: skip


def cut(text: str) -> str:
    return text[:-1]


def swapped(text: str) -> str:
    """The payload of another message under this signature."""
    protected, _, signature = text.split(".")
    return f"{protected}.{encoded(canonical_json({**CONFIRMATION, 'slashed_amount': '13'}))}.{signature}"


AS_SIGNED: tuple[tuple[str, str, str], ...] = (
    ("by_a_stranger", "bad_signature", message(CONFIRMATION, key=STRANGER)),
    ("by_an_unknown_key", "unknown_key", message(CONFIRMATION, kid="x")),
    ("without_a_kid", "unknown_key", message(CONFIRMATION, kid=None)),
    ("of_another_type", "malformed", message(CONFIRMATION, typ="fed-transfer+jws")),
    ("without_a_type", "malformed", message(CONFIRMATION, typ=None)),
    ("by_another_algorithm", "malformed", message(CONFIRMATION, alg="none")),
    ("with_a_critical_extension", "malformed", message(CONFIRMATION, crit=["b64"])),
    ("payload_of_another", "bad_signature", swapped(message(CONFIRMATION))),
    ("cut_off", "malformed", cut(message(CONFIRMATION))),
    ("two_parts", "malformed", message(CONFIRMATION).rpartition(".")[0]),
    ("padded", "malformed", f"{message(CONFIRMATION)}="),
    ("after_the_key_was_retired", "key_retired", message({**CONFIRMATION, "iat": RETIRED_SECOND + 3600}, key=RETIRED, kid=OLD_KID)),
)  # fmt: skip


def frozen() -> Iterator[Vector]:
    """Every vector: evidence that holds, then each edit with the outcome that it must have."""
    points = {kid: key.public_key().public_bytes_raw() for kid, key in ((KID, PRESENT), (OLD_KID, RETIRED))}
    keys = [
        {"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": kid, "x": encoded(point)}
        for kid, point in points.items()
    ]
    keys[1] |= {"valid_from": "2026-01-01T00:00:00+00:00", "retired_at": RETIRED_AT}
    key_set = {"keys": keys}

    def vector(name: str, expect: str, messages: Any, **more: Any) -> Vector:
        document = json.dumps({"kind": "slash.evidence.v1", "messages": messages})
        return {"name": name, "document": document, "keys": key_set, "at": AT, "expect": expect, **more}

    for name, of_name in VALID.items():
        yield vector(f"valid_{name}", "verified", [message(one) for one in of_name])
    yield vector("valid_by_a_retired_key", "verified", [message(RECEIPT, key=RETIRED, kid=OLD_KID)])
    for name, expect, base, edit in IN_MESSAGE:
        edited = deepcopy(base)
        edit(edited)
        yield vector(name, expect, [message(edited)])
    for name, expect, text in AS_SIGNED:
        yield vector(name, expect, [text])
    both = [message(REQUEST), message({**RECEIPT, "amount": "14"})]
    yield vector("messages_about_two_amounts", "claim", both)
    yield vector("messages_about_two_disputes", "claim", [both[0], message({**RECEIPT, "dispute_id": 8})])
    for name, other in (("slashed_amount", "14"), ("compensation_amount", "7"), ("payment", "transfer:5")):
        of_two = [message(AWARD_OF_PAYMENT), message({**RECEIPT_OF_AWARD, name: other})]
        yield vector(f"messages_about_awards_with_another_{name}", "outcome", of_two)
    yield vector("two_messages_of_one_type", "malformed", [message(RECEIPT), message(RECEIPT)])
    yield vector("no_messages", "malformed", [])
    yield vector("five_messages", "malformed", [message(RECEIPT)] * 5)
    yield vector("messages_a_text", "malformed", message(RECEIPT))
    yield vector("a_message_of_numbers", "malformed", [1])
    yield vector("no_keys", "unknown_key", [message(RECEIPT)], keys={"keys": []})
    yield vector("past_the_grace_of_a_key", "key_retired", [message(RECEIPT, key=RETIRED, kid=OLD_KID)], at="2026-07-01T00:00:00+00:00")  # fmt: skip
    valid = vector("", "malformed", [message(RECEIPT)])
    text = valid["document"]
    for name, document in {
        "document_cut_off": text[:-1],
        "document_a_list": f"[{text}]",
        "document_of_another_kind": text.replace("slash.evidence.v1", "slash.evidence.v2"),
        "document_with_a_further_member": f'{text[:-1]}, "peer": "b.example"}}',
        "member_twice": f'{text[:-1]}, "kind": "slash.evidence.v1"}}',
    }.items():
        yield {**valid, "name": name, "document": document}


if __name__ == "__main__":
    FROZEN.write_text("".join(json.dumps(one) + "\n" for one in frozen()))
