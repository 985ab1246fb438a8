"""The scopes of API keys. A scope that is not in this list does not exist."""

from collections.abc import Collection

from hansa.foundation.values.areas import ADMIN_AREAS

EVERY_SCOPE = "*"

SCOPES = (
    EVERY_SCOPE,
    "keys:manage",
    "keys:read",
    "profile:read",
    "profile:write",
    "agents:read",
    "agents:write",
    "agents:create",
    "cards:read",
    "cards:write",
    "ledger:read",
    "orgs:read",
    "orgs:write",
    "webhooks:manage",
    *(f"admin:{area}" for area in ADMIN_AREAS),
)

# Whoever may change something may look at it.
IMPLIED_BY = {
    "keys:read": "keys:manage",
    "profile:read": "profile:write",
    "agents:read": "agents:write",
    "cards:read": "cards:write",
    "orgs:read": "orgs:write",
}


def allows(held: Collection[str], scope: str) -> bool:
    """Whether a credential with the scopes `held` may do what needs `scope`."""
    return EVERY_SCOPE in held or scope in held or IMPLIED_BY.get(scope) in held
