"""Every member of the registry card 0.6 in one table (Specification 2, "Registry card"; decisions F and T).

The strict JSON Schema (`card_schema.py`), the list of signed paths (`card_publication.py`), the blocks that an operator may write
(`card_editing.py`) and `docs/registry-card.md` are computed from it.

A path is dotted; `[]` stands for each item of a list. `limits` are keywords of JSON Schema.
"""

from collections.abc import Mapping
from enum import Flag, auto
from typing import Any, Literal

import msgspec

from hansa.foundation.values.did import RESERVED_NAMESPACES
from hansa_verify.registry_card import BASIC_PATHS

Kind = Literal["string", "number", "integer", "boolean", "object", "array"]

CARD_VERSION = "0.6"
STRING_MAX_CHARACTERS = 2048
"""A receiver refuses a card with a longer string."""
LISTED_MAX = 20


class Mark(Flag):
    """Property of a path besides its kind and limits."""

    NONE = 0
    REQUIRED = auto()
    BASIC = auto()
    """One of the thirteen leaves that every card signs."""
    SIGNED = auto()
    """Signed in addition to the basic ones."""
    EDITABLE = auto()
    """Written by the operator; all others are derived."""
    NULLABLE = auto()
    OPEN = auto()
    """An object with members that the table does not name."""


REQUIRED, BASIC, SIGNED = Mark.REQUIRED, Mark.BASIC, Mark.SIGNED
EDITABLE, NULLABLE, OPEN = Mark.EDITABLE, Mark.NULLABLE, Mark.OPEN
NOTHING = Mark.NONE


class CardPath(msgspec.Struct, frozen=True):
    """One member of the card."""

    path: str
    kind: Kind
    marks: Mark = Mark.NONE
    limits: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def is_signed(self) -> bool:
        """Return whether the signature covers the value."""
        return bool(self.marks & (BASIC | SIGNED))


def _text(path: str, most: int, marks: Mark = NOTHING, *, least: int = 0, pattern: str = "") -> CardPath:
    limits: dict[str, Any] = {"maxLength": most}
    if least:
        limits["minLength"] = least
    if pattern:
        limits["pattern"] = pattern
    return CardPath(path, "string", marks, limits)


def _choice(path: str, *values: str, marks: Mark = NOTHING) -> CardPath:
    return CardPath(path, "string", marks, {"enum": list(values)})


def _number(path: str, least: float, most: float | None, marks: Mark = NOTHING) -> CardPath:
    limits = {"minimum": least} if most is None else {"minimum": least, "maximum": most}
    return CardPath(path, "number", marks, limits)


def _count(path: str, marks: Mark = NOTHING, **limits: int) -> CardPath:
    return CardPath(path, "integer", marks, {"minimum": 0, **limits})


def _flag(path: str, marks: Mark = NOTHING) -> CardPath:
    return CardPath(path, "boolean", marks)


def _block(path: str, marks: Mark = NOTHING, **limits: Any) -> CardPath:
    return CardPath(path, "object", marks, limits)


def _list(path: str, marks: Mark = NOTHING, **limits: Any) -> CardPath:
    return CardPath(path, "array", marks, limits)


URL = r"^https?://[^\s]+$"
HTTPS = r"^https://[^\s]+$"
MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.([0-9]{3}|[0-9]{6}))?\+00:00$"
DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
COLOUR = r"^#[0-9a-fA-F]{6}$"
AMOUNT = r"^[0-9]{1,11}(\.[0-9]{1,8})?$"
SIGNED_AMOUNT = r"^-?[0-9]{1,20}(\.[0-9]{1,8})?$"
DIGEST = r"^sha256:[0-9a-f]{64}$"
HASH = r"^[0-9a-f]{64}$"
MAIL = r"^[^@\s]{1,64}@[^@\s]{1,253}$"
BASE64URL = r"^[A-Za-z0-9_-]+$"
TIERS = ("sovereign-mainframe", "regional-mainframe", "cloud-operator", "sandbox", "standalone")
NAMESPACE = rf"^(?!(?:{'|'.join(sorted(RESERVED_NAMESPACES))})$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"

