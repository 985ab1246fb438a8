"""Receipts: the payment of a settled token, signed by the registry and verifiable offline with its published keys.

A receipt is for everybody who has its link. It never has the token, its task, its resource or the digest of its request.
"""

from typing import Any
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.values.canonical import canonical_json
from hansa.foundation.values.money import format_amount
from hansa.rooms import federation
from hansa_verify import CARD_PROFILE

from . import store
from .errors import ReceiptUnknown
from .rules import Token

TYPE = "payment-receipt+jws"
KIND = "pay.receipt.v1"


async def signed_receipt(
    database: Database, signatory: federation.Signatory, token_id: UUID, currency: str
) -> dict[str, Any]:
    """The receipt of a settled token, with its signature. Raises: ReceiptUnknown, KeyDoesNotOpen, Unavailable."""
    token = await database.read_replicated(lambda tx: store.find(tx, token_id))
    if token is None or token.settled_at is None:
        raise ReceiptUnknown
    key = await signatory.present_key()
    receipt = _document(token, currency)
    # The same key signs the same receipt with the same bytes; it signs none from before its time.
    signed_at = max(int(token.settled_at.timestamp()), int(key.valid_from.timestamp()))
    header = {"typ": TYPE, "iat": signed_at, "canon": CARD_PROFILE}
    return {**receipt, "signatures": [federation.detached_signature(key, canonical_json(receipt), header)]}


def _document(token: Token, currency: str) -> dict[str, Any]:
    assert token.settled_at is not None, "a receipt is of a settled token"
    assert token.fee is not None, "a settled token has its fee"
    return {
        "kind": KIND,
        "token_id": str(token.id),
        "status": token.status,
        "caller_did": token.caller,
        "target_agent_did": token.payee,
        "amount": format_amount(token.paid),
        "fee": format_amount(token.fee),
        "currency": currency,
        "settlement_tx_id": token.settlement_tx_id,
        "settled_at": token.settled_at.isoformat(),
    }
