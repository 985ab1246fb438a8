"""The SQL of capabilities.

Locks: using, narrowing or revoking a capability locks the root of its tree first, so a tree is changed by one
transaction at a time; an issuer's row is locked after it while its capabilities are counted.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.foundation.values.rights import Owner

from .rules import Capability, Chain, Terms

LISTED_MAX = 1000
DAYS_KEPT = 7

_LINKS = """
SELECT c.id, c.root_id, c.parent_id, c.depth, c.path, i.did AS issuer_did, i.developer_id AS issuer_developer,
  i.organization_id AS issuer_organization,
  i.status = 'active' AND NOT EXISTS (SELECT FROM agents_spawn s WHERE s.did = i.did AND s.ending_at IS NOT NULL) AS issuer_is_active, i.roles AS issuer_roles, h.did AS holder_did, c.permissions, c.max_per_tx,
  c.allowed_currencies, c.counterparty_allow, c.operations, c.no_redelegate, c.currency, c.budget_total, c.max_uses,
  c.spent, c.uses, c.created_at, c.expires_at, c.revoked_at, c.expires_at <= clock_timestamp() AS is_expired
FROM agents_capability c JOIN agents_agent i ON i.id = c.issuer_id LEFT JOIN agents_agent h ON h.id = c.holder_id
"""

_CHAIN = f"""
{_LINKS} WHERE c.id = ANY ((SELECT path FROM agents_capability WHERE id = $1)::uuid[]) ORDER BY c.depth
"""  # noqa: S608

_LOCK_ROOT = """
SELECT true FROM agents_capability WHERE id = (SELECT root_id FROM agents_capability WHERE id = $1)
FOR NO KEY UPDATE
"""

# Those of the agent with their place in the list, and without one those that they were drawn from.
_CHAINS_OF_AGENT = f"""
WITH mine AS MATERIALIZED (
  SELECT c.id, c.path, row_number() OVER (ORDER BY c.created_at DESC, c.id) AS place
  FROM agents_capability c JOIN agents_agent a ON a.id IN (c.issuer_id, c.holder_id)
  WHERE a.did = $1 ORDER BY place LIMIT $2
)
SELECT link.*, mine.place FROM (
  {_LINKS} WHERE c.id = ANY (ARRAY(SELECT DISTINCT unnest(path) FROM mine))
) link LEFT JOIN mine ON mine.id = link.id
"""  # noqa: S608

_COUNT_ALIVE = """
SELECT count(*) FROM agents_capability WHERE issuer_id = $1 AND revoked_at IS NULL AND expires_at > now()
"""

_INSERT = """
INSERT INTO agents_capability (id, root_id, parent_id, depth, path, token_sha256, issuer_id, holder_id, permissions,
  max_per_tx, allowed_currencies, counterparty_allow, operations, no_redelegate, currency, budget_total, max_uses,
  expires_at)
SELECT $1, $2, $3, $4, $5, $6, i.id, h.id, $9, $10, $11, $12, $13, $14, $15, $16, $17,
  least(now() + make_interval(secs => $18), (SELECT expires_at FROM agents_capability WHERE id = $3))
FROM agents_agent i LEFT JOIN agents_agent h ON h.did = $8 WHERE i.did = $7
"""

_SPEND = """
UPDATE agents_capability SET uses = uses + 1, spent = spent + CASE WHEN budget_total IS NULL THEN 0 ELSE $2::bigint END
WHERE id = ANY ($1)
"""

_RETURN = """
UPDATE agents_capability SET uses = uses - $3::int,
  spent = spent - CASE WHEN budget_total IS NULL THEN 0 ELSE $2::bigint END
WHERE id = ANY ((SELECT path FROM agents_capability WHERE id = $1)::uuid[])
"""

_REVOKE = """
UPDATE agents_capability SET revoked_at = now() WHERE root_id = $1 AND $2 = ANY (path) AND revoked_at IS NULL
RETURNING true
"""

# A tree has ended when its root has: nothing lives longer than what it is drawn from.
_DELETE_PAST = """
DELETE FROM agents_capability WHERE root_id IN (
  SELECT id FROM agents_capability WHERE depth = 0 AND expires_at < now() - make_interval(days => $1)
  LIMIT 1000 FOR UPDATE SKIP LOCKED)