_IDENTITY = (
    _block("identity", REQUIRED),
    _text("identity.spiffe_id", 512, REQUIRED | BASIC, pattern=r"^spiffe://[^/\s]+/registry/[^/\s]+$"),
    _text("identity.registry_name", 128, REQUIRED | BASIC, least=1),
    _text("identity.display_name", 128, least=1),
    _text("identity.trust_domain", 255, REQUIRED | BASIC, least=3),
    _text("identity.did_namespace", 253, SIGNED | NULLABLE, least=1, pattern=NAMESPACE),
    _text("identity.public_url", 500, SIGNED, pattern=URL),
    _text("identity.federation_base_url", 500, NULLABLE, pattern=HTTPS),
    _text("identity.founded_at", 64, pattern=MOMENT),
    _choice("identity.tier", *TIERS, marks=REQUIRED | BASIC),
    _text("identity.software_version", 64, SIGNED | NULLABLE),
)

_OPERATOR = (
    _block("operator", EDITABLE),
    _text("operator.display_name", 128, REQUIRED | EDITABLE, least=1),
    _text("operator.bio", 2000, EDITABLE),
    _text("operator.company", 256, EDITABLE),
    _text("operator.url", 500, EDITABLE, pattern=URL),
    _text("operator.github_url", 500, EDITABLE, pattern=r"^https://github\.com/[^\s]+$"),
    _text("operator.twitter_handle", 16, EDITABLE, pattern=r"^@?[A-Za-z0-9_]{1,15}$"),
    _text("operator.timezone", 64, EDITABLE, pattern=r"^[A-Za-z0-9_+/-]+$"),
    _text("operator.location_label", 128, EDITABLE),
    _text("operator.operator_since", 10, EDITABLE, pattern=DAY),
    _text("operator.operator_avatar_url", 500, EDITABLE, pattern=r"^/static/(?!.*\.\.)[A-Za-z0-9._/-]+$"),
    _text("operator.contact_email", 320, EDITABLE, pattern=MAIL),
    _text("operator.successor_contact", 320, EDITABLE),
    _block("operator.support_contact", EDITABLE),
    _text("operator.support_contact.email", 320, EDITABLE, pattern=MAIL),
    _text("operator.support_contact.matrix", 256, EDITABLE),
    _text("operator.support_contact.signal", 256, EDITABLE),
    _number("operator.latitude", -90, 90, SIGNED | EDITABLE),
    _number("operator.longitude", -180, 180, SIGNED | EDITABLE),
)

_PRESENTATION = (
    _text("description", 2000, SIGNED | EDITABLE),
    _list("tags", EDITABLE, maxItems=LISTED_MAX),
    _text("tags[]", 48, EDITABLE, least=1),
    _block(
        "visual",
        EDITABLE,
        dependentRequired={"flare_encirclement_overlay": ["flare_encirclement_variant"]},
    ),
    _text("visual.icon_url", 500, pattern=URL),
    _text("visual.orb_color", 7, EDITABLE, pattern=COLOUR),
    _text("visual.orb_glow_color", 7, EDITABLE, pattern=COLOUR),
    _number("visual.orb_pulse_speed_hz", 0.5, 3.0, EDITABLE),
    _number("visual.orb_size_px", 10, 24, EDITABLE),
    _flag("visual.halo_enabled", EDITABLE),
    _number("visual.halo_thickness", 0.5, 2.5, EDITABLE),
    _choice("visual.theme", "neural", "sovereign", "custom", marks=EDITABLE),
    _text("visual.sovereign_variant", 64, BASIC | EDITABLE, least=1),
    _text("visual.flare_corner_variant", 64, EDITABLE, least=1),
    _text("visual.flare_encirclement_variant", 64, EDITABLE, least=1),
    _text("visual.flare_encirclement_overlay", 64, EDITABLE, least=1),
    _list("links", EDITABLE, maxItems=LISTED_MAX),
    _text("links[].title", 128, REQUIRED | EDITABLE, least=1),
    _text("links[].url", 500, REQUIRED | EDITABLE, pattern=URL),
    _list("commitments", EDITABLE, maxItems=LISTED_MAX),
    _text("commitments[].title", 128, REQUIRED | EDITABLE, least=1),
    _text("commitments[].text", 2000, REQUIRED | EDITABLE, least=1),
    _text("commitments[].url", 500, EDITABLE, pattern=URL),
)

