"""Openings by a message of a peer: a slash of an agent here, or a compensation of one. Each once for a dispute."""

import json
from typing import Any

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation
from hansa_verify import NotAKey, read_keys, verify_document

from . import store
from .records import Kept
from .settlement import Claim, Direction, Outcome, Settlement, Status

BUNDLE_TYPE = "dispute-bundle+jws"
REFUSED_MAX = 100_000


class Request(msgspec.Struct, frozen=True):
    """A claim of a peer with the facts that it signed, and its message as it came."""

    peer: federation.PeerRecord
    claim: Claim
    verdict: dict[str, Any]
    message: str
    shown: Outcome | None = None
    """What this registry had decided of the claim, by its own signature."""
    payment: str | None = None
    """The name of the payment at the peer; None where it states none."""


class Admitted(msgspec.Struct, frozen=True):
    """The peer may open a settlement about this dispute; `known` is the one that it opened before."""

    known: Kept | None


async def admit(tx: Tx, request: Request, direction: Direction, settings: Settings) -> Admitted | None:
    """Judge whose dispute it is, and find the settlement opened before; None where nothing is answered.

    `incoming`: the defendant is an agent here; `owed`: the complainant is. The requests of a peer wait for each other.
    """
    peer, claim = request.peer, request.claim
    assert peer.spiffe_id is not None
    own, other = claim.defendant_did, claim.complainant_did
    if direction is Direction.OWED:
        own, other = other, own
    is_own = await federation.is_own_did(tx, own, settings)
    if not is_own or not await federation.speaks_for(tx, peer, other, settings):
        await federation.count_refusal(tx, peer.id, "foreign_namespace")
        return None
    await store.lock_peer(tx, peer.spiffe_id)
    known = await store.of_dispute(tx, peer.spiffe_id, direction, claim.dispute_id)
    if known is not None and not known.settlement.claim.is_again(claim):
        await federation.count_refusal(tx, peer.id, "settlement_conflict")
        return None
    return Admitted(known)


async def open_settlement(tx: Tx, request: Request, new: Settlement, *, is_due: bool) -> int | None:
    """Write a settlement with its facts; None where as many refused ones of the peer are kept as may be."""
    peer = request.peer
    assert peer.spiffe_id is not None
    assert peer.ledger_id is not None
    if new.status is Status.FAILED and await store.refused(tx, peer.spiffe_id, REFUSED_MAX) >= REFUSED_MAX:
        return None
    return await store.add(tx, peer.spiffe_id, peer.ledger_id, new, request.message, is_due=is_due)


def is_signed_verdict(request: Request) -> bool:
    """Return whether the facts are of this dispute, and signed with a key of the peer."""
    bundle, claim = request.verdict, request.claim
    complaint = bundle.get("dispute")
    if not isinstance(complaint, dict) or bundle.get("registry") != request.peer.ledger_id:
        return False
    named = (complaint.get("id"), complaint.get("defendant_did"), complaint.get("complainant_did"))
    if named != (claim.dispute_id, claim.defendant_did, claim.complainant_did):
        return False
    try:
        keys = read_keys(request.peer.keys)
    except NotAKey:
        return False
    text = json.dumps(bundle, ensure_ascii=False)
    return verify_document(text, keys, typ=BUNDLE_TYPE).code == "verified"
