"""Reduction of a slash by attestations that a dispute cites (Specification 2, "Dispute routes"). Pure: a bundle gives everybody the same one.

- An attestation counts if its holder is the defendant, its subject is that of the dispute, and it was verified, neither ended nor
  revoked, at the ruling; of one circuit one counts.
- Each that counts takes `share_each` of the slash, all together at most a half. The units are rounded half to even.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from typing import Any

SHARE_MAX = Decimal("0.5")
UNIT = Decimal("0.00000001")
DIGITS = 60
REDUCED_SINCE = 3
"""The first version of the rules with a reduction."""


@dataclass(frozen=True)
class Reduction:
    """Share of the slash that is not destroyed, and the attestations that count, in the order in which they were cited."""

    share: Decimal
    attestation_ids: tuple[str, ...]

    def of(self, slash: Decimal) -> Decimal:
        """The units by which a slash is cut."""
        with localcontext(prec=DIGITS):
            return (slash * self.share).quantize(UNIT, ROUND_HALF_EVEN)


def reduce_slash(bundle: Mapping[str, Any]) -> Reduction:
    """Return the reduction that follows from the facts of a bundle: its dispute, contract and token, `attestations` and `slash`."""
    subject, as_of = _subject_of(bundle), datetime.fromisoformat(bundle["slash"]["as_of"])
    share_each = Decimal(bundle["slash"]["share_each"])
    counted: dict[str, str] = {}
    for one in bundle["attestations"] if share_each else ():
        is_of_dispute = (one["agent_did"], one["context"]) == (bundle["dispute"]["defendant_did"], subject)
        if subject is not None and is_of_dispute and _is_valid(one, as_of):
            counted.setdefault(one["circuit_id"], one["attestation_id"])
    with localcontext(prec=DIGITS):
        return Reduction(min(len(counted) * share_each, SHARE_MAX), tuple(counted.values()))


def reduction_of(bundle: Mapping[str, Any]) -> Reduction | None:
    """Return the reduction that follows from the facts of a bundle; None where it cites nothing, or is one of earlier rules."""
    is_stated = bundle["rules"] >= REDUCED_SINCE and bundle["slash"] is not None
    return reduce_slash(bundle) if is_stated else None


def states_reduction(bundle: Mapping[str, Any], reduction: Reduction) -> bool:
    """Return whether the bundle states this reduction, and before a ruling no units."""
    stated = bundle["slash"]
    cut = None if stated["requested"] is None else reduction.of(Decimal(stated["requested"]))
    said = None if stated["reduction"] is None else Decimal(stated["reduction"])
    shares = (Decimal(stated["share"]), tuple(stated["attestation_ids"]))
    return (cut, reduction.share, reduction.attestation_ids) == (said, *shares)


def _subject_of(bundle: Mapping[str, Any]) -> str | None:
    if bundle["contract"] is not None:
        return f"contract:{bundle['contract']['id']}"
    return None if bundle["token"] is None else f"token:{bundle['token']['token_id']}"


def _is_valid(attestation: Mapping[str, Any], as_of: datetime) -> bool:
    since, until = (datetime.fromisoformat(attestation[name]) for name in ("verified_at", "expires_at"))
    revoked = attestation["revoked_at"]
    return since <= as_of < until and (revoked is None or datetime.fromisoformat(revoked) > as_of)
