"""Descriptor of the agents room for the process."""

from hansa.foundation.plumbing.jobs import scheduled, sweep
from hansa.foundation.plumbing.room import Room, Routes
from hansa.foundation.plumbing.telemetry.metrics import shadow_refusals_total
from hansa.foundation.plumbing.web.caller import (
    AGENT_CHECK,
    AGENT_SIGN_IN,
    LAST_READ_AGENT,
    SPENT_UNDER_GRANTS,
)
from hansa.rooms import catalogue, journal, ledger

from .account_end import ACCOUNT_END_OF_AGENTS
from .bootstrap import ORGANIZATION_AGENTS
from .capabilities import forget_capabilities
from .check import check_agent, last_read_agent
from .documents import root_router
from .grants import forget_sites, pay_owed_grants
from .grants_store import HAS_OWED_GRANT
from .keys import newest_keys
from .rights import held_right_at, right_at
from .routes import router
from .secret import sign_in
from .spending import forget_approvals, spent_under_grants
from .status import REQUIRE_UNBOUND, is_kept_active, lock_right_and_status, readable_among

ROOM = Room(
    name="agents",
    routes=(Routes(200, router), Routes(3100, root_router, at_root=True)),
    jobs=(
        scheduled("agents: pay owed grants", 15, pay_owed_grants, HAS_OWED_GRANT),
        sweep("agents: forget addresses of grants", 600, forget_sites),
        sweep("agents: forget ended capabilities", 600, forget_capabilities),
        sweep("agents: forget spend approvals", 600, forget_approvals),
    ),
    settings=frozenset(
        {
            "access_token_expire_minutes",
            "agent_delegation_mode",
            "agent_identity_issuer",
            "agent_rbac_default_roles",
            "agent_rbac_mode",
            "base_url",
            "bootstrap_token_lifetime",
            "did_method",
            "genesis_grant_amount",
            "genesis_grant_enabled",
            "genesis_grants_per_address",
            "genesis_grants_per_hour",
            "issuer",
            "ledger_id",
            "settlement_currency",
            "trust_domain",
            "uses_workload_api",
        }
    ),
    metrics=(shadow_refusals_total,),
    account_end=ACCOUNT_END_OF_AGENTS,
    offers=(ORGANIZATION_AGENTS, REQUIRE_UNBOUND),
    fills=(
        AGENT_CHECK.filled_with(check_agent),
        AGENT_SIGN_IN.filled_with(sign_in),
        LAST_READ_AGENT.filled_with(last_read_agent),
        SPENT_UNDER_GRANTS.filled_with(spent_under_grants),
        journal.OWNED_AMONG.filled_with(readable_among),
        catalogue.LOCK_AGENT.filled_with(lock_right_and_status),
        catalogue.AGENT_RIGHT.filled_with(right_at),
        catalogue.HELD_RIGHT.filled_with(held_right_at),
        catalogue.AGENT_KEYS.filled_with(newest_keys),
        ledger.KEPT_ACTIVE.filled_with(is_kept_active),
    ),
)
