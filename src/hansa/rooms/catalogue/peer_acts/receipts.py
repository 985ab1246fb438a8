"""Receipts of applied acts: signed with the registry key and returned to the home of the agent, which stores them.

An act is receipted until the peer has taken the receipt in; a receipt that comes twice changes nothing.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation
from hansa.rooms.catalogue.rules import BIGINT_MAX, DID_MAX
from hansa.rooms.federation import PeerRecord

from . import store
from .records import AppliedAct, Receipt

KIND = "fed.receipt.v1"
ENVELOPE = federation.mailbox.Envelope("federation-receipt+jws", 4096, is_dated=False)
PATH = "/api/v1/federation/enforcement/receipts"
SENT_AT_ONCE = 500
ACTS = ("suspended", "reinstated", "revoked")
MODES = ("shadow", "enforce")
OK = 200


async def send_receipts(runtime: Runtime, peer: PeerRecord) -> None:
    """Return every receipt that is due to the peer. Raises: OutgoingTrouble, PeerClosed, FederationOff."""
    signatory = federation.SIGNATORY.of(runtime)
    while acts := await runtime.database.query(lambda tx: store.due_receipts(tx, peer.id, SENT_AT_ONCE)):
        key = await signatory.present_key()
        receipts = [_signed(act, key, runtime.settings.ledger_id) for act in acts]
        answer = await federation.call_peer(runtime, peer, "POST", PATH, {"receipts": receipts})
        if answer.status != OK:
            return
        await runtime.database.transaction(partial(store.note_receipted, ids=[act.id for act in acts]))


async def receive_receipts(tx: Tx, peer: PeerRecord, texts: Sequence[str]) -> int:
    """Store the receipts of a peer; returns how many were of acts that it had to apply."""
    stored = 0
    for text in texts:
        receipt = read_receipt(text, peer)
        if receipt is None:
            await federation.count_refusal(tx, peer.id, "receipt_invalid")
        else:
            stored += await store.receive(tx, peer.id, peer.ledger_id or "", peer.name, receipt)
    return stored


def read_receipt(text: str, peer: PeerRecord) -> Receipt | None:
    """The receipt, if the peer signed it and says of itself that it applied an act."""
    try:
        payload = ENVELOPE.verify(text, federation.keys_in_force(peer))
    except federation.mailbox.MalformedMessage:
        return None
    return _receipt(payload, text, peer.ledger_id)


def _receipt(payload: Any, text: str, ledger_id: str | None) -> Receipt | None:
    did, version, position = payload.get("agent_did"), payload.get("version"), payload.get("log_position")
    applied_at = _moment(payload.get("applied_at"))
    is_sound = (
        payload.get("kind") == KIND
        and payload.get("by") == ledger_id
        and payload.get("act") in ACTS
        and payload.get("mode") in MODES
        and isinstance(did, str)
        and len(did) <= DID_MAX
        and all(type(number) is int and 0 <= number <= BIGINT_MAX for number in (version, position))
    )
    if not is_sound or applied_at is None:
        return None
    return Receipt(did, version, payload["act"], payload["mode"], applied_at, position, text)


def _moment(text: object) -> datetime | None:
    try:
        timestamp = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return timestamp if timestamp is not None and timestamp.tzinfo is not None else None


def _signed(act: AppliedAct, key: federation.SigningKey, ledger_id: str) -> str:
    members = {
        "kind": KIND,
        "agent_did": act.agent_did,
        "act": act.act,
        "version": act.version,
        "applied_at": act.applied_at.isoformat(),
        "log_position": act.position,
        "by": ledger_id,
        "mode": act.mode,
    }
    return ENVELOPE.sign(key, members)
