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
    "agents:secrets",
    "agents:create",
    "cards:read",
    "cards:write",
    "ledger:read",
    "orgs:read",
    "orgs:write",
    "support:read",
    "support:write",
    "webhooks:manage",
    *(f"admin:{area}" for area in ADMIN_AREAS),
)

# The right to change a thing includes the right to read it. `agents:secrets` opens acts that lead to the money of an
# agent (decision 0015): an agent's own token may do the rest.
IMPLIED_BY = {
    "keys:read": "keys:manage",
    "profile:read": "profile:write",
    "agents:read": "agents:write",
    "agents:write": "agents:secrets",
    "cards:read": "cards:write",
    "orgs:read": "orgs:write",
    "support:read": "support:write",
}


def allows(held: Collection[str], scope: str) -> bool:
    """Permission for an act that needs `scope`, for a credential with the scopes `held`."""
    if EVERY_SCOPE in held:
        return True
    wider: str | None = scope
    while wider is not None:
        if wider in held:
            return True
        wider = IMPLIED_BY.get(wider)
    return False
