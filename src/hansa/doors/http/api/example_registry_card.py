"""The registry card in the examples of the OpenAPI document."""

from typing import Any

ETAG = "5f2b7c1a90e84d3f8a6b1c2d3e4f5061"
KID = "spiffe://hansa.local/registry/hansa#1"
COLLECTOR = "did:hansa:system:fee_collector"
EDITABLE: dict[str, Any] = {
    "description": "A registry for translators.",
    "operator": {"display_name": "Example Cooperative", "contact_email": "registry@example.org"},
    "tags": ["translation"],
}
REGISTRY_CARD: dict[str, Any] = {
    "registry_card_version": "0.6",
    "identity": {
        "spiffe_id": "spiffe://hansa.local/registry/hansa",
        "registry_name": "hansa",
        "trust_domain": "hansa.local",
        "did_namespace": "hansa.local",
        "public_url": "https://registry.example.org",
        "tier": "standalone",
    },
    **EDITABLE,
    "capabilities": {
        "minting_capability": "sovereign",
        "registry_card_versions_served": ["0.6"],
        "supports_payment_protocol": ["a2a-payment-v1"],
    },
    "fees": {
        "intra_registry": {"base_rate_percent": 0.5, "max_rate_percent": 5, "destination": COLLECTOR},
        "cross_registry": {"base_rate_percent": 0.5, "fee_recipient": COLLECTOR},
        "hosting": {"enabled": False, "rate_percent_of_agent_service_fee": 0},
        "fee_collector_address": COLLECTOR,
        "settlement_currency": "AVT",
    },
    "federation": {
        "protocol_version": "1.0",
        "supported_auth_methods": ["mtls-spiffe"],
        "policy_hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "is_genesis_registry": False,
        "is_sovereign_frame": False,
    },
    "lifecycle": {"card_etag": ETAG, "generated_at": "2026-01-31T12:00:00+00:00", "status": "active"},
    "signature": {
        "value": "cu_XR2KsyCxP8IxS0PSJdlWRuJhsBggehcgEhN550t_orBTLCWEG5BF36eGCnuQBUyA7sGKG6ddHmWj49pl0Dw",
        "kid": KID,
        "signed_canonical": ["registry_card_version", "identity.spiffe_id", "lifecycle.card_etag"],
        "signed_at": "2026-01-31T12:00:00+00:00",
        "expires_at": "2026-03-02T12:00:00+00:00",
        "alg": "EdDSA",
        "jwks_url": "/.well-known/registry-jwks.json",
    },
}
REGISTRY_CARD_BODIES: dict[str, Any] = {
    "RegistryCard": REGISTRY_CARD,
    "RegistryCardSchema": {"type": "object", "properties": {"registry_card_version": {"const": "0.6"}}},
    "RegistryCardIn": EDITABLE,
    "RegistryCardEdited.editable": EDITABLE,
    "RegistryCardEdited.editable_blocks": ["description", "tags", "operator"],
    "RegistryCardEdited.kid": KID,
    "RegistryCardEdited.card_etag": ETAG,
    "upload_registry_icon": {"file": "…"},
    "upload_registry_icon.file": "…",
}
