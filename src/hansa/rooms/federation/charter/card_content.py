"""Content of the registry card: the derived blocks, computed from the settings, beside those that the operator wrote.

`card_body` is the card without `lifecycle`, `signature` and the members that change by themselves (`economic`, `stats`, `federation.peer_count`).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import msgspec

import hansa
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.canonical import digest
from hansa.rooms import ledger

from .card_paths import CARD_VERSION
from .rules import registry_id_of

API = "/api/v1"
ICON_AT = "/registry-card/icon"
STOCK_CARD_AT = f"{API}/agora/stock-card"
SOLVENCY_CARD_AT = "/.well-known/solvency-card.json"
TRUST_BUNDLE_AT = "/.well-known/spiffe-bundle.json"
SCHEMA_AT = "/.well-known/registry-card-schema.json"
PROTOCOL_VERSION = "1.0"
PAYMENT_PROTOCOL = "a2a-payment-v1"
A2A_VERSIONS = ("0.3", "1.0")
EXCHANGE_NOTE = "A point is a right to a share of revenue for a term: no vote, no claim on treasury or code. It ends worthless."
NOT_MINTING = frozenset({"sandbox", "cloud-operator"})
BORDER_FEE = Fraction(5, 1000)
"""The published rate of transfers to another registry (Specification 2, "Federation sync"): 0.5 percent."""
DISCLOSURE_VERSION = "1.0"

NO_LICENCE: dict[str, Any] = dict.fromkeys(("hash", "type", "network", "plan", "state", "operator"))


class CardFacts(msgspec.Struct, frozen=True):
    """Facts that the content depends on besides the settings."""

    founded_at: datetime
    editable: Mapping[str, Any]
    icon_digest: str | None
    """Hexadecimal SHA-256 of the uploaded icon, or None without one."""
    licence: Mapping[str, Any] | None = None
    """The block `federation.licence` of the certificate that the registry holds, or None without one."""
    compliance: Mapping[str, Any] | None = None
    """The block `compliance`, or None without a profile and without authorizations."""
    fx: Mapping[str, Any] | None = None
    """The block `fees.fx` of a registry that has a pool, or None without one."""
    stock_card: Mapping[str, Any] | None = None
    """Member `fees.exchange.stock_card` for the newest stock card, or None before the first."""

    @property
    def licence_type(self) -> str | None:
        """The type of the certificate, where it is in force."""
        return self.licence["type"] if self.licence and self.licence["state"] == "active" else None


def card_body(settings: Settings, facts: CardFacts) -> dict[str, Any]:
    """The card as far as it is signed or written by the operator."""
    policy = _policy(settings)
    editable = dict(facts.editable)
    visual = _visual(settings, editable.pop("visual", None), facts.icon_digest)
    return {
        "registry_card_version": CARD_VERSION,
        "identity": _identity(settings, facts),
        **editable,
        **({"visual": visual} if visual else {}),
        "capabilities": _capabilities(settings, facts),
        "fees": _fees(settings, facts),
        "federation": _federation(settings, policy, facts),
        "policy": policy,
        "endpoints": _endpoints(settings),
        **({"compliance": dict(facts.compliance)} if facts.compliance else {}),
    }


def tier_of(settings: Settings, facts: CardFacts) -> str:
    """The tier that the registry has by its settings and its licence."""
    if settings.is_central_registry and settings.trust_domain in settings.sovereign_mainframes:
        return "sovereign-mainframe"
    is_frame = facts.licence_type == "frame" and not settings.is_operator
    return "regional-mainframe" if is_frame else settings.registry_tier


def _identity(settings: Settings, facts: CardFacts) -> dict[str, Any]:
    return {
        "spiffe_id": registry_id_of(settings.trust_domain, settings.registry_name),
        "registry_name": settings.registry_name,
        "display_name": settings.registry_name,
        "trust_domain": settings.trust_domain,
        "did_namespace": settings.issuer or None,
        "public_url": settings.base_url,
        "federation_base_url": settings.federation_address,
        "founded_at": facts.founded_at.astimezone(UTC).replace(microsecond=0).isoformat(),
        "tier": tier_of(settings, facts),
        "software_version": hansa.__version__,
    }


def _visual(settings: Settings, written: Any, icon_digest: str | None) -> dict[str, Any]:
    visual = dict(written or {})
    if icon_digest:
        visual["icon_url"] = f"{settings.base_url}{ICON_AT}?v={icon_digest[:16]}"
    return visual


def _capabilities(settings: Settings, facts: CardFacts) -> dict[str, Any]:
    return {
        "federation_enabled": settings.federation_address is not None,
        "fiat_onramp_enabled": False,
        "fiat_providers": [],
        "minting_capability": "disabled" if tier_of(settings, facts) in NOT_MINTING else "sovereign",
        "bridge_capability": _bridge_capability(settings, facts),
        "a2a_versions_supported": list(A2A_VERSIONS),
        "registry_card_versions_served": [CARD_VERSION],
        "supports_payment_protocol": [PAYMENT_PROTOCOL],
        "zkp_phases_enabled": settings.zkp_phases_enabled,
    }


def _bridge_capability(settings: Settings, facts: CardFacts) -> str:
    """The bridge leads between sovereign mainframes that can be called by peers."""
    is_bridged = settings.federation_address and tier_of(settings, facts) == "sovereign-mainframe"
    return "frame_to_frame" if is_bridged else "none"


def _fees(settings: Settings, facts: CardFacts) -> dict[str, Any]:
    book = ledger.Book.of(settings)
    return {
        "intra_registry": {
            "base_rate_percent": percent(book.fees.rate_base),
            "max_rate_percent": percent(book.fees.rate_max),
            "velocity_scaling_factor": int(book.fees.velocity_max),
            "destination": book.fee_collector,
            "customizable": False,
            "locked_by_network": False,
        },
        "cross_registry": {
            "base_rate_percent": percent(BORDER_FEE),
            "fee_recipient": book.fee_collector,
            "customizable": False,
            "locked_by_network": True,
            "future_customization_in_bounded_params": None,
        },
        "hosting": {
            "enabled": False,
            "rate_percent_of_agent_service_fee": 0,
            "min_avt": "0",
            "applies_to_agent_dids": None,
            "description": "This registry takes no share of what agents earn.",
        },
        "fee_collector_address": book.fee_collector,
        "fee_waterfall_policy": "fee_collector",
        "settlement_currency": book.currency,
        "economic_disclosure": {
            "spec_version": DISCLOSURE_VERSION,
            "fee_floor_avt": "0",
            "rounding": "ROUND_HALF_EVEN",
            "fees_emit_event_types": ["TransactionFeeCollected"],
        },
        "fx": dict(facts.fx or {"enabled": False, "route_enabled": False}),
        "exchange": _exchange(settings, facts),
    }


def _exchange(settings: Settings, facts: CardFacts) -> dict[str, Any]:
    if not settings.exchange_enabled:
        return {"enabled": False, "passport_enabled": False}
    base = settings.base_url
    unmade = {"digest": None, "count": 0}
    return {
        "enabled": True,
        "passport_enabled": False,
        "currency": settings.settlement_currency,
        "endpoints": {
            "listings": f"{base}{API}/agora/listings",
            "order": f"{base}{API}/agora/orders",
            "passport_inbound": f"{base}{API}/agora/passport/inbound",
        },
        "fee_bps_default": settings.exchange_fee_bps,
        "note": EXCHANGE_NOTE,
        "stock_card": {"url": f"{base}{STOCK_CARD_AT}", **(facts.stock_card or unmade)},
        "solvency_card": {"url": f"{base}{SOLVENCY_CARD_AT}"},
    }


def _federation(settings: Settings, policy: Mapping[str, Any], facts: CardFacts) -> dict[str, Any]:
    # An operator registry states the certificate of its frame.
    is_mainframe = not settings.is_operator
    return {
        "protocol_version": PROTOCOL_VERSION,
        "supported_auth_methods": ["mtls-spiffe"] if settings.federation_address else [],
        "policy_hash": digest(policy).hex(),
        "is_genesis_registry": is_mainframe and facts.licence_type == "genesis",
        "is_sovereign_frame": is_mainframe and facts.licence_type in {"genesis", "frame"},
        "accepts_peers": settings.federation_address is not None,
        "sync_interval_seconds": settings.federation_sync_interval_seconds,
        "trust_bundle_url": settings.base_url + TRUST_BUNDLE_AT if settings.federation_address else None,
        "licence": dict(facts.licence or NO_LICENCE),
    }


def _policy(settings: Settings) -> dict[str, Any]:
    return {
        "agent_rbac_mode": settings.agent_rbac_mode,
        "agent_delegation_mode": settings.agent_delegation_mode,
        "email_verification_required": settings.email_verification_required,
        "invitation_required": settings.beta_invite_required,
        "terms_version": settings.tos_version,
        "bond_mode": settings.bond_mode,
        "dispute_window_hours": settings.dispute_window_hours,
        "dispute_ruling_days": settings.dispute_ruling_days,
        "staking_enabled": settings.staking_enabled,
        "card_signatures_required": settings.jws_require_signature,
    }


def _endpoints(settings: Settings) -> dict[str, Any]:
    base = settings.base_url
    return {
        "api": base + API,
        "openapi": f"{base}{API}/openapi.json",
        "discover": f"{base}{API}/discover",
        "registry_jwks": f"{base}/.well-known/registry-jwks.json",
        "registry_jwks_history": f"{base}/.well-known/registry-jwks-history.json",
        "registry_card_schema": base + SCHEMA_AT,
        "attestations": f"{base}/api/auditor/attestations",
        "log_checkpoint": f"{base}/log/checkpoint",
        "authorizations": f"{base}{API}/jurisdiction/authorizations",
        **({"mcp": f"{base}/mcp"} if settings.mcp_enabled else {}),
    }


def percent(rate: Fraction) -> int | float:
    """A rate in percent as a JSON number: whole, or with at most six fraction digits."""
    value = round(rate * 100, 6)
    return value.numerator if value.denominator == 1 else float(value)
