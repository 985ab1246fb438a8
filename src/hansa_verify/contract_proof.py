"""Judge whether a registry signed a contract as evidence (Specification 2, "Jurisdiction declarations"; decisions T).

The proof states the subset of a contract that never changes and its digest. The registry card has that digest in an authorization
of its block `compliance`, whose own digest is a signed leaf: both documents come from the same registry.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from .canonical import canonical_json, read_json, read_moment
from .keys import RegistryKey
from .registry_card import verify_registry_card
from .schema import form_error
from .steps import Decision, Refusal, TextEvaluation, refused_as


def verify_contract_proof(
    text: bytes | str, card: bytes | str, keys: Sequence[RegistryKey], *, at: datetime | None = None
) -> Decision:
    """Judge the text of a proof by the card of its registry and the keys of that host, as of `at`. Never raises."""
    return Decision(*_Evaluation(text, card, keys, at).take())


class _Evaluation(TextEvaluation):
    stated: Mapping[str, Any]
    signed: Mapping[str, Any]
    authorizations: Sequence[Mapping[str, Any]]

    def __init__(
        self, text: bytes | str, card: bytes | str, keys: Sequence[RegistryKey], at: datetime | None
    ) -> None:
        super().__init__(text, keys, at)
        self.card_text = card

    def proof(self) -> str:
        with refused_as("proof"):
            self.stated = read_json(self.text)
        if error := form_error(self.stated, "contract_proof"):
            raise Refusal("proof", error)
        return f"contract {self.stated['contract_id']}"

    def digest(self) -> str:
        if sha256(canonical_json(self.stated["subset"])).hexdigest() != self.stated["digest"]:
            raise Refusal("digest", "the digest is not that of the subset")
        return f"the digest of the subset is {self.stated['digest']}"

    def card(self) -> str:
        verdict = verify_registry_card(self.card_text, self.keys, at=self.at)
        if verdict.signed is None:
            raise Refusal("card", f"the registry card is not verified: {verdict.code}")
        self.signed = verdict.signed
        return f"signed with {verdict.kid}"

    def compliance(self) -> str:
        """The block is covered by its digest, which the card signs."""
        with refused_as("compliance", "the card has a number with two readings: "):
            block = dict(read_json(self.card_text).get("compliance") or {})
        declared = block.pop("digest", None)
        found = f"sha256:{sha256(canonical_json(block)).hexdigest()}"
        if not found == declared == self.signed.get("compliance.digest"):
            raise Refusal("compliance", "the card signs no digest of its block compliance, or another one")
        self.authorizations = block.get("authorizations", [])
        return f"{len(self.authorizations)} authorizations"

    def authorization(self) -> str:
        found = [one for one in self.authorizations if one.get("id") == self.stated["authorization_id"]]
        if len(found) != 1:
            raise Refusal("authorization", f"the card has {len(found)} authorizations of that id, not one")
        if error := form_error(found[0], "contract_authorization"):
            raise Refusal("authorization", error)
        evidence, ends = found[0]["evidence"], found[0].get("valid_until")
        declared = (self.stated["contract_id"], self.stated["digest"])
        if (evidence["contract_id"], evidence["contract_digest"]) != declared:
            raise Refusal("authorization", "its evidence is another contract")
        timestamp = None if ends is None else read_moment(ends)
        if ends is not None and (timestamp is None or timestamp <= self.at):
            raise Refusal("authorization", f"the authorization ended at {ends}")
        return f"{found[0]['action']} by {found[0]['authority']}"

    steps = (proof, digest, card, compliance, authorization)
