"""Values in the examples of the OpenAPI document about other registries.

They are of peers, invitations, the documents that peers exchange, acts between registries of one network beyond transfers, and pools with their rates and quotes.
"""

from typing import Any

from hansa.doors.http.api.example_bodies import DID, LICENCE_JWS, SIGNATURE
from hansa.doors.http.api.example_registry_card import ETAG, REGISTRY_CARD

PEER_URL = "https://peer.example.org"
PEER_ID = "spiffe://peer.example.org/registry/peer"
CSR = "-----BEGIN CERTIFICATE REQUEST-----\n…\n-----END CERTIFICATE REQUEST-----\n"
ROOT = {"use": "x509-svid", "kty": "EC", "crv": "P-256", "x": "…", "y": "…", "x5c": ["MIIB…"]}
VERDICT = {"step": "signature", "ok": True, "reason": "the signed leaves are as they were signed"}
NODES = [
    {
        "name": "hansa",
        "trust_domain": "hansa.local",
        "ledger_id": "hansa.local",
        "tier": "standalone",
        "status": "active",
        "settlement_currency": "AVT",
        "hop_distance": 0,
    },
    {
        "name": "peer",
        "trust_domain": "peer.example.org",
        "ledger_id": "peer.example.org",
        "tier": "standalone",
        "status": "active",
        "settlement_currency": "AVT",
        "hop_distance": 1,
    },
]
EDGE = {"from": "hansa", "to": "peer", "kind": "direct_peer", "status": "active", "lag_seconds": 12}
PEER = {
    "name": "peer",
    "registry_url": PEER_URL,
    "federation_base_url": f"{PEER_URL}:8443",
    "spiffe_id": PEER_ID,
    "ledger_id": "peer.example.org",
    "did_namespace": "peer.example.org",
    "refused": {"card_name_mismatch": 1},
    "bayesian_discount": 0.5,
    "quarantine_reason": None,
    "trouble": None,
}
FEDERATION: dict[str, Any] = {
    "AcceptIn.invitation": "eyJhbGciOiJFZERTQSIsInR5cCI6InBlZXItaW52aXRhdGlvbitqd3MifQ.…",
    "InvitationOut.invitation": "eyJhbGciOiJFZERTQSIsInR5cCI6InBlZXItaW52aXRhdGlvbitqd3MifQ.…",
    "RedeemIn.acceptance": "eyJhbGciOiJFZERTQSIsInR5cCI6InBlZXItYWNjZXB0YW5jZStqd3MifQ.…",
    "RedeemedOut.name": "peer",
    "InvitationIn": {"expires_in": 604_800},
    "InvitationIn.operator": "north",
    "OperatorRenewalIn": {"csrs": [CSR, CSR]},
    "OperatorRenewalIn.csrs": [CSR, CSR],
    "OperatorSvidOut.spiffe_id": "spiffe://hansa.local/registry/north",
    "OperatorSvidOut.certificate": "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n",
    "net_in_limit": "10000",
    "PeerIn.registry_url": PEER_URL,
    "PeerIn.bundle": "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n",
    "PeerIn.name": "peer",
    **{f"PeerOut.{member}": value for member, value in PEER.items()},
    **{f"AcceptedOut.{member}": value for member, value in PEER.items()},
    "AcceptedOut.trouble_of_peer": None,
    "BundleState.sha256": "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef",
    "PeerCardState.etag": ETAG,
    "PeerCardState.kid": f"{PEER_ID}#1",
    "CardVerdictOut": VERDICT,
    "PeerReasonIn.reason": "It sends cards of other registries.",
    "RemovedOut.name": "peer",
    "SyncOut.refused": {},
    "RosterPeer.name": "peer",
    "RosterPeer.registry_url": PEER_URL,
    "NodeOut": NODES[1],
    "EdgeOut": EDGE,
    "TopologyOut": {"self": "hansa", "nodes": NODES, "edges": [EDGE], "as_of": "2026-01-15T12:00:00Z"},
    "PublicCardOut": {"card": REGISTRY_CARD, "source": "local", "fetched_at": None, "verdicts": []},
    "SpiffeBundle": {"keys": [ROOT], "spiffe_sequence": 1, "spiffe_refresh_hint": 300},
}
WRAPPED = {
    "wrapped_currency": "AVT.peer.example.org",
    "wrapped": "120.5",
    "burning": "0",
    "locked_proved": "120.5",
    "delta": "0",
    "status": "OK",
}
FORK = {
    "origin": "peer.example.org/log",
    "kind": "same_size",
    "found_at": "2026-01-02T03:04:05+00:00",
    "copies": [
        {"witness": "hansa.local", "checkpoint": "peer.example.org/log\n8\n…\n\n— peer.example.org/log …\n"},
        {
            "witness": "third.example",
            "checkpoint": "peer.example.org/log\n8\n…\n\n— peer.example.org/log …\n",
        },
    ],
}
BRIDGES: dict[str, Any] = {
    "LogForkOut": FORK,
    "ForkCopyOut": FORK["copies"][0],
    "SlashMessagesIn.messages": [LICENCE_JWS],
    "SlashMessagesOut.messages": [LICENCE_JWS],
    "PeerStatementsIn.messages": [LICENCE_JWS],
    "PeerStatementsOut.messages": [],
    "SettlementOut.reason": None,
    "SettlementOut.slashed_amount": "12.5",
    "SettlementOut.compensated_amount": "10",
    "SettlementReasonIn.reason": "The work was delivered as agreed.",
    "peer_id": "peer",
    "BridgeMessagesIn.messages": [LICENCE_JWS],
    "BridgeMessagesOut.messages": [LICENCE_JWS],
    "BridgeStatusOut.reason": None,
    "BridgeStatusOut.sender_did": DID,
    "BridgeStatusOut.wrapped_currency": "AVT.hansa.local",
    "BridgeStatusOut.source": "hansa.local",
    "BridgeStatusOut.destination": "peer.example.org",
    "LockedUnits.locked": "30",
    "WrappedUnits": WRAPPED,
}
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

SWAPS: dict[str, Any] = {
    "from": "AVT",
    "to": "BOB",
    "to_currency": "BOB",
    "rate": "1.970297029",
    "fee_pct": "0.5",
    "SwapQuoteOut.fee": "0.0990099",
    "amount_in": "10",
    "amount_out": "19.70297029",
    "min_amount_out": "19.7",
    "price_impact": "0.990099",
    "slippage_max": "2",
    "reserve_own": "1000",
    "reserve_foreign": "2000",
    "reserve_from": "1000",
    "reserve_to": "2000",
    "reserve_floor": "0.01",
    "size_cap": "1000",
    "k": "2000000",
    "BreakerOut.pct": "20",
    "PoolOut.home": "hansa.local",
    "PoolOut.peer": "peer.example.org",
    "PoolOut.proposed": "2000",
    "PoolIn.peer": "peer.example.org",
    "PoolActIn.asked": "2000",
}
