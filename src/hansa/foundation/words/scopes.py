"""The scopes of API keys. A scope that is not in this list does not exist."""

from hansa.foundation.words.areas import ADMIN_AREAS

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
