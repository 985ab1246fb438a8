"""SQL statements of agents and of the bootstrap tokens that create them.

Locks: a bootstrap token is burned by one conditional UPDATE. Of two at once the second waits for the first to commit, then finds
nothing left. This happens before the ledger is touched, so the treasury is always locked last.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.paging import read_page, with_total
from hansa.foundation.values.rights import Owner, Right

from .rules import BootstrapToken, Credentials, HeldAgent, OwnedAgent

# Kept for a day past its end, so that a creation under way never sees its token vanish.
_FORGET_UNUSED = """
DELETE FROM agents_bootstrap_token
WHERE developer_id = $1 AND used_at IS NULL AND expires_at < now() - interval '1 day'
"""

_INSERT_BOOTSTRAP = """
INSERT INTO agents_bootstrap_token (token_sha256, developer_id, organization_id, agent_type_hint, requested_by, expires_at)
VALUES ($1, $2, $3, $4, $5, now() + $6 * interval '1 second') RETURNING expires_at
"""

_FIND_BOOTSTRAP = """
SELECT developer_id, organization_id, used_at IS NOT NULL AS is_used, expires_at <= now() AS is_expired
FROM agents_bootstrap_token WHERE token_sha256 = $1
"""

_BURN_BOOTSTRAP = """
UPDATE agents_bootstrap_token SET used_at = now()
WHERE token_sha256 = $1 AND used_at IS NULL AND expires_at > now() RETURNING 1
"""

_INSERT_AGENT = """
INSERT INTO agents_agent (did, developer_id, client_id, client_secret_sha256, name, roles, organization_id, secret_seen_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $7::uuid IS NOT NULL THEN $8::bigint END) RETURNING id
"""

_INSERT_FIRST_KEY = "INSERT INTO agents_key (agent_id, number, public_key) VALUES ($1, 1, $2)"

_FIND_CREDENTIALS = """
SELECT did, client_id, client_secret_sha256, secret_number, status FROM agents_agent
WHERE client_id = $1 AND kind = 'agent'
"""

_TOUCH = "UPDATE agents_agent SET last_active_at = now() WHERE did = $1 RETURNING now()"

# One keyed row each: this runs for every request of an agent.
# The array is wrapped so that its length is unknown to the planner: it then keeps one plan, where it would make a new
# one for each call, at several times the cost of the lookup.
_FIND_BEARERS = """
SELECT a.did, a.developer_id, a.client_id, a.name, a.status, a.roles, a.is_governed, a.created_at, a.last_active_at,
  a.secret_number, a.version, a.organization_id, clock_timestamp() AS read_at
FROM agents_agent a WHERE a.did = ANY(ARRAY(SELECT unnest($1::text[])))
"""

_FIND_CREDENTIAL_NUMBER = """
SELECT client_id, secret_number AS number, status, clock_timestamp() AS read_at FROM agents_agent WHERE did = $1
"""

_OWNERSHIPS = """
SELECT asked.did, o.developer_id, o.organization_id FROM unnest($1::text[]) asked (did), agents_ownership(asked.did) o
"""

_WRITE_REVOKED = "UPDATE agents_agent SET status = 'revoked', revoked_at = now() WHERE did = $1"

OWNED = (
    "did, client_id, name, status, roles, created_at, last_active_at, secret_number::text AS secret_version"
)

_AGENTS_OF = f"""
SELECT {OWNED} FROM agents_owned($1) ORDER BY id LIMIT $2 OFFSET $3
"""  # noqa: S608

_PAGE_OF = with_total(_AGENTS_OF, "SELECT count(*) FROM agents_owned($1)")

_AGENT_OF = f"""
SELECT {OWNED}, organization_id, asking.held_right, kind = 'treasury' AS is_treasury
FROM agents_agent a, LATERAL (SELECT agents_right($1, a) AS held_right) asking
WHERE did = $2 AND asking.held_right >= $3
"""  # noqa: S608

_FIND_HELD = """
SELECT agents_right($1, a) AS level, a.roles, a.organization_id IS NOT NULL AS is_collective FROM agents_agent a WHERE a.did = $2
"""

_LOCK_RIGHT_AND_STATUS = """
SELECT agents_right($1, a) AS level, a.status, a.organization_id IS NOT NULL AS is_collective
FROM agents_agent a WHERE a.did = $2 FOR NO KEY UPDATE
"""

_FOUND = """
FROM agents_agent WHERE ($1 = '' OR did = $1 OR strpos(lower(name), lower($1)) > 0)
  AND ($2::text IS NULL OR status = $2)