_CAPABILITIES = (
    _block("capabilities", SIGNED),
    _flag("capabilities.federation_enabled"),
    _flag("capabilities.fiat_onramp_enabled"),
    _list("capabilities.fiat_providers"),
    _choice("capabilities.fiat_providers[]", "stripe", "mollie"),
    _choice("capabilities.minting_capability", "sovereign", "disabled", "genesis_only", "limited"),
    _choice("capabilities.bridge_capability", "none", "frame_to_frame", "multi_frame"),
    _list("capabilities.a2a_versions_supported", maxItems=LISTED_MAX),
    _text("capabilities.a2a_versions_supported[]", 16, least=1),
    _list("capabilities.registry_card_versions_served", contains={"const": CARD_VERSION}),
    _text("capabilities.registry_card_versions_served[]", 16, least=1),
    _list("capabilities.supports_payment_protocol", maxItems=LISTED_MAX),
    _text("capabilities.supports_payment_protocol[]", 64, least=1),
    _list("capabilities.zkp_phases_enabled"),
    _count("capabilities.zkp_phases_enabled[]"),
)

_FEES = (
    _block("fees", REQUIRED),
    _block("fees.intra_registry", REQUIRED),
    _number("fees.intra_registry.base_rate_percent", 0, 100),
    _number("fees.intra_registry.max_rate_percent", 0, 100),
    _number("fees.intra_registry.velocity_scaling_factor", 0, None),
    _text("fees.intra_registry.destination", 512),
    _flag("fees.intra_registry.customizable"),
    _flag("fees.intra_registry.locked_by_network"),
    _block("fees.cross_registry", REQUIRED),
    _number("fees.cross_registry.base_rate_percent", 0, 100, REQUIRED | BASIC),
    _text("fees.cross_registry.fee_recipient", 512),
    _flag("fees.cross_registry.customizable"),
    _flag("fees.cross_registry.locked_by_network"),
    _list("fees.cross_registry.future_customization_in_bounded_params", NULLABLE, minItems=2, maxItems=2),
    _number("fees.cross_registry.future_customization_in_bounded_params[]", 0, 100),
    _block("fees.hosting", REQUIRED),
    _flag("fees.hosting.enabled", REQUIRED | BASIC),
    _number("fees.hosting.rate_percent_of_agent_service_fee", 0, 100, REQUIRED | BASIC),
    _text("fees.hosting.min_avt", 24, pattern=AMOUNT),
    _list("fees.hosting.applies_to_agent_dids", NULLABLE, maxItems=1000),
    _text("fees.hosting.applies_to_agent_dids[]", 512),
    _text("fees.hosting.description", 2000),
    _text("fees.fee_collector_address", 512, REQUIRED),
    _text("fees.fee_waterfall_policy", 128),
    _text("fees.settlement_currency", 8, REQUIRED | SIGNED, pattern=r"^[A-Z]{2,8}$"),
    _block("fees.economic_disclosure"),
    _text("fees.economic_disclosure.spec_version", 16),
    _text("fees.economic_disclosure.fee_floor_avt", 24, pattern=AMOUNT),
    _choice("fees.economic_disclosure.rounding", "ROUND_HALF_EVEN", "ROUND_HALF_UP", "ROUND_DOWN"),
    _list("fees.economic_disclosure.fees_emit_event_types", maxItems=LISTED_MAX),
    _text("fees.economic_disclosure.fees_emit_event_types[]", 64),
)


