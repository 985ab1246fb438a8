"""Public documents about the registry, and its jurisdiction, in the examples of the OpenAPI document."""

from typing import Any

BASE = "https://registry.example.org"
API = f"{BASE}/api/v1"
KEY_X = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
KID = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"

AUTHORIZED: dict[str, Any] = {
    "action": "fiat.lane",
    "authority": "Example supervisory authority",
    "subject": "registry.example.org",
    "valid_until": "2027-01-31T12:00:00+00:00",
}
RECORDED: dict[str, Any] = AUTHORIZED | {
    "id": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "evidence": {"tier": "reference", "reference": "Register no. 42"},
    "recorded_at": "2026-01-31T12:00:00+00:00",
}

WELL_KNOWN_BODIES: dict[str, Any] = {
    "AuthorizationServerOut.jwks_uri": f"{BASE}/.well-known/dev-jwks.json",
    "TokenJwk": {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": KEY_X,
        "kid": KID,
        "use": "sig",
        "alg": "EdDSA",
        "token_typ": "agent+jwt",
        "token_aud": "hansa.local/agent",
    },
    "SupplyTermsOut": {
        "issued": "1000000",
        "destroyed": "0",
        "transit_net": "0",
        "net_supply": "1000000",
        "circulating": "1000000",
    },
    "LiabilitiesCommitmentOut": {
        "root": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "total": "1000000",
        "accounts": 1207,
    },
    "SolvencyProofsOut": {
        "keys": f"{BASE}/.well-known/auditor-jwks.json",
        "attestations": f"{BASE}/api/auditor/attestations",
        "liabilities": f"{BASE}/api/auditor/liabilities",
        "balance_proof": f"{API}/teg/balance/proof",
        "log_checkpoint": f"{BASE}/log/checkpoint",
    },
    "SolvencyCardOut.solvency_card_version": "1.0",
    "SolvencyCardOut.epoch": "4711",
    "SolvencyCardOut.delta": "0",
    "SolvencyCardOut.as_of": "2026-01-31T12:00:00.000000+00:00",
    "SolvencyCardOut.checks": {
        "supply": "OK",
        "per_user": "OK",
        "staked_guard": "OK",
        "escrow": "OK",
        "solvency": "SOLVENT",
    },
    "MarketRegistryOut": {
        "registry_name": "hansa",
        "spiffe_id": "spiffe://hansa.local/registry/hansa",
        "trust_domain": "hansa.local",
        "registry_card": f"{BASE}/.well-known/registry-card.json",
    },
    "OfferOut.page": f"{BASE}/agents/did:hansa:hansa.local:3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "OffersOut.count": 1,
    "OffersOut.discover": f"{API}/agent-cards/discover?pricing=paid&origins=local",
    "OffersOut.resources": f"{BASE}/x402/discovery/resources",
    "PaymentPathsOut": {
        "protocols": ["a2a-payment-v1", "x402"],
        "networks": ["hansa:2c26b46b68ffc68ff99b453c1d304134", "eip155:190427583094321"],
        "authorize": f"{API}/a2a-payment/authorize",
        "verify": f"{API}/a2a-payment/verify",
        "settle": f"{API}/a2a-payment/settle",
        "quote": f"{API}/a2a-payment/quote",
    },
    "AgoraCardOut.agora_card_version": "1.0",
    "RegulatoryAuthorizationIn": AUTHORIZED
    | {"evidence": {"tier": "reference", "reference": "Register no. 42"}},
    "RegulatoryAuthorizationOut": RECORDED,
    "read_clearance.subject": "registry.example.org",
    "ClearanceOut": {
        "action": "fiat.lane",
        "subject": "registry.example.org",
        "declared": True,
        "gated": True,
        "authorization": RECORDED,
    },
    "ContractProofOut": {
        "contract_id": 17,
        "subset": {
            "id": 17,
            "contract_type": "attestation",
            "title": "Permit",
            "terms": "The lane is permitted.",
        },
        "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "authorization_id": RECORDED["id"],
        "verdict": "attestation-grade",
    },
}
