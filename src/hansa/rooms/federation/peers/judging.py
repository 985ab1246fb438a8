"""Judge the registry card of another registry: its signed leaves, and whether a peer may be called by the name that it states.

Only signed leaves decide. A settlement currency, namespace or fee that the card does not sign counts as absent, and the card
is then refused (Specification 6 W 22).
"""

from datetime import datetime
from typing import Any

import msgspec

from hansa.rooms.federation.charter import registry_id_of
from hansa_verify import NotAKey, NotCanonical, read_json, read_keys
from hansa_verify.registry_card import STEPS, CardReader, verify_registry_card

from .records import VerifiedCard

INFRASTRUCTURE_LABELS = frozenset(
    {"gateway", "registry", "localhost", "api", "app", "www", "proxy", "server", "node", "host", "default"}
    | {"admin", "internal"}
)
CARD_STEPS = (*STEPS, "name")
"""Steps in which the card of a peer is judged, in their order; a card whose name is refused is judged no further."""
SIGNED_TO_CROSS = (
    "identity.did_namespace",
    "fees.settlement_currency",
    "fees.cross_registry.base_rate_percent",
)


class CardRefused(Exception):
    """The card or its keys are refused; `reason` is counted, `verdicts` are the steps that were judged."""

    def __init__(self, reason: str, said: str, verdicts: list[dict[str, Any]]) -> None:
        super().__init__(said)
        self.reason, self.said, self.verdicts = reason, said, verdicts


class ExpectedRegistry(msgspec.Struct, frozen=True):
    """Registry that the card has to be of. `registry_name`, `spiffe_id` and `ledger_id` are None where the card itself says so first."""

    trust_domain: str
    own_namespace: str | None
    registry_name: str | None = None
    spiffe_id: str | None = None
    is_of_own_frame: bool = False
    ledger_id: str | None = None


def judge_card(card: str, keys: str, expected: ExpectedRegistry, *, now: datetime) -> VerifiedCard:
    """Return the card with its signed leaves, verified by the key set of its own host. Raises: CardRefused."""
    try:
        key_document = read_json(keys)
        key_set = read_keys(key_document)
    except (NotCanonical, NotAKey) as error:
        raise _refused("keys_unreadable", str(error), []) from None
    _require_name(_stated_name(card), expected)
    reader = CardReader(expected.trust_domain, expected.own_namespace, expected.is_of_own_frame)
    verdict = verify_registry_card(card, key_set, at=now, reader=reader)
    verdicts = [{"step": step.name, "ok": step.holds, "reason": step.said} for step in verdict.steps]
    if verdict.signed is None:
        raise _refused(verdict.code, verdict.steps[-1].said, verdicts)
    document = read_json(card)
    _require_own_name(verdict.signed, verdicts)
    if expected.spiffe_id not in {None, verdict.signed["identity.spiffe_id"]}:
        raise _refused("identity_changed", "the card states another SPIFFE id than before", verdicts)
    ledger_id = _ledger_id(verdict.signed)
    if expected.ledger_id not in {None, ledger_id}:
        raise _refused(
            "ledger_mismatch",
            f"the card is of the ledger {ledger_id}, expected was {expected.ledger_id}",
            verdicts,
        )
    missing = [path for path in SIGNED_TO_CROSS if path not in verdict.signed]
    if missing:
        raise _refused("leaf_unsigned", f"the card does not sign {', '.join(missing)}", verdicts)
    address = document["identity"].get("federation_base_url")
    if not address:
        raise _refused("federation_off", "the card states no federation_base_url", verdicts)
    assert verdict.kid is not None
    assert verdict.signed_at is not None
    assert verdict.expires_at is not None
    return VerifiedCard(
        spiffe_id=verdict.signed["identity.spiffe_id"],
        ledger_id=ledger_id,
        registry_name=verdict.signed["identity.registry_name"],
        trust_domain=verdict.signed["identity.trust_domain"],
        did_namespace=verdict.signed["identity.did_namespace"],
        settlement_currency=verdict.signed["fees.settlement_currency"],
        federation_base_url=address.rstrip("/"),
        text=card,
        etag=document["lifecycle"]["card_etag"],
        kid=verdict.kid,
        signed_at=verdict.signed_at,
        expires_at=verdict.expires_at,
        keys=key_document,
        verdicts=[*verdicts, {"step": "name", "ok": True, "reason": "a name that the registry answers to"}],
    )


def name_trouble(name: str, expected: str | None) -> str | None:
    """Why no peer is kept under this name: `empty_name`, `infra_label` or `card_name_mismatch`; None: it may be."""
    if not name.strip():
        return "empty_name"
    if name.strip().lower() in INFRASTRUCTURE_LABELS:
        return "infra_label"
    if expected is not None and name != expected:
        return "card_name_mismatch"
    return None


NAME_SENTENCES = {
    "empty_name": "the card states an empty registry_name",
    "infra_label": "registry_name is a bare infrastructure label",
    "card_name_mismatch": "registry_name is not the name under which the registry is known",
}


def _stated_name(card: str) -> str | None:
    """The name that the card states, or None where the card cannot be read and its verification says why."""
    try:
        document = read_json(card)
    except NotCanonical:
        return None
    identity = document.get("identity") if isinstance(document, dict) else None
    name = identity.get("registry_name") if isinstance(identity, dict) else None
    return name if isinstance(name, str) else None


def _require_name(name: str | None, expected: ExpectedRegistry) -> None:
    error = None if name is None else name_trouble(name, expected.registry_name)
    if error is not None:
        raise _refused(error, NAME_SENTENCES[error], [], step="name")


def _require_own_name(signed: Any, verdicts: list[dict[str, Any]]) -> None:
    """The SPIFFE id is that of the registry_name: certificates and cards mean one registry by the two (Specification 2)."""
    name, stated = signed["identity.registry_name"], signed["identity.spiffe_id"]
    if registry_id_of(signed["identity.trust_domain"], name) != stated:
        said = f"the SPIFFE id {stated} is not that of a registry with the name {name!r}"
        raise _refused("identity_mismatch", said, verdicts)


def _ledger_id(signed: Any) -> str:
    """Specification 6 W 2: the trust domain of a frame's own registry, with the path of an operator registry."""
    domain: str = signed["identity.trust_domain"]
    if signed["identity.tier"] != "cloud-operator":
        return domain
    return str(signed["identity.spiffe_id"]).removeprefix("spiffe://")


def _refused(
    reason: str, said: str, verdicts: list[dict[str, Any]], *, step: str | None = None
) -> CardRefused:
    if step is not None or not verdicts or verdicts[-1]["ok"]:
        verdicts = [*verdicts, {"step": step or reason, "ok": False, "reason": said}]
    return CardRefused(reason, said, verdicts)