"""

_FIND = with_total(
    f"SELECT {OWNED} {_FOUND} ORDER BY id DESC LIMIT $3 OFFSET $4",
    f"SELECT count(*) {_FOUND}",
)

_REPLACE_CREDENTIAL = """
UPDATE agents_agent SET client_secret_sha256 = $2, secret_number = secret_number + 1,
  secret_seen_by = CASE WHEN organization_id IS NOT NULL THEN $4::bigint END
WHERE did = $1 AND secret_number = $3 AND status <> 'revoked' AND kind = 'agent' RETURNING client_id
"""

# Written now and then only, so that heartbeats stay cheap however often they come.
_RECORD_HEARTBEAT = """
UPDATE agents_agent SET last_active_at = now()
WHERE did = $1 AND (last_active_at IS NULL OR last_active_at < now() - interval '10 seconds') RETURNING last_active_at
"""


class NewAgent(msgspec.Struct, frozen=True):
    """An agent about to be written."""

    did: str
    developer_id: int
    organization_id: UUID | None
    client_id: str
    client_secret_sha256: bytes
    name: str
    roles: list[str]
    public_key: bytes
    secret_seen_by: int | None
    """The person who reads its secret, where an organization owns it."""


class Bearer(msgspec.Struct, frozen=True):
    """The agent that a token names, and the database's time when it was read."""

    did: str
    developer_id: int
    client_id: str
    name: str
    status: str
    roles: list[str]
    is_governed: bool
    created_at: datetime
    last_active_at: datetime | None
    secret_number: int
    version: int
    organization_id: UUID | None
    read_at: datetime


class Secret(msgspec.Struct, frozen=True):
    """Number of the secret of an agent, not the secret, and the agent's status at the database's time `read_at`."""

    client_id: str
    number: int
    status: str
    read_at: datetime


async def insert_bootstrap_token(
    tx: Tx,
    *,
    token_sha256: bytes,
    developer_id: int,
    organization_id: UUID | None,
    agent_type_hint: str | None,
    requested_by: str | None,
    lifetime_seconds: int,
) -> datetime:
    """Write a token and return when it ends; the developer's long-expired unused ones go."""
    await tx.execute(_FORGET_UNUSED, developer_id)
    expires_at: datetime = await tx.fetchval(
        _INSERT_BOOTSTRAP,
        token_sha256,
        developer_id,
        organization_id,
        agent_type_hint,
        requested_by,
        float(lifetime_seconds),
    )
    return expires_at


async def find_bootstrap_token(tx: Tx, token_sha256: bytes) -> BootstrapToken | None:
    """The token, or None for an unknown one; takes no lock."""
    row = await tx.fetchrow(_FIND_BOOTSTRAP, token_sha256)
    return BootstrapToken(**row) if row else None


async def burn_bootstrap_token(tx: Tx, token_sha256: bytes) -> bool:
    """Use the token up; False when another creation was first."""
    return await tx.fetchval(_BURN_BOOTSTRAP, token_sha256) is not None


async def delete_bootstrap_tokens(tx: Tx, developer_id: int) -> None:
    await tx.execute("DELETE FROM agents_bootstrap_token WHERE developer_id = $1", developer_id)


async def insert_agent(tx: Tx, agent: NewAgent) -> int:
    """Write an agent with its first key; the DID and the client id are unique keys."""
    agent_id: int = await tx.fetchval(
        _INSERT_AGENT,
        agent.did,
        agent.developer_id,
        agent.client_id,
        agent.client_secret_sha256,
        agent.name,
        agent.roles,
        agent.organization_id,
        agent.secret_seen_by,
    )
    await tx.execute(_INSERT_FIRST_KEY, agent_id, agent.public_key)
    return agent_id


async def find_credentials(tx: Tx, client_id: str) -> Credentials | None:
    """Return the stored credentials of a client id, or None for an unknown one."""
    row = await tx.fetchrow(_FIND_CREDENTIALS, client_id)
    return Credentials(**row) if row else None


async def touch(tx: Tx, did: str) -> datetime:
    """Note that the agent was here, and return the database's time."""
    now: datetime = await tx.fetchval(_TOUCH, did)
    return now


