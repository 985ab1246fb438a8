"""Descriptor of the federation room for the process."""

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.jobs import scheduled, sweep_with_runtime
from hansa.foundation.plumbing.room import Room, Routes
from hansa.foundation.plumbing.telemetry.metrics import (
    certificate_begins,
    certificate_expires,
    operator_licence_readings_total,
    peer_refusals_total,
)
from hansa.foundation.plumbing.web.caller import LICENCE_CHECK, SERVICE_CHECK
from hansa.foundation.plumbing.web.peer_caller import PEER_CHECK

from .admission import check_licence
from .admission import router as admission_router
from .certificate_expiry import MEASURE_CERTIFICATES
from .charter import (
    LAST_AUDIT,
    SEALED_REGISTRY_KEYS,
    admin_router,
    authorizations_admin_router,
    card_admin_router,
    card_root_router,
    card_router,
    icon_admin_router,
    icon_router,
    root_router,
    router,
    well_known_router,
)
from .crossing import OPERATOR_LICENCE, refresh_licences
from .did_claims import CLAIM_DIDS, CONFIRM_CLAIMS
from .did_claims import peer_router as did_claims_router
from .hints import AUDITOR_KIDS, PEER_AUDITOR_KIDS
from .identity import (
    SEALED_IDENTITY_KEYS,
    SEALED_REQUESTED_KEYS,
    identity_followed,
    is_renewal_due,
)
from .invitations import invitations_admin_router, invitations_router
from .jurisdiction import ATTESTED_CONTRACT, jurisdiction_router
from .licences import SEALED_LICENSING_KEYS, renew_card
from .licences import admin_router as licences_admin_router
from .licences import peer_router as operator_router
from .licences import root_router as licences_root_router
from .licences import router as licences_router
from .notices import LICENCE_ROUND
from .operators import OPERATOR_ROSTER, renew_certificates, renewals_router
from .peer_trust import ask_peers, classify_peers, public_trust_router
from .peer_trust import peer_router as trust_peer_router
from .peer_trust import router as peer_trust_router
from .peers import (
    DISCOVERED,
    FOLLOW_AUTHORITY,
    PEER_ENDED,
    PEER_REMOVED,
    PEER_SETTLED,
    READ_A_PEER,
    SYNC_PEER,
    bundle_router,
    check_peer,
    connections_to_peers,
    enqueue_missing,
    finish_removals,
    marks_router,
    peers_admin_router,
    public_router,
)
from .workloads import check_service

REMOVAL_SECONDS = 60
RENEWAL_SECONDS = 3600
"""The card is renewed at half of a window of thirty days; an hour more does not matter."""

CLASSIFICATION_SECONDS = 60
OWN_TRUST_SECONDS = 600
LICENCE_ROUND_SECONDS = 300
RENEWAL_OF_CERTIFICATES_SECONDS = 600

ROOM = Room(
    name="federation",
    routes=(
        Routes(1500, router),
        Routes(1600, admission_router),
        Routes(1700, admin_router),
        Routes(1710, card_router),
        Routes(1720, card_admin_router),
        Routes(1730, icon_admin_router),
        Routes(1735, authorizations_admin_router),
        Routes(1740, jurisdiction_router),
        Routes(1750, licences_admin_router),
        Routes(1760, licences_router),
        Routes(1765, peer_trust_router),
        Routes(1768, public_trust_router),
        Routes(1769, trust_peer_router),
        Routes(1767, operator_router),
        Routes(1766, did_claims_router),
        Routes(1770, invitations_admin_router),
        Routes(1780, invitations_router),
        Routes(1785, renewals_router),
        Routes(1790, peers_admin_router),
        Routes(1795, public_router),
        Routes(1796, marks_router),
        Routes(3200, root_router, at_root=True),
        Routes(3210, card_root_router, at_root=True),
        Routes(3220, icon_router, at_root=True),
        Routes(3225, well_known_router, at_root=True),
        Routes(3230, licences_root_router, at_root=True),
        Routes(3235, bundle_router, at_root=True),
    ),
    jobs=(
        sweep_with_runtime("federation: renew the registry card", RENEWAL_SECONDS, renew_card),
        READ_A_PEER,
        CLAIM_DIDS,
        CONFIRM_CLAIMS,
        OPERATOR_LICENCE,
        OPERATOR_ROSTER,
        sweep_with_runtime("federation: let every peer have its job", RENEWAL_SECONDS, enqueue_missing),
        sweep_with_runtime("federation: finish removals of peers", REMOVAL_SECONDS, finish_removals),
        scheduled(
            "federation: renew the certificates of an operator",
            RENEWAL_OF_CERTIFICATES_SECONDS,
            renew_certificates,
            is_renewal_due,
        ),
        scheduled(LICENCE_ROUND, LICENCE_ROUND_SECONDS, refresh_licences),
        scheduled("federation: how far peers trust this registry", OWN_TRUST_SECONDS, ask_peers),
        sweep_with_runtime("federation: classify peers", CLASSIFICATION_SECONDS, classify_peers),
    ),
    settings=frozenset(
        {
            "agent_delegation_mode",
            "agent_rbac_mode",
            "base_url",
            "beta_invite_required",
            "bond_mode",
            "dispute_ruling_days",
            "dispute_window_hours",
            "email_verification_required",
            "exchange_enabled",
            "exchange_fee_bps",
            "federation_licences",
            "federation_root_hash",
            "federation_address",
            "federation_sync_interval_seconds",
            "zkp_phases_enabled",
            "frame_roster_max_age_hours",
            "has_identity",
            "is_central_registry",
            "is_operator",
            "issues_identities",
            "issuer",
            "jurisdiction_profile",
            "jws_require_signature",
            "licence_list_max_age",
            "licensing_mode",
            "operator_dids_max",
            "operator_plan",
            "oauth_authorization_server_url",
            "operator_term_days",
            "outgoing_allow_hosts",
            "peer_trust_min_interactions",
            "peer_trust_mode",
            "peer_trust_recover_margin",
            "peer_trust_restrict_below",
            "peer_trust_suspend_below",
            "peer_trust_warn_below",
            "public_base_url",
            "registry_name",
            "registry_tier",
            "security_contact",
            "security_policy_url",
            "settlement_currency",
            "sovereign_mainframes",
            "staking_enabled",
            "tos_version",
            "ledger_id",
            "mcp_enabled",
            "trust_domain",
            "uses_workload_api",
            "workload_socket",
        }
    ),
    rounds=(FOLLOW_AUTHORITY, MEASURE_CERTIFICATES),
    background=(identity_followed, connections_to_peers),
    metrics=(
        certificate_begins,
        certificate_expires,
        operator_licence_readings_total,
        peer_refusals_total,
    ),
    sealed=(
        SEALED_REGISTRY_KEYS,
        SEALED_LICENSING_KEYS,
        SEALED_IDENTITY_KEYS,
        SEALED_REQUESTED_KEYS,
    ),
    offers=(
        ATTESTED_CONTRACT,
        AUDITOR_KIDS,
        LAST_AUDIT,
        PEER_AUDITOR_KIDS,
        DISCOVERED,
        PEER_ENDED,
        PEER_REMOVED,
        PEER_SETTLED,
        SYNC_PEER,
    ),
    fills=(
        LICENCE_CHECK.filled_with(check_licence),
        SERVICE_CHECK.filled_with(check_service),
        PEER_CHECK.filled_with(check_peer),
        parameters.TAKES_EFFECT.filled_with(renew_card),
    ),
)
