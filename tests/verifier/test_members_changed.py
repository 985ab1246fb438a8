"""Each single member of each kind of signed document, changed: refused with one sentence, unless it is unsigned by design.

Scores are no document: they are computed anew from public events. Payment quotes and delivery receipts are judged within a bundle.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from hansa_verify import (
    NotCanonical,
    canonical_json,
    read_auditor_keys,
    read_keys,
    verify_achievement,
    verify_contract_proof,
    verify_document,
    verify_licence,
    verify_settlement,
)
from tests.verifier import achievements, contract_proofs, settlements
from tests.verifier.members import Change, changes_of, read, written
from tests.verifier.served import OF_AUDITOR, OF_REGISTRY, SERVED, VECTORS, Vector, vectors_in

SENTENCE_MAX = 400
IN_ANY_ORDER = r"order .*"
"""The canonical form, or the schema, sorts the members."""
FURTHER = r"add .*\bzz"
"""A further member that no reader of the kind knows."""


@dataclass(frozen=True)
class Subject:
    """A document that is verified. `unsigned` has expressions for `<kind of change> <place>`, each with a reason beside it."""

    text: str
    evaluate: Callable[[str], Any]
    unsigned: tuple[str, ...] = ()


def served(kind: str, number: int, *unsigned: str) -> Subject:
    vector = [one for one in vectors_in(SERVED) if one["kind"] == kind][number]
    at = datetime.fromisoformat(vector["at"])

    def evaluate(text: str) -> Any:
        is_registrys = kind in OF_REGISTRY
        keys = (read_keys if is_registrys else read_auditor_keys)(vector["keys"])
        judges: dict[str, Callable[..., Any]] = OF_REGISTRY if is_registrys else OF_AUDITOR
        return judges[kind]({**vector, "document": text}, keys, at)

    return Subject(written(read(vector["document"])), evaluate, unsigned)


def registry_card() -> Subject:
    """The card names its signed leaves itself; no other member is returned by the verifier."""
    subject = served("registry_card", 0)
    card = json.loads(subject.text)
    leaves = {*card["signature"]["signed_canonical"]}
    places = [
        place for place in _places(card) if not _touches(place, leaves) and place.split(".")[0] != "signature"
    ]
    unsigned = "|".join(map(re.escape, places))
    absent = "|".join(re.escape(leaf) for leaf in sorted(leaves) if _at(card, leaf) is None)
    return Subject(
        subject.text,
        subject.evaluate,
        (
            IN_ANY_ORDER,
            rf"(drop|twice|value|type|add|reverse) ({unsigned})(\..*)?",
            # A leaf that is null is signed as one that is absent.
            rf"drop ({absent})",
            r"(drop|add) federation\.licence(\.zz)?",
            # The paths are signed in their own order.
            r"reverse signature\.signed_canonical",
            # Where to look for keys says the reader; the JWS states the same leaves once more, and is judged where it is there.
            r"value signature\.jwks_url",
            r"drop signature\.jws",
        ),
    )


def _places(value: Any, above: str = "") -> list[str]:
    """The dotted names of every member of an object, and of those within it."""
    found = []
    for name, member in value.items() if isinstance(value, dict) else ():
        place = f"{above}.{name}".lstrip(".")
        found += [place, *_places(member, place)]
    return found


def _touches(place: str, leaves: set[str]) -> bool:
    return any(f"{place}.".startswith(f"{leaf}.") or f"{leaf}.".startswith(f"{place}.") for leaf in leaves)


def _at(card: Any, leaf: str) -> Any:
    for name in leaf.split("."):
        card = card.get(name) if isinstance(card, dict) else None
    return card


def licence() -> Subject:
    vector = json.loads((VECTORS / "licences" / "valid_operator.json").read_text())
    parts = {name: vector[name] for name in ("certificate", "chain", "lists")}

    def evaluate(text: str) -> Any:
        found = json.loads(text)
        at = datetime.fromisoformat(vector["at"])
        return verify_licence(
            found.get("certificate"),
            found.get("chain", []),
            root_hash=vector["root"],
            lists=found.get("lists", []),
            at=at,
        )

    # They are given side by side: in any order, and more than are needed.
    side_by_side = (
        r"order ",
        r"add zz",
        r"twice (certificate|(chain|lists)(\.[01])?)",
        r"reverse (chain|lists)",
        r"add (chain|lists)\.2",
    )
    return Subject(json.dumps(parts, separators=(",", ":")), evaluate, side_by_side)


def settlement(name: str, *unsigned: str) -> Subject:
    vector = next(one for one in vectors_in(settlements.FROZEN) if one["name"] == name)
    keys, at = read_keys(vector["keys"]), datetime.fromisoformat(vector["at"])
    text = written(read(vector["document"]))
    return Subject(text, lambda document: verify_settlement(document, keys, at=at), (r"order ", *unsigned))


def contract_proof() -> Subject:
    vector = next(one for one in vectors_in(contract_proofs.FROZEN) if one["name"] == "valid")
    keys, at = read_keys(vector["keys"]), datetime.fromisoformat(vector["at"])
    text = written(read(vector["document"]))
    return Subject(
        text,
        lambda document: verify_contract_proof(document, vector["card"], keys, at=at),
        (IN_ANY_ORDER,),
    )


def bundle() -> Subject:
    points = {settlements.KID: settlements.PRESENT.public_key().public_bytes_raw()}
    keys = read_keys(
        {
            "keys": [
                {"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": settlements.encoded(x)}
                for kid, x in points.items()
            ]
        }
    )
    at = datetime.fromisoformat(settlements.AT)
    text = canonical_json(settlements.facts()).decode()
    return Subject(
        text,
        lambda document: verify_document(document, keys, typ="dispute-bundle+jws", at=at),
        (r"order (?!.*<0>).*", r"add signatures\.0\.zz"),
    )


RECORD = (
    r"(drop|twice|value|type|add|reverse) (attestations\.\d+|attestation)\.proof(\..*)?",
    r"value attestations?(\.\d+)?\.id",
)
"""The place in the log is judged with the log; the number of a record has only to rise."""

SAME_SIGNATURE = r"twice checkpoint\.<0>\.4"
"""A signature line that is there twice is judged twice."""


def achievement() -> Subject:
    keys, at = read_keys(achievements.KEYS), datetime.fromisoformat(achievements.AT)
    return Subject(
        written(read(achievements.document())),
        lambda document: verify_achievement(document, keys, at=at),
        (r"order (?!.*<0>).*", r"add signatures\.0\.zz"),
    )


SUBJECTS: dict[str, Callable[[], Subject]] = {
    # Of two entries that of the registry counts: what the other profile signed is for others.
    "card": lambda: served("card", 6, r"order (?!.*<0>).*", r"\w+ signatures\.1(\..*)?", r"add signatures\.0\.zz", r"(add|reverse) signatures(\.2)?"),
    "receipt": lambda: served("receipt", 0, r"order (?!.*<0>).*", r"add signatures\.0\.zz"),
    "registry_card": registry_card,
    # A chain may end anywhere: the reader pins a head. Its ids state the order.
    "chain": lambda: served("chain", 1, r"reverse attestations", r"order (?!.*payload).*", FURTHER, *RECORD, r"drop attestations\.0", r"(drop|type|value) kid"),
    "balance": lambda: served("balance", 0, r"order (?!.*payload).*", r"reverse leaves", FURTHER, *RECORD),
    "blocks": lambda: served("blocks", 0, r"order (?!.*payload).*", FURTHER, *RECORD),
    "leaf": lambda: served("leaf", 16, r"order ", r"add zz", SAME_SIGNATURE),
    "consistency": lambda: served("consistency", 0, r"order ", r"add zz", SAME_SIGNATURE),
    "licence": licence,
    "award_and_receipt": lambda: settlement("valid_award_and_receipt", r"reverse messages", r"drop messages\.[01]"),
    "paid_award": lambda: settlement("valid_paid"),
    "contract_proof": contract_proof,
    "bundle": bundle,
    "achievement": achievement,
}  # fmt: skip


@pytest.mark.parametrize("name", SUBJECTS)
def test_each_single_change_of_a_document_is_refused_unless_the_member_is_unsigned_by_design(name: str):
    subject = SUBJECTS[name]()
    assert subject.evaluate(subject.text).code == "verified"
    used, wrong = set(), []
    for change in changes_of(subject.text):
        refusal = refused(subject, change)
        what = f"{change.kind} {change.place}"
        allowed = {one for one in subject.unsigned if re.fullmatch(one, what)}
        if refusal is None:
            used |= allowed
            if not allowed:
                wrong.append(f"{what} is verified")
        elif not 0 < len(refusal) <= SENTENCE_MAX or "\n" in refusal:
            wrong.append(f"{what} is refused without one sentence: {refusal!r}")
    assert not wrong, "\n".join(wrong)
    assert used == set(subject.unsigned), "an exception of which nothing is verified"


def refused(subject: Subject, change: Change) -> str | None:
    """Return the error of the change; None where the document is verified."""
    try:
        verdict = subject.evaluate(change.text)
    except NotCanonical as error:
        return str(error)
    if verdict.code == "verified":
        return None
    said: str = next(step.said for step in verdict.steps if not step.holds)
    return said


@pytest.mark.parametrize("kind", ["card", "receipt", "chain", "balance"])
def test_a_signature_of_another_document_of_the_same_kind_and_key_is_refused(kind: str):
    vectors = [one for one in vectors_in(SERVED) if one["kind"] == kind]
    subject = served(kind, 1 if kind == "chain" else 0)
    tried = 0
    for other in signatures_in(vectors) - signatures_in([{"document": subject.text}]):
        own = min(signatures_in([{"document": subject.text}]))
        assert refused(subject, Change("signature", "", subject.text.replace(own, other))) is not None
        tried += 1
    assert tried >= 3


def signatures_in(vectors: list[Vector]) -> set[str]:
    """Those by the key of the registry: of a card its first entry."""
    return {
        found for one in vectors for found in re.findall(r'"signature": ?"([\w-]{86})"', one["document"])[:1]
    }
