"""Values in the examples of the documents that registries exchange as peers."""

from typing import Any

from hansa.doors.http.api.example_bodies import SIGNATURE

PLACE = "WyJwIiw3NDEsNDcxMSwxN10"
DIGEST = "sha256:9e017a1c0c3ff6b1a4d4b7f1d2a0a6c9d9b2b2e0f4a5c6d7e8f90a1b2c3d4e5f"
RECEIPT = "eyJhbGciOiJFZERTQSJ9.eyJraW5kIjoiZmVkLnJlY2VpcHQudjEifQ.c2lnbmF0dXJl"

PEERS: dict[str, Any] = {
    "HintIn.next": PLACE,
    "PeerPageOut.next": PLACE,
    "PeerPageOut.digest": DIGEST,
    "RelayedPageOut.next": PLACE,
    "RelayedPageOut.digest": DIGEST,
    "PeerItemOut.digest": DIGEST,
    "PeerItemOut.status": "active",
    "PeerItemOut.signature": {"protected": "eyJhbGciOiJFZERTQSJ9", "signature": SIGNATURE},
    "ReceiptsIn.receipts": [RECEIPT],
    "DidDigestsIn.digests": [DIGEST.removeprefix("sha256:")],
    "DidHolder.digest": DIGEST.removeprefix("sha256:"),
    "DidHolder.registry": "spiffe://hansa.local/registry/north",
    "RangeOut.prefix": "7",
    "RangeOut.digest": DIGEST.removeprefix("sha256:"),
    "RangesOut.prefix": "",
    "RangesOut.digest": DIGEST.removeprefix("sha256:"),
    "read_cards_for_peer.since": PLACE,
    "read_cards_for_peer.prefix": "7",
    "read_enforcement_for_peer.since": PLACE,
    "read_card_digest_for_peer.prefix": "7",
    "NoticeOut.peer": "peer",
    "NoticeOut.ledger_id": "peer.example.org",
    "NoticeOut.act": "suspended",
    "NoticeOut.mode": "enforce",
    "NoticeOut.receipt": RECEIPT,
}
