"""Attestations that a dispute cites, and the slash that they reduce.

- A citation names an attestation that exists. Each party cites up to 20; the complaint names the first ones of the complainant.
- A ruling shares the cited attestations until its commit, and keeps the facts that its reduction follows from: a bundle states the same
  for good, whatever becomes of the attestations. `hansa_verify` computes the reduction, here and for everybody.
"""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor, format_amount, parse_amount
from hansa.rooms import proofs
from hansa_verify import Reduction, reduce_slash

from . import rules, store
from .dispute import Attested, Decision, Dispute
from .errors import AttestationsTooMany, CitedUnknown


class Reduced(msgspec.Struct, frozen=True):
    """A decision with the slash that is left of it, by how much it was cut, and the facts."""

    decision: Decision
    reduction: Minor
    attested: Attested | None


async def require_cited(tx: Tx, attestation_ids: Sequence[str]) -> None:
    """Each id names an attestation of this registry. Raises: CitedUnknown."""
    if not attestation_ids:
        return
    found = {str(one.attestation_id) for one in await proofs.cited_attestations(tx, attestation_ids)}
    for place, attestation_id in enumerate(attestation_ids):
        if attestation_id not in found:
            raise CitedUnknown(field=f"attestation_ids[{place}]")


async def cite(tx: Tx, dispute: Dispute, did: str, attestation_ids: Sequence[str]) -> None:
    """Cite attestations as a party of a locked dispute; those that are cited already stay so. Raises: CitedUnknown, AttestationsTooMany."""
    await require_cited(tx, attestation_ids)
    await store.cite(tx, dispute.id, did, attestation_ids)
    filed = dispute.filed_attestations if did == dispute.complainant_did else 0
    if filed + await store.count_citations(tx, dispute.id, did) > rules.ATTESTATIONS_MAX:
        raise AttestationsTooMany


async def attested_in(
    tx: Tx, dispute: Dispute, settings: Settings, *, share: bool = False
) -> Attested | None:
    """The cited attestations as of the ruling, or as of now where there is none yet; None where nothing is cited."""
    if dispute.attested is not None or not dispute.attestation_ids:
        return dispute.attested
    cited = await proofs.cited_attestations(tx, dispute.attestation_ids, share=share)
    is_reducing = proofs.REDUCING in settings.zkp_phases_enabled
    facts = Attested(
        as_of=dispute.now.isoformat(),
        share_each=settings.zkp_dispute_slash_reduction if is_reducing else "0",
        share="0",
        attestation_ids=(),
        attestations=tuple(_facts(one) for one in cited),
    )
    reduction = _reduction(dispute, facts)
    return replace(facts, share=format(reduction.share, "f"), attestation_ids=reduction.attestation_ids)


async def reduce(tx: Tx, dispute: Dispute, decision: Decision, settings: Settings) -> Reduced:
    """The decision with its slash reduced by the attestations that count at this ruling."""
    attested = await attested_in(tx, dispute, settings, share=True)
    if attested is None:
        return Reduced(decision, ZERO, None)
    cut = Reduction(Decimal(attested.share), attested.attestation_ids).of(
        Decimal(format_amount(decision.slash))
    )
    reduction = parse_amount(format(cut, "f"))
    left = replace(decision, slash=Minor(decision.slash - reduction))
    return Reduced(left, reduction, attested)


def members_of(dispute: Dispute, attested: Attested | None) -> dict[str, Any]:
    """The members of a bundle about attestations and the slash, which is null where nothing is cited; amounts are null before a ruling."""
    if attested is None:
        return {"attestations": [], "slash": None}
    is_ruled = dispute.attested is not None
    return {
        "attestations": list(attested.attestations),
        "slash": {
            "as_of": attested.as_of,
            "share_each": attested.share_each,
            "share": attested.share,
            "attestation_ids": list(attested.attestation_ids),
            "requested": format_amount(dispute.slash_requested) if is_ruled else None,
            "reduction": format_amount(dispute.slash_reduction) if is_ruled else None,
        },
    }


def _reduction(dispute: Dispute, facts: Attested) -> Reduction:
    contract = None if dispute.contract_id is None else {"id": dispute.contract_id}
    token = None if dispute.token_id is None else {"token_id": str(dispute.token_id)}
    return reduce_slash(
        {
            "dispute": {"defendant_did": dispute.defendant_did},
            "contract": contract,
            "token": token,
            **members_of(dispute, facts),
        }
    )


def _facts(attestation: proofs.Attestation) -> dict[str, str | None]:
    return {
        "attestation_id": str(attestation.attestation_id),
        "agent_did": attestation.agent_did,
        "circuit_id": attestation.circuit_id,
        "context": attestation.context,
        "verified_at": attestation.verified_at.isoformat(),
        "expires_at": attestation.expires_at.isoformat(),
        "revoked_at": _iso(attestation.revoked_at),
    }


def _iso(timestamp: datetime | None) -> str | None:
    return None if timestamp is None else timestamp.isoformat()
