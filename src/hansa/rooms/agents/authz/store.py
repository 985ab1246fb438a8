"""The SQL of roles: each change is one UPDATE, and the second of two at once waits for the row."""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx

# Two grants at once: the second adds to what the first has left.
_ADD_ROLE = """
UPDATE agents_agent SET roles = CASE WHEN $2 = ANY(roles) THEN roles ELSE roles || $2::text END
WHERE did = $1 AND status <> 'revoked' RETURNING roles
"""

_LOCK_ROLES = "SELECT roles FROM agents_agent WHERE did = $1 AND status <> 'revoked' FOR NO KEY UPDATE"

_REPLACE_ROLES = "UPDATE agents_agent SET roles = $2::text[] WHERE did = $1"


async def add_role(tx: Tx, did: str, role: str) -> tuple[str, ...] | None:
    """Give an agent a role it may hold already, and return all it holds; None when it is revoked."""
    roles = await tx.fetchval(_ADD_ROLE, did, role)
    return None if roles is None else tuple(roles)


async def lock_roles(tx: Tx, did: str) -> tuple[str, ...] | None:
    """Lock an agent and return its roles; None when it is revoked."""
    roles = await tx.fetchval(_LOCK_ROLES, did)
    return None if roles is None else tuple(roles)


async def replace_roles(tx: Tx, did: str, roles: Sequence[str]) -> None:
    """Write the roles of a locked agent."""
    await tx.execute(_REPLACE_ROLES, did, list(roles))