def _where(name: str, *, true: Mapping[str, Any], false: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object where its member `name` is true, and where it is not."""
    return {"if": {"properties": {name: {"const": True}}}, "then": true, "else": false}


def _only(*names: str, required: tuple[str, ...]) -> dict[str, Any]:
    return {"propertyNames": {"enum": list(names)}, "required": list(required)}


_FX_SWITCHES = ("enabled", "route_enabled")
_FX_FORMS = _where(
    "enabled",
    true={
        "required": [
            "currency",
            "rate_mode",
            "fee_pct",
            "fee_split",
            "size_cap",
            "reserve_floor",
            "slippage_max",
            "breaker_pct",
        ]
    },
    false=_where(
        "route_enabled",
        true=_only(*_FX_SWITCHES, "route_gateway_registry_id", required=("route_gateway_registry_id",)),
        false=_only(*_FX_SWITCHES, required=("route_enabled",)),
    )
    | {"required": ["route_enabled"]},
)
_EXCHANGE_FORMS = _where(
    "enabled",
    true={"required": ["currency", "endpoints", "fee_bps_default", "stock_card", "solvency_card"]},
    false=_only("enabled", "passport_enabled", required=("passport_enabled",)),
)

_FX_AND_EXCHANGE = (
    _block("fees.fx", **_FX_FORMS),
    _flag("fees.fx.enabled", REQUIRED | SIGNED),
    _flag("fees.fx.route_enabled"),
    _text("fees.fx.route_gateway_registry_id", 512),
    _text("fees.fx.currency", 8, pattern=r"^[A-Z]{2,8}$"),
    _choice("fees.fx.rate_mode", "fixed", "pool"),
    _number("fees.fx.fee_pct", 0, 100),
    _block("fees.fx.fee_split"),
    _number("fees.fx.fee_split.pool_retained_pct", 0, 100, REQUIRED),
    _number("fees.fx.fee_split.fee_collector_pct", 0, 100, REQUIRED),
    _text("fees.fx.size_cap", 24, pattern=AMOUNT),
    _text("fees.fx.reserve_floor", 24, pattern=AMOUNT),
    _number("fees.fx.slippage_max", 0, 100),
    _number("fees.fx.breaker_pct", 0, 100),
    _text("fees.fx.note", 500),
    _block("fees.exchange", **_EXCHANGE_FORMS),
    _flag("fees.exchange.enabled", REQUIRED | SIGNED),
    _flag("fees.exchange.passport_enabled"),
    _text("fees.exchange.currency", 8, pattern=r"^[A-Z]{2,8}$"),
    _block("fees.exchange.endpoints"),
    _text("fees.exchange.endpoints.listings", 500, REQUIRED, pattern=URL),
    _text("fees.exchange.endpoints.order", 500, REQUIRED, pattern=URL),
    _text("fees.exchange.endpoints.passport_inbound", 500, REQUIRED, pattern=URL),
    _count("fees.exchange.fee_bps_default", maximum=10_000),
    _text("fees.exchange.note", 500),
    _block("fees.exchange.stock_card"),
    _text("fees.exchange.stock_card.url", 500, REQUIRED, pattern=URL),
    _text("fees.exchange.stock_card.digest", 71, REQUIRED | SIGNED | NULLABLE, pattern=DIGEST),
    _count("fees.exchange.stock_card.count"),
    _text("fees.exchange.stock_card.updated_at", 64, pattern=MOMENT),
    _text("fees.exchange.stock_card.market_epoch", 128),
    _text("fees.exchange.stock_card.market_freshness", 128),
    _block("fees.exchange.solvency_card"),
    _text("fees.exchange.solvency_card.url", 500, REQUIRED, pattern=URL),
    _text("fees.exchange.solvency_card.digest", 71, NULLABLE, pattern=DIGEST),
    _text("fees.exchange.solvency_card.as_of", 64, pattern=MOMENT),
    _text("fees.exchange.solvency_card.epoch", 128),
    _count("fees.exchange.solvency_card.count"),
    _text("fees.exchange.solvency_card.freshness", 128),
)

_FEDERATION = (
    _block("federation", REQUIRED),
    _text("federation.protocol_version", 16, REQUIRED),
    _list("federation.supported_auth_methods", REQUIRED, maxItems=LISTED_MAX),
    _text("federation.supported_auth_methods[]", 64),
    _text("federation.policy_hash", 64, REQUIRED | BASIC, pattern=HASH),
    _flag("federation.is_genesis_registry", REQUIRED | BASIC),
    _flag("federation.is_sovereign_frame", REQUIRED | BASIC),
    _flag("federation.accepts_peers"),
    _count("federation.sync_interval_seconds"),
    _count("federation.peer_count"),
    _text("federation.trust_bundle_url", 500, NULLABLE, pattern=URL),
    _block("federation.licence", OPEN),
    _text("federation.licence.hash", 64, SIGNED | NULLABLE, pattern=HASH),
    _text("federation.licence.type", 16, SIGNED | NULLABLE, pattern=r"^(genesis|frame|operator)$"),
    _text("federation.licence.network", 255, SIGNED | NULLABLE),
    _text("federation.licence.plan", 40, NULLABLE),
    _text("federation.licence.state", 32, NULLABLE),
    _block("federation.licence.operator", OPEN | NULLABLE),
)

_POLICY = (
    _block("policy"),
    _choice("policy.agent_rbac_mode", "off", "shadow", "enforce"),
    _choice("policy.agent_delegation_mode", "off", "shadow", "enforce"),
    _flag("policy.email_verification_required"),
    _flag("policy.invitation_required"),
    _text("policy.terms_version", 64),
    _choice("policy.bond_mode", "off", "observe", "enforce"),
    _count("policy.dispute_window_hours"),
    _count("policy.dispute_ruling_days"),
    _flag("policy.staking_enabled"),
    _flag("policy.card_signatures_required"),
)

_STATE = (
    _block("economic"),
    _text("economic.currency", 8, pattern=r"^[A-Z]{2,8}$"),
    _block("economic.last_audit", NULLABLE),
    _text("economic.last_audit.status", 32, REQUIRED),
    _text("economic.last_audit.delta", 32, REQUIRED, pattern=SIGNED_AMOUNT),
    _text("economic.last_audit.checked_at", 64, REQUIRED, pattern=MOMENT),
    _block("stats"),
    _count("stats.transactions"),
    _count("stats.events"),
    _block("endpoints", OPEN),
    _text("endpoints.api", 500, pattern=URL),
    _text("endpoints.openapi", 500, pattern=URL),
    _text("endpoints.discover", 500, pattern=URL),
    _text("endpoints.registry_jwks", 500, pattern=URL),
    _text("endpoints.registry_jwks_history", 500, pattern=URL),
    _text("endpoints.registry_card_schema", 500, pattern=URL),
    _text("endpoints.attestations", 500, pattern=URL),
    _text("endpoints.log_checkpoint", 500, pattern=URL),
    _text("endpoints.authorizations", 500, pattern=URL),
    _text("endpoints.mcp", 500, pattern=URL),
    _block("lifecycle", REQUIRED),
    _text("lifecycle.card_etag", 32, REQUIRED | BASIC, pattern=r"^[0-9a-f]{32}$"),
    _text("lifecycle.generated_at", 64, pattern=MOMENT),
    _choice("lifecycle.status", "active", "retiring", "closed"),
)

_COMPLIANCE = (
    _block("compliance"),
    _text("compliance.profile", 128, NULLABLE),
    _text("compliance.version", 128, NULLABLE),
    _list("compliance.denied_features", maxItems=100),
    _text("compliance.denied_features[]", 128),
    _text("compliance.declared_at", 64, NULLABLE, pattern=MOMENT),
    _text("compliance.profile_hash", 71, NULLABLE),
    _list("compliance.regulated_actions", maxItems=LISTED_MAX),
    _text("compliance.regulated_actions[]", 64),
    _list("compliance.authorizations", maxItems=1000),
    _block("compliance.authorizations[]", OPEN),
    _text("compliance.digest", 71, REQUIRED | SIGNED),
)

_SIGNATURE = (
    _block("signature"),
    _text("signature.value", 86, REQUIRED, pattern=BASE64URL),
    _text("signature.kid", 1024, REQUIRED, least=1),
    _list("signature.signed_canonical", REQUIRED, minItems=1, maxItems=200),
    _text("signature.signed_canonical[]", 256, least=1),
    _text("signature.signed_at", 64, REQUIRED, pattern=MOMENT),
    _text("signature.expires_at", 64, REQUIRED, pattern=MOMENT),
    CardPath("signature.alg", "string", REQUIRED, {"const": "EdDSA"}),
    _text("signature.jwks_url", 500, REQUIRED, least=1),
    _text("signature.jws", 2048),
)

CARD_PATHS: tuple[CardPath, ...] = (
    CardPath("registry_card_version", "string", REQUIRED | BASIC, {"const": CARD_VERSION}),
    *_IDENTITY,
    *_OPERATOR,
    *_PRESENTATION,
    *_CAPABILITIES,
    *_FEES,
    *_FX_AND_EXCHANGE,
    *_FEDERATION,
    *_POLICY,
    *_STATE,
    *_COMPLIANCE,
    *_SIGNATURE,
)

SIGNED_PATHS: tuple[str, ...] = (
    *BASIC_PATHS,
    *(row.path for row in CARD_PATHS if row.marks & SIGNED),
)

EDITABLE_BLOCKS: tuple[str, ...] = tuple(
    row.path for row in CARD_PATHS if row.marks & EDITABLE and "." not in row.path and "[" not in row.path
)
UNTAGGED_BLOCKS = frozenset({"economic", "stats", "lifecycle", "signature"})
"""What the entity tag does not depend on (Specification 2; decision T)."""