"""


class NewCapability(msgspec.Struct, frozen=True):
    """A capability about to be written, drawn from `parent` if it has one; it ends with it at the latest."""

    token_sha256: bytes
    issuer_did: str
    holder_did: str | None
    terms: Terms
    ttl_seconds: int
    parent: Chain | None


async def find_by_token(tx: Tx, token_sha256: bytes) -> UUID | None:
    """The id of the capability with this token."""
    found: UUID | None = await tx.fetchval(
        "SELECT id FROM agents_capability WHERE token_sha256 = $1", token_sha256
    )
    return found


async def lock_chain(tx: Tx, capability_id: UUID) -> Chain | None:
    """A capability behind all those it was drawn from; its tree stays locked until the transaction ends."""
    # The lock comes first and the reading after it, in a statement of its own: it must see what a rival committed.
    await tx.fetchval(_LOCK_ROOT, capability_id)
    return await find_chain(tx, capability_id)


async def find_chain(tx: Tx, capability_id: UUID) -> Chain | None:
    """Find a capability behind all those it was drawn from, without the lock of `lock_chain`; None for an unknown id."""
    rows = await tx.fetch(_CHAIN, capability_id)
    return Chain(tuple(_capability(row) for row in rows)) if rows else None


async def chains_of(tx: Tx, did: str) -> Sequence[Chain]:
    """The capabilities that an agent issued or holds, the newest first, not more than the newest thousand."""
    rows = await tx.fetch(_CHAINS_OF_AGENT, did, LISTED_MAX)
    links = {row["id"]: _capability(row) for row in rows}
    mine = sorted((row for row in rows if row["place"] is not None), key=lambda row: row["place"])
    return [Chain(tuple(links[link] for link in row["path"])) for row in mine]


async def lock_issuer(tx: Tx, did: str) -> int:
    """The number of capabilities alive that an agent issued; it issues no other until the transaction ends."""
    issuer_id = await tx.fetchval("SELECT id FROM agents_agent WHERE did = $1 FOR NO KEY UPDATE", did)
    alive: int = await tx.fetchval(_COUNT_ALIVE, issuer_id)
    return alive


async def insert(tx: Tx, new: NewCapability) -> UUID:
    """Write a capability and return its id."""
    capability_id = uuid4()
    above = [link.id for link in new.parent.links] if new.parent else []
    terms = new.terms
    written = await tx.execute(
        _INSERT,
        capability_id,
        (above or [capability_id])[0],
        above[-1] if above else None,
        len(above),
        [*above, capability_id],
        new.token_sha256,
        new.issuer_did,
        new.holder_did,
        list(terms.permissions),
        terms.max_per_tx,
        _listed(terms.allowed_currencies),
        _listed(terms.counterparty_allow),
        _listed(terms.operations),
        terms.no_redelegate,
        terms.currency,
        terms.budget_total,
        terms.max_uses,
        float(new.ttl_seconds),
    )
    assert written == "INSERT 0 1", "the issuer was there when it asked"
    return capability_id


async def is_agent(tx: Tx, did: str) -> bool:
    """Return whether an agent of this registry has that DID."""
    found: bool = await tx.fetchval("SELECT EXISTS (SELECT 1 FROM agents_agent WHERE did = $1)", did)
    return found


async def spend(tx: Tx, chain: Chain, amount: Minor) -> None:
    """Count a use, and the amount against every budget of a locked chain."""
    written = await tx.execute(_SPEND, [link.id for link in chain.links], amount)
    assert written == f"UPDATE {len(chain.links)}", "a locked chain lost a link"


async def return_spent(tx: Tx, capability_id: UUID, amount: Minor, *, is_unused: bool) -> None:
    """Take back an amount, and the use itself if it came to nothing; of a capability that is gone nothing is left."""
    await tx.fetchval(_LOCK_ROOT, capability_id)
    await tx.execute(_RETURN, capability_id, amount, int(is_unused))


async def revoke(tx: Tx, capability: Capability) -> int:
    """Revoke a capability of a locked tree and all that was drawn from it; returns how many were not yet."""
    return len(await tx.fetch(_REVOKE, capability.root_id, capability.id))


async def delete_past(tx: Tx) -> None:
    """Delete a batch of trees that ended long ago."""
    await tx.execute(_DELETE_PAST, DAYS_KEPT)


def _capability(row: asyncpg.Record) -> Capability:
    members: dict[str, Any] = dict(row)
    del members["path"]
    members.pop("place", None)
    terms = Terms(
        permissions=tuple(members.pop("permissions")),
        max_per_tx=members.pop("max_per_tx"),
        allowed_currencies=_tuple(members.pop("allowed_currencies")),
        counterparty_allow=_tuple(members.pop("counterparty_allow")),
        operations=_tuple(members.pop("operations")),
        no_redelegate=members.pop("no_redelegate"),
        currency=members.pop("currency"),
        budget_total=members.pop("budget_total"),
        max_uses=members.pop("max_uses"),
    )
    roles = tuple(members.pop("issuer_roles"))
    owner = Owner.of(members.pop("issuer_developer"), members.pop("issuer_organization"))
    return Capability(**members, issuer_owner=owner, issuer_roles=roles, terms=terms)


def _listed(values: Iterable[str] | None) -> list[str] | None:
    return None if values is None else list(values)


def _tuple(values: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)
