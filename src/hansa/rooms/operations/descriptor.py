"""Descriptor of the operations room for the process."""

from hansa.foundation.plumbing.room import AccountEnd, Room, Routes
from hansa.foundation.plumbing.web.caller import AGENT_REFUSED
from hansa.rooms import catalogue

from .building import router as building_router
from .bundles import PIPELINES_OF_BUNDLE, delete_of
from .bundles import router as bundles_router
from .deployments import DEPLOYMENT_CHECKS
from .deployments import router as deployments_router
from .logs import (
    LOG_DAYS,
    LOG_SIZES,
    REGISTRY_ENTRIES,
    WRITE_NOTES,
    note_refused_credential,
    note_visit,
    writing_notes,
)
from .logs import router as logs_router
from .metrics import COUNT_PAYMENTS, FORGET_OLD, SETTLE_TIMES, WRITE_NOTED, writing_noted
from .metrics import router as metrics_router
from .releases import agents_router, owners_router, releases_of

ROOM = Room(
    name="operations",
    routes=(
        Routes(1490, logs_router),
        Routes(1491, agents_router),
        Routes(1492, owners_router),
        Routes(1493, deployments_router),
        Routes(1494, bundles_router),
        Routes(1495, metrics_router),
        Routes(1496, building_router),
    ),
    reactors=(REGISTRY_ENTRIES,),
    jobs=(LOG_DAYS, LOG_SIZES, COUNT_PAYMENTS, FORGET_OLD, DEPLOYMENT_CHECKS),
    rounds=(WRITE_NOTED, WRITE_NOTES),
    background=(writing_noted, writing_notes),
    settings=frozenset(
        {
            "agent_log_days",
            "agent_rbac_default_roles",
            "base_url",
            "bootstrap_token_lifetime",
            "outgoing_allow_user_hosts",
            "registry_name",
            "settlement_currency",
            "trust_domain",
        }
    ),
    account_end=AccountEnd(erase=delete_of),
    offers=(PIPELINES_OF_BUNDLE, SETTLE_TIMES),
    fills=(
        catalogue.RELEASES_OF_AGENT.filled_with(releases_of),
        AGENT_REFUSED.filled_with(note_refused_credential),
        catalogue.VISIT_MADE.filled_with(note_visit),
    ),
)
