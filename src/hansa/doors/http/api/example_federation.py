"""Peers and invitations in the examples of the OpenAPI document."""

from typing import Any

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
