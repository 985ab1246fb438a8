"""Whole bodies in the examples of the OpenAPI document, and the values that several examples share.

Public documents about the registry, and its jurisdiction, in the examples of the OpenAPI document.
"""

from typing import Any

from hansa.doors.http.api.example_registry_card import REGISTRY_CARD_BODIES

DID = "did:hansa:hansa.local:1b4e28ba-2fa1-41d2-883f-0016d3cca427"
PAYEE = "did:hansa:hansa.local:6fa459ea-ee8a-4ca4-894e-db77e160355e"
KEY_ID = f"{DID}#key-1"
THUMBPRINT = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
POINT = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
JWT = "eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9.…"
PEM = "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----\n"
PASSWORD = "Correct-Horse-7-Battery"  # noqa: S105
PAYMENT_TOKEN = "apt_9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # noqa: S105
CERTIFICATE = "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n"
ENTRY = f"urn:air:hansa.local:{DID}"
SPIFFE_ID = "spiffe://hansa.local/agent/1b4e28ba-2fa1-41d2-883f-0016d3cca427"
SKILL = {"id": "translate", "name": "Translate", "description": "German to English.", "tags": ["translation"]}
INTERFACE = {"url": "https://lingua.example.org/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
CARD: dict[str, Any] = {
    "name": "Lingua",
    "description": "Translates letters and contracts.",
    "version": "1.0.0",
    "supportedInterfaces": [INTERFACE],
    "capabilities": {"streaming": False},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [SKILL],
}
AUDITOR_KID = "47050bfbdc819cea"
ATTESTED_DIGEST = "9e012510f7e6ab8cb2af5d28ee73d93e807ddff01e291b6d72c7deb12e4e76c5"
LICENCE_HASH = "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"
LICENCE_JWS = "eyJhbGciOiJFZERTQSIsImtpZCI6IuKApiIsInR5cCI6ImxpY2VuY2UrandzIn0.…"
LOG_HASH = "dtZ+Ya28nxDht03dYIq9L5jfsW++dVJ3tSMqEn8gh+8="
SIGNATURE = "cu_XR2KsyCxP8IxS0PSJdlWRuJhsBggehcgEhN550t_orBTLCWEG5BF36eGCnuQBUyA7sGKG6ddHmWj49pl0Dw"
WALLET = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
WALLET_NETWORK = "eip155:205398113906423"
WALLET_TERMS: dict[str, Any] = {
    "scheme": "exact",
    "network": WALLET_NETWORK,
    "amount": "25000000",
    "asset": "0x1c2C2b6a5D4A5f0E3B1d8c9F7E6a5b4C3d2E1f00",
    "payTo": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    "maxTimeoutSeconds": 300,
    "extra": {"name": "Hansa hansa.local", "version": "1"},
}
DELIVERABLE = {
    "uri": "https://work.example.org/manual.pdf",
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "note": "All 40 pages.",
}

BASE = "https://registry.example.org"
API = f"{BASE}/api/v1"

AUTHORIZED: dict[str, Any] = {
    "action": "fiat.lane",
    "authority": "Example supervisory authority",
    "subject": "registry.example.org",
    "valid_until": "2027-01-31T12:00:00+00:00",
}

KEY_X = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
KID = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"

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
        "transactions": "OK",
        "shares": "OK",
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

BODIES: dict[str, Any] = {
    **REGISTRY_CARD_BODIES,
    **WELL_KNOWN_BODIES,
    # Of some, one member excludes or requires another.
    "TreasuryRequestIn": {
        "kind": "payment",
        "receiver_did": PAYEE,
        "amount": "12.5",
        "message": "Manual, part 2",
        "note": "Invoice 7",
    },
    "TreasuryBudgetChangesIn": {"amount": "40"},
    "TreasuryBudgetIn": {"name": "Calls", "amount": "50", "period": "month", "agent_did": DID},
    "OAuthTokenForm": {
        "grant_type": "client_credentials",
        "client_id": "agent-0f8fad5bd9cb469f",
        "client_secret": "agsec_…",
    },
    "AgentTokenForm": {"grant_type": "password", "username": "agent-0f8fad5bd9cb469f", "password": "agsec_…"},
    "CreateAgentIn": {"agent_did_method": "hansa", "agent_card": CARD},
    "CreateCardIn": {"card_data": CARD},
    "AgentProjectIn": {
        "agent_name": "Word counter",
        "agent_description": "Counts the words of a text.",
        "agent_builder_type": "paid_function",
        "price": "0.05",
    },
    "ImportIn": {
        "server_json": {
            "name": "com.example/lingua",
            "description": "Translates texts.",
            "version": "1.2.0",
            "remotes": [{"type": "streamable-http", "url": "https://mcp.example.com/mcp"}],
        },
    },
    "BuyIn": {"target_agent_did": PAYEE, "message": "Hello", "max_amount": "5", "timeout_seconds": 10},
    "SendIn": {"receiver_did": PAYEE, "amount": "12.5", "message": "Invoice 17", "dry_run": True},
    "TransferLine": {"receiver_did": PAYEE, "amount": "12.5", "message": "Invoice 17", "key": "invoice-17"},
    "TransferLineOut.key": "invoice-17",
    "TransferLineOut.error": None,
    "ApprovalIn.payment_token": None,
    "TransferIn": {"receiver_agent_id": PAYEE, "amount": "12.5", "message": "Invoice 17"},
    "NarrowerCaveatsIn": {"permissions": ["teg.transfer"], "max_per_tx": "5"},
    "AttenuationIn": {"holder_agent_did": PAYEE, "caveats": {"max_per_tx": "5"}, "ttl_seconds": 300},
    "ConsumptionIn": {"amount": "1", "permission": "teg.transfer", "counterparty_did": PAYEE},
    "CapabilityIn": {
        "holder_agent_did": PAYEE,
        "budget_total": "50",
        "caveats": {"permissions": ["teg.transfer"], "max_per_tx": "10"},
    },
    "AuthzIn": {"roles": ["trader", "client"], "spend_policy": {"per_tx_max": "100", "approval_over": "50"}},
    "QueryIn": {"text": "translate a contract"},
    "InvitesIn": {"count": 2, "max_uses": 1, "expires_days": 30, "note": "For the pilot"},
    "WebhookChangeIn": {"description": "Payments", "is_active": True},
    "PolicyChange": {"emit_from_registry": True},
    "ContractIn": {
        "provider_did": PAYEE,
        "title": "Translate a manual",
        "contract_type": "service",
        "amount": "100",
        "terms": "German to English, 40 pages.",
        "acceptance_criteria": "Every page is translated.",
        "submit_by": "2026-12-01T12:00:00Z",
        "review_by": "2026-12-08T12:00:00Z",
        "funded": True,
    },
    "SubmissionIn": {"deliverable": DELIVERABLE},
    "WorkOrderIn": {
        "title": "Translate a manual",
        "spec": "German to English, 40 pages.",
        "acceptance_criteria": "Every page is translated.",
        "amount": "100",
        "milestones": [{"title": "Draft", "amount": "40"}, {"title": "Final text", "amount": "60"}],
        "skills": ["translation"],
        "bids_until": "2026-12-08T12:00:00Z",
        "submit_days": 14,
        "review_days": 7,
        "auto_approve": True,
    },
    "ListingChangesIn": {"revenue_bps": 400, "term_months": 36},
    "OrderIn": {"listing": "GUILD", "side": "buy", "qty": 10, "order_type": "limit", "price": "2.5"},
    "GovernanceVoteIn": {"vote": "for", "reason": "Sundays are for maintenance."},
    "DisputeIn": {
        "defendant_did": PAYEE,
        "contract_id": 7,
        "reason_code": "POOR_QUALITY",
        "description": "Half of the pages are missing.",
        "claimed_amount": "50",
    },
    "EvidenceIn": DELIVERABLE,
    "MalpracticeIn": {"contract_id": 7, "evidence": DELIVERABLE, "claimed_damages": "50"},
    "RulingIn": {
        "ruling": "IN_FAVOR_OF_COMPLAINANT",
        "slash_amount": "30",
        "note": "The receipt shows another answer.",
    },
    "ApprovalIn": {"milestone": 0},
    "FederatedSubmissionIn": {"contractor_registry": "peer.example.org", "deliverable": DELIVERABLE},
    "StakeIn": {"amount": "100", "lock_period": 30},
    "RegistrationIn": {
        "name": "Ada",
        "email": "ada@example.org",
        "password": PASSWORD,
        "tos_accepted": True,
        "age_confirmed": True,
    },
    "ApiKeyIn": {"key_name": "Deployment", "scopes": ["profile:read"], "expires_in_days": 90},
    "RotateKeyIn": {},
    "BootstrapRequest": {},
    "ReinstateDeveloperIn": {"reason": "The report was mistaken."},
    "WalletChallengeIn.address": "0x857b06519E91e3A54538791bDbb0E22373e36b66",
    "WalletIn.address": "0x857b06519E91e3A54538791bDbb0E22373e36b66",
    "WalletOut.address": "0x857b06519E91e3A54538791bDbb0E22373e36b66",
    "UnboundWalletOut.address": "0x857b06519E91e3A54538791bDbb0E22373e36b66",
    "challenge": "Bind this wallet to a Hansa agent.\nRegistry: hansa.local\n…",
    "WalletIn.signature": "0x2d6a7588…1c",
    "PaymentIn": {
        "x402Version": 2,
        "paymentPayload": {
            "x402Version": 2,
            "accepted": WALLET_TERMS,
            "payload": {
                "signature": "0x2d6a7588…1c",
                "authorization": {
                    "from": WALLET,
                    "to": WALLET_TERMS["payTo"],
                    "value": "25000000",
                    "validAfter": "1763900000",
                    "validBefore": "1763900300",
                    "nonce": "0xf3746613…3480",
                },
            },
        },
        "paymentRequirements": WALLET_TERMS,
    },
    "SupportedOut": {
        "kinds": [
            {"x402Version": 2, "scheme": "exact", "network": WALLET_NETWORK, "extra": WALLET_TERMS["extra"]}
        ],
        "extensions": [],
        "signers": {"eip155:*": [], "hansa:*": []},
    },
    "PaymentVerificationOut": {"isValid": True, "payer": WALLET, "extra": {"fee": "125000"}},
    "PaymentSettlementOut": {
        "success": True,
        "payer": WALLET,
        "transaction": "tx-4711",
        "network": WALLET_NETWORK,
        "amount": "25000000",
        "extra": {"fee": "125000"},
    },
    "DiscoveredResourcesOut": {
        "x402Version": 2,
        "items": [
            {
                "resource": f"https://hansa.example.org/agents/{DID}",
                "type": "http",
                "x402Version": 2,
                "accepts": [WALLET_TERMS],
                "lastUpdated": 1763900000,
                "metadata": {"did": DID, "name": "Lingua"},
            }
        ],
        "pagination": {"limit": 20, "offset": 0, "total": 1},
    },
}
