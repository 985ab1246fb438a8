"""Whether an auditor committed to a balance, or to what a registry owes in all: the proof and the attestation that it leads to.

The document is the answer of `/teg/balance/proof`, or of `/api/auditor/liabilities`; each bears its attestation. Keys come from the
caller, as always.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .attestations import AuditorKey, read_record
from .canonical import NotCanonical
from .card import Step
from .liabilities import judge_balance, judge_blocks, read_liabilities


@dataclass(frozen=True)
class BalanceVerdict:
    """The judgement: `code` is `verified`, or names the first step that did not hold."""

    steps: tuple[Step, ...]

    @property
    def code(self) -> str:
        """The outcome."""
        return next((step.name for step in self.steps if not step.holds), "verified")

    @property
    def is_valid(self) -> bool:
        """Whether every step holds."""
        return self.code == "verified"


def verify_liabilities(
    document: Any, keys: Iterable[AuditorKey], *, balance: int | None = None
) -> BalanceVerdict:
    """Judge a balance proof, or the public level. `balance`, in minor units, is what the reader expects. Never raises."""
    if not isinstance(document, Mapping):
        return _refused("proof", "a proof is an object")
    try:
        said = read_record(document.get("attestation"), keys)
    except NotCanonical as trouble:
        return _refused("attestation", str(trouble))
    committed = read_liabilities(said)
    if committed is None:
        return _refused("attestation", "the attestation commits to no liabilities")
    seq = said.get("as_of_event_seq")
    signed = (
        Step("attestation", holds=True, said=f"signed, of {said['ts']}, over {committed.accounts} accounts"),
        Step(
            "moment", holds=type(seq) is int and document.get("as_of_event_seq") == seq, said=f"event {seq}"
        ),
    )
    if "blocks" in document:
        return BalanceVerdict((*signed, *judge_blocks(document, committed)))
    return BalanceVerdict((*signed, *judge_balance(document, committed, balance)))


def _refused(name: str, said: str) -> BalanceVerdict:
    return BalanceVerdict((Step(name, holds=False, said=said),))
