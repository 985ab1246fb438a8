"""Verify that the attestation of a balance proof, or of the public level of the liabilities, is signed and leads to it."""

from collections.abc import Iterable, Mapping
from typing import Any

from .attestations import read_record
from .canonical import NotCanonical
from .keys import AuditorKey
from .liabilities import judge_balance, judge_blocks, read_liabilities
from .steps import Decision, Step, code_of


def verify_liabilities(document: Any, keys: Iterable[AuditorKey], *, balance: int | None = None) -> Decision:
    """Judge a balance proof, or the public level. `balance`, in minor units, is the amount that the reader expects. Never raises."""
    steps = tuple(_steps(document, keys, balance))
    return Decision(code_of(steps), steps)


def _steps(document: Any, keys: Iterable[AuditorKey], balance: int | None) -> Iterable[Step]:
    if not isinstance(document, Mapping):
        return [Step("proof", holds=False, said="a proof is an object")]
    try:
        said = read_record(document.get("attestation"), keys)
    except NotCanonical as error:
        return [Step("attestation", holds=False, said=str(error))]
    committed, seq = read_liabilities(said), said.get("as_of_event_seq")
    if committed is None:
        return [Step("attestation", holds=False, said="the attestation commits to no liabilities")]
    is_same = type(seq) is int and document.get("as_of_event_seq") == seq
    has_blocks = "blocks" in document
    return [
        Step("attestation", holds=True, said=f"signed, of {said['ts']}, over {committed.accounts} accounts"),
        Step("moment", holds=is_same, said=f"event {seq}"),
        *(judge_blocks(document, committed) if has_blocks else judge_balance(document, committed, balance)),
    ]