async def find_bearers(tx: Tx, dids: Sequence[str]) -> dict[str, Bearer]:
    """The agents with these DIDs; unknown ones are left out."""
    rows = await tx.fetch(_FIND_BEARERS, list(dids))
    bearers = (Bearer(*row) for row in rows)
    return {bearer.did: bearer for bearer in bearers}


async def find_secret(tx: Tx, did: str) -> Secret:
    """Return the number of the secret of an agent that is known to exist, and its status."""
    row = await tx.fetchrow(_FIND_CREDENTIAL_NUMBER, did)
    assert row is not None
    return Secret(**row)


async def find_held(tx: Tx, developer_id: int, did: str) -> HeldAgent | None:
    """Return the right of a developer at an agent and the agent's roles, or None for an unknown DID."""
    row = await tx.fetchrow(_FIND_HELD, developer_id, did)
    return HeldAgent(_right(row["level"]), tuple(row["roles"]), row["is_collective"]) if row else None


async def hold_right(tx: Tx, developer_id: int, did: str) -> Right | None:
    """The right of a developer at an agent of an organization; the membership stays as it is until the transaction ends."""
    return _right(await tx.fetchval("SELECT agents_held_right($1, $2)", developer_id, did))


async def owner_of(tx: Tx, did: str) -> int | None:
    """The developer who created an agent, or None for an unknown DID."""
    owner: int | None = await tx.fetchval("SELECT developer_id FROM agents_agent WHERE did = $1", did)
    return owner


async def owners_of(tx: Tx, dids: Sequence[str]) -> dict[str, int]:
    """The developers of those agents that there are."""
    rows = await tx.fetch("SELECT did, developer_id FROM agents_agent WHERE did = ANY($1)", list(dids))
    return {row["did"]: row["developer_id"] for row in rows}


async def ownerships_of(tx: Tx, dids: Sequence[str]) -> dict[str, Owner]:
    """The owners of those agents that there are."""
    rows = await tx.fetch(_OWNERSHIPS, list(dids))
    return {row["did"]: Owner.of(row["developer_id"], row["organization_id"]) for row in rows}


async def secret_number_of(tx: Tx, did: str) -> int | None:
    """How many secrets the agent has had, or None for an unknown DID."""
    number: int | None = await tx.fetchval("SELECT secret_number FROM agents_agent WHERE did = $1", did)
    return number


async def replace_secret(
    tx: Tx, did: str, client_secret_sha256: bytes, former_number: int | None, seen_by: int
) -> str | None:
    """Give the agent another secret, which this developer reads, and return its client id; None when it is revoked, or the secret another one by now."""
    client_id: str | None = await tx.fetchval(
        _REPLACE_CREDENTIAL, did, client_secret_sha256, former_number, seen_by
    )
    return client_id


async def record_heartbeat(tx: Tx, did: str) -> datetime | None:
    """Note that the agent lives, and return when; None when that was noted a moment ago."""
    heard_at: datetime | None = await tx.fetchval(_RECORD_HEARTBEAT, did)
    return heard_at


async def statuses_of(tx: Tx, dids: Sequence[str]) -> dict[str, str]:
    """The statuses of those agents that there are."""
    rows = await tx.fetch("SELECT did, status FROM agents_agent WHERE did = ANY($1)", list(dids))
    return {row["did"]: row["status"] for row in rows}


async def dids_named(tx: Tx, names: Sequence[str]) -> dict[str, str]:
    """The DIDs of those agents that there are, by the DID or client id that names them."""
    rows = await tx.fetch(
        "SELECT did AS name, did FROM agents_agent WHERE did = ANY ($1)"
        " UNION ALL SELECT client_id, did FROM agents_agent WHERE client_id = ANY ($1)",
        list(names),
    )
    return {row["name"]: row["did"] for row in rows}


async def statuses_of_developer(tx: Tx, developer_id: int) -> dict[str, str]:
    """The status of every agent of a developer, by DID, the oldest first."""
    rows = await tx.fetch("SELECT did, status FROM agents_owned($1) ORDER BY id", developer_id)
    return {row["did"]: row["status"] for row in rows}


async def readable_among(tx: Tx, developer_id: int, dids: Collection[str]) -> frozenset[str]:
    """Those of the DIDs that are agents which the developer may read, in any status."""
    rows = await tx.fetch(
        "SELECT did FROM agents_agent a WHERE did = ANY($2) AND agents_right($1, a) >= $3",
        developer_id,
        list(dids),
        Right.READ,
    )
    return frozenset(row["did"] for row in rows)


