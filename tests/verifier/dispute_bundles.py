"""Bundles of disputes made of the short form in which the cases of tests/vectors/verdicts are written."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa_verify import RULES_VERSION, canonical_json, encoded

CURRENCY = "AVT"
BOUGHT = datetime(2030, 1, 1, 12, tzinfo=UTC)
EXPIRY = BOUGHT + timedelta(minutes=10)
ENDED = {
    "at once": BOUGHT + timedelta(seconds=30),
    "in time": BOUGHT + timedelta(minutes=2),
    "late": EXPIRY + timedelta(minutes=1),
}
TOKEN, OTHER_TOKEN = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


@dataclass(frozen=True)
class Setting:
    """Differences between variants of a case with the same verdict: names, dates and amounts."""

    payer: str = "did:hansa:hansa.local:payer"
    payee: str = "did:hansa:hansa.local:payee"
    shift: timedelta = timedelta()
    factor: int = 1
    has_noise: bool = False

    def at(self, timestamp: datetime) -> str:
        return (timestamp + self.shift).isoformat()

    def amount(self, text: str) -> str:
        return str(int(text) * self.factor)


def bundle_of(case: Mapping[str, Any], setting: Setting) -> dict[str, Any]:
    """The bundle of a case, without a signature."""
    complains_as_payee = case["by"] in {"provider", "payee"}
    parties = (setting.payer, setting.payee)
    complainant, defendant = reversed(parties) if complains_as_payee else parties
    evidence = [piece(setting.payee, "Nothing that proves anything.")] if setting.has_noise else []
    return {
        "rules": case.get("rules", RULES_VERSION),
        "currency": CURRENCY,
        "dispute": {
            "complainant_did": complainant,
            "defendant_did": defendant,
            "reason_code": case["reason"],
        },
        "contract": _contract(case, setting) if case["on"] == "contract" else None,
        "token": _token(case, setting) if case["on"] == "token" else None,
        "same_work": [{"token_id": OTHER_TOKEN}] if case.get("twice") else [],
        "payments": [{"amount": setting.amount(paid)} for paid in _payments(case)],
        "evidence": [*evidence, *_evidence(case, setting)],
        "keys": {
            "agents": {
                setting.payer: [_held("caller", setting)],
                setting.payee: [_held("payee", setting), _held("old", setting, until=BOUGHT)],
            },
            "registry": [_held("registry", setting)],
        },
    }


def _contract(case: Mapping[str, Any], setting: Setting) -> dict[str, Any]:
    submitted = setting.at(BOUGHT + timedelta(days=1))
    milestone = {"other": 0}.get(case["delivered"])
    return {
        "contractor_did": setting.payer,
        "provider_did": setting.payee,
        "amount": setting.amount("100"),
        "status": case["status"],
        "ended_because": case["ended"],
        "deliverables": [{"milestone": milestone, "at": submitted}] if case["delivered"] else [],
        "history": [{"act": "submitted", "milestone": None, "at": submitted}] if case["submitted"] else [],
    }


def _token(case: Mapping[str, Any], setting: Setting) -> dict[str, Any]:
    status = case.get("status", "settled")
    return {
        "token_id": TOKEN,
        "caller_did": setting.payer,
        "payee_did": setting.payee,
        "paid_amount": setting.amount(case.get("paid", "5")) if status == "settled" else None,
        "status": status,
        "capture_by": case.get("capture", "payee"),
        "settled_by": case.get("settles", case.get("capture", "payee")),
        "request_digest": _digest("same") if case.get("bound", 1) else None,
        "created_at": setting.at(BOUGHT),
        "expires_at": setting.at(EXPIRY),
        "ended_at": setting.at(ENDED[case.get("ended_at", "in time")]),
    }


def _payments(case: Mapping[str, Any]) -> list[str]:
    if case["on"] != "contract":
        return []
    return case.get("paid", ["100"] if case["ended"] == "approved" else [])


def _evidence(case: Mapping[str, Any], setting: Setting) -> list[dict[str, Any]]:
    of = {"caller": setting.payer, "contractor": setting.payer}
    pieces = [piece(of.get(by, setting.payee), "A message.") for by in case.get("evidence", ())]
    for receipt in case.get("receipts", ()):
        given = piece(of.get(receipt.get("by", "caller"), setting.payee), _receipt(receipt, setting))
        pieces.append({**given, "sha256": "0" * 64} if "digest" in receipt else given)
    pieces += [piece(setting.payer, _quote(quote, setting)) for quote in case.get("quotes", ())]
    for named in case.get("pieces", ()):
        digest = _digest(named["answer"]).removeprefix("sha256:")
        pieces.append({"by": of.get(named["by"], setting.payee), "sha256": digest, "note": None})
    return pieces


def _receipt(receipt: Mapping[str, Any], setting: Setting) -> str:
    moments = {
        "late": EXPIRY + timedelta(seconds=1),
        "expiry": EXPIRY,
        "in time": BOUGHT + timedelta(minutes=1),
    }
    payload = {
        "kind": "pay.delivery.v1",
        "token_id": OTHER_TOKEN if "token" in receipt else TOKEN,
        "request_digest": _digest(receipt["request"]),
        "answer_digest": _digest(receipt.get("answer", "a")),
        "at": setting.at(moments[receipt.get("at", "in time")]),
    }
    return compact(receipt.get("signer", "payee"), "pay-delivery+jws", payload)


def _quote(quote: Mapping[str, Any], setting: Setting) -> str:
    issued = BOUGHT - timedelta(seconds=3600 if "when" in quote else 5) + setting.shift
    payload = {
        "kind": "pay.quote.v1",
        "caller": setting.payer,
        "payee": "did:hansa:hansa.local:elsewhere" if "payee" in quote else setting.payee,
        "amount": setting.amount(quote["amount"]),
        "currency": quote.get("currency", CURRENCY),
        "iat": int(issued.timestamp()),
        "exp": int(issued.timestamp()) + 60,
    }
    return compact(quote.get("signer", "registry"), "payment-quote+jws", payload)


def compact(signer: str, typ: str, payload: Mapping[str, Any]) -> str:
    """A compact JWS by the key of that name."""
    header = encoded(canonical_json({"alg": "EdDSA", "kid": signer, "typ": typ}))
    signed = f"{header}.{encoded(canonical_json(payload))}"
    return f"{signed}.{encoded(_key(signer).sign(signed.encode()))}"


def piece(by: str, note: str) -> dict[str, Any]:
    """A piece of evidence with its digest."""
    return {"by": by, "sha256": sha256(note.encode()).hexdigest(), "note": note}


def _held(name: str, setting: Setting, until: datetime | None = None) -> dict[str, Any]:
    public = _key(name).public_key().public_bytes_raw()
    return {
        "public_key_jwk": {"kty": "OKP", "crv": "Ed25519", "x": encoded(public)},
        "valid_from": setting.at(BOUGHT - timedelta(days=90)),
        "valid_until": None if until is None else setting.at(until),
    }


def _key(name: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(sha256(name.encode()).digest())


def _digest(text: str) -> str:
    return "sha256:" + sha256(text.encode()).hexdigest()
