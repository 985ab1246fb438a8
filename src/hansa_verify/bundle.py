"""Judge whether a registry signed the bundle of an agent: the whole document, in the form of a signed document of this type."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from .card import DocumentEvaluation, Verdict
from .keys import RegistryKey
from .steps import Refusal

BUNDLE_KIND = "agent.bundle.v1"
BUNDLE_TYPE = "agent-bundle+jws"


def verify_bundle(text: bytes | str, keys: Sequence[RegistryKey], *, at: datetime | None = None) -> Verdict:
    """Judge the text of a bundle by the keys of its registry, as of `at`. Never raises."""
    judged = _BundleEvaluation(text, keys, BUNDLE_TYPE, at)
    code, steps = judged.take()
    if code != "verified":
        return Verdict(code, steps)
    return Verdict(code, steps, judged.card, judged.signer.kid, judged.signed_at)


class _BundleEvaluation(DocumentEvaluation):
    def kind(self) -> str:
        if self.card.get("kind") != BUNDLE_KIND or not isinstance(self.card.get("did"), str):
            raise Refusal("malformed", f"a bundle has the kind {BUNDLE_KIND} and the DID of its agent")
        return f"the bundle of {self.card['did']}"

    steps: tuple[Callable[[Any], str], ...] = (*DocumentEvaluation.steps, kind)