async def lock_status(tx: Tx, did: str) -> str | None:
    """The agent's status, locked until the transaction ends, or None for an unknown DID."""
    status: str | None = await tx.fetchval(
        "SELECT status FROM agents_agent WHERE did = $1 FOR NO KEY UPDATE", did
    )
    return status


async def share_status(tx: Tx, did: str) -> str | None:
    """The agent's status, which others may read meanwhile and nobody changes until the transaction ends; None for an unknown DID."""
    status: str | None = await tx.fetchval("SELECT status FROM agents_agent WHERE did = $1 FOR SHARE", did)
    return status


async def share_statuses(tx: Tx, dids: Collection[str]) -> dict[str, str]:
    """The statuses of those agents that there are, shared in the order of their DIDs until the transaction ends."""
    rows = await tx.fetch(
        "SELECT did, status FROM agents_agent WHERE did = ANY($1) ORDER BY did FOR SHARE", list(dids)
    )
    return {row["did"]: row["status"] for row in rows}


async def lock_statuses(tx: Tx, dids: Collection[str]) -> dict[str, str]:
    """The statuses of those agents that there are, locked in the order of their DIDs until the transaction ends."""
    rows = await tx.fetch(
        "SELECT did, status FROM agents_agent WHERE did = ANY($1) ORDER BY did FOR NO KEY UPDATE", list(dids)
    )
    return {row["did"]: row["status"] for row in rows}


async def lock_right_and_status(tx: Tx, developer_id: int, did: str) -> tuple[Right | None, str] | None:
    """The right of a developer at an agent, and its status; the agent and a membership stay locked. None for an unknown DID."""
    row = await tx.fetchrow(_LOCK_RIGHT_AND_STATUS, developer_id, did)
    if row is None:
        return None
    held = await hold_right(tx, developer_id, did) if row["is_collective"] else _right(row["level"])
    return held, row["status"]


async def write_status(tx: Tx, did: str, status: str) -> None:
    """Write the status of a locked agent that is not revoked and does not become so."""
    await tx.execute(
        "UPDATE agents_agent SET status = $2 WHERE did = $1 AND status <> 'revoked'", did, status
    )


async def write_revoked(tx: Tx, did: str) -> None:
    """End a locked agent for good."""
    await tx.execute(_WRITE_REVOKED, did)


async def active_dids_of(tx: Tx, developer_id: int, limit: int) -> list[str]:
    """The DIDs of the newest active agents of a developer."""
    rows = await tx.fetch(
        "SELECT did FROM agents_owned($1) WHERE status = 'active' ORDER BY id DESC LIMIT $2",
        developer_id,
        limit,
    )
    return [row["did"] for row in rows]


async def agents_of(tx: Tx, developer_id: int) -> list[OwnedAgent]:
    """Every agent of a developer, in any status, the oldest first."""
    rows = await tx.fetch(_AGENTS_OF, developer_id, None, 0)
    return [OwnedAgent(**{**row, "roles": tuple(row["roles"])}) for row in rows]


async def page_of_agents(
    tx: Tx, developer_id: int, *, limit: int, offset: int
) -> tuple[list[OwnedAgent], int]:
    """A page of the same, and how many there are."""
    rows, total = await read_page(tx, _PAGE_OF, developer_id, limit, offset)
    return [OwnedAgent(**{**row, "roles": tuple(row["roles"])}) for row in rows], total


async def agent_with(tx: Tx, developer_id: int, did: str, right: Right) -> OwnedAgent | None:
    """An agent at which a developer has the right, in any status."""
    row = await tx.fetchrow(_AGENT_OF, developer_id, did, right)
    if row is None:
        return None
    held = Right(row["held_right"])
    return OwnedAgent(**{**row, "roles": tuple(row["roles"]), "held_right": held})


async def find_agents(
    tx: Tx, text: str, status: str | None, *, limit: int, offset: int
) -> tuple[list[OwnedAgent], int]:
    """A page of the agents with this DID or with this in their first name, newest first, and how many there are."""
    rows, total = await read_page(tx, _FIND, text, status, limit, offset)
    return [OwnedAgent(**{**row, "roles": tuple(row["roles"])}) for row in rows], total


def _right(level: int) -> Right | None:
    return Right(level) if level else None
