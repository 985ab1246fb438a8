"""Every SQL statement of the room.

Each act locks the rows of its agents in enforcement_agent, in the order of their DIDs, before it looks at anything: of two
acts on one agent the second sees the effects of the first. A developer is locked by an advisory lock, exclusively while
suspended or reinstated, shared while one of its agents is being created.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import date, datetime

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx

from .rules import Basis, DeveloperSuspension, HardSuspension, Suspension

_MAKE_ROWS = "INSERT INTO enforcement_agent (did) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING"

_LOCK = "SELECT did, withheld_since FROM enforcement_agent WHERE did = ANY($1) ORDER BY did FOR UPDATE"

_OF_AGENTS = """
SELECT did, basis, soft, reason, suspended_by, suspended_at FROM enforcement_suspension
WHERE did = ANY($1) AND lifted_at IS NULL ORDER BY id
"""

# A soft one becomes hard, with the reason given for that; otherwise the first stands as it is.
_OPEN = """
INSERT INTO enforcement_suspension AS s (did, basis, soft, reason, suspended_by)
SELECT did, $2, $3, $4, $5 FROM unnest($1::text[]) did
ON CONFLICT (did, basis) WHERE lifted_at IS NULL DO UPDATE
SET soft = false, reason = EXCLUDED.reason, suspended_by = EXCLUDED.suspended_by
WHERE s.soft AND NOT EXCLUDED.soft
"""

_LIFT = """
UPDATE enforcement_suspension SET lifted_by = $2, lifted_at = now()
WHERE did = ANY($1) AND lifted_at IS NULL
"""

_LIFT_BUT = """
UPDATE enforcement_suspension SET lifted_by = $3, lifted_at = now()
WHERE did = $1 AND basis <> $2 AND lifted_at IS NULL
"""

_LIFT_OF_BASIS = """
UPDATE enforcement_suspension SET lifted_by = $3, lifted_at = now()
WHERE did = ANY($1) AND basis = $2 AND lifted_at IS NULL RETURNING did
"""

_WITHHOLD = """
UPDATE enforcement_agent SET withheld_since = now() WHERE did = ANY($1) AND withheld_since IS NULL RETURNING did
"""

_LOCK_DEVELOPER = "SELECT pg_advisory_xact_lock(hashtextextended('standing: developer ' || $1::bigint, 1))"

_SHARE_DEVELOPER = (
    "SELECT pg_advisory_xact_lock_shared(hashtextextended('standing: developer ' || $1::bigint, 1))"
)

_OPEN_DEVELOPER = """
INSERT INTO enforcement_developer_suspension (developer_id, reason, suspended_by) VALUES ($1, $2, $3)
ON CONFLICT (developer_id) WHERE lifted_at IS NULL DO NOTHING RETURNING 1
"""

_LIFT_DEVELOPER = """
UPDATE enforcement_developer_suspension SET lifted_by = $2, lifted_at = now()
WHERE developer_id = $1 AND lifted_at IS NULL RETURNING 1
"""

_DEVELOPER = """
SELECT reason, suspended_by, suspended_at FROM enforcement_developer_suspension
WHERE developer_id = $1 AND lifted_at IS NULL
"""

_HARD_AT = """
SELECT did, suspended_at AS since, lifted_at FROM enforcement_suspension
WHERE did = ANY($1) AND NOT soft AND suspended_at <= $2 AND (lifted_at IS NULL OR lifted_at > $2) ORDER BY id
"""


async def today(tx: Tx) -> date:
    """The day in UTC, by the database's clock."""
    return (await clock.began_at(tx)).date()


async def lock(tx: Tx, dids: Collection[str]) -> dict[str, bool]:
    """Lock these agents against other acts; of each, whether its identity and account are withheld."""
    in_order = sorted(dids)
    await tx.execute(_MAKE_ROWS, in_order)
    return {row["did"]: row["withheld_since"] is not None for row in await tx.fetch(_LOCK, in_order)}


async def suspensions_of(tx: Tx, dids: Sequence[str]) -> dict[str, list[Suspension]]:
    """The suspensions that stand, by DID."""
    found: defaultdict[str, list[Suspension]] = defaultdict(list)
    for row in await tx.fetch(_OF_AGENTS, list(dids)):
        found[row["did"]].append(Suspension(**{name: row[name] for name in Suspension.__match_args__}))
    return found


async def open_suspensions(
    tx: Tx, dids: Sequence[str], *, basis: Basis, soft: bool, reason: str, by: int
) -> None:
    """Let a suspension stand against each of the locked agents."""
    await tx.execute(_OPEN, list(dids), basis, soft, reason, by)


async def lift_suspensions(tx: Tx, dids: Sequence[str], *, by: int) -> None:
    """End whatever stands against the locked agents."""
    await tx.execute(_LIFT, list(dids), by)


async def lift_suspensions_but(tx: Tx, did: str, basis: Basis, *, by: int) -> None:
    """End the suspensions of other bases against a locked agent."""
    await tx.execute(_LIFT_BUT, did, basis, by)


async def lift_suspensions_of(tx: Tx, dids: Sequence[str], basis: Basis, *, by: int) -> set[str]:
    """End the suspensions of this basis against the locked agents; returns the agents that had one."""
    return {row["did"] for row in await tx.fetch(_LIFT_OF_BASIS, list(dids), basis, by)}


async def withhold(tx: Tx, dids: Sequence[str]) -> set[str]:
    """Note that identity and account of the locked agents are withheld; returns of whom they were not."""
    return {row["did"] for row in await tx.fetch(_WITHHOLD, list(dids))}


async def withhold_no_more(tx: Tx, dids: Sequence[str]) -> None:
    """Note that nothing is withheld of the locked agents."""
    await tx.execute("UPDATE enforcement_agent SET withheld_since = NULL WHERE did = ANY($1)", list(dids))


async def lock_developer(tx: Tx, developer_id: int) -> None:
    """Lock a developer against other acts, and against the creation of agents."""
    await tx.execute(_LOCK_DEVELOPER, developer_id)


async def share_developer(tx: Tx, developer_id: int) -> None:
    """Wait until no act on the developer is under way, and let none begin before this transaction ends."""
    await tx.execute(_SHARE_DEVELOPER, developer_id)


async def open_developer_suspension(tx: Tx, developer_id: int, *, reason: str, by: int) -> bool:
    """Let a suspension stand against the locked developer; False when one does already."""
    return await tx.fetchval(_OPEN_DEVELOPER, developer_id, reason, by) is not None


async def lift_developer_suspension(tx: Tx, developer_id: int, *, by: int) -> bool:
    """End the suspension of the locked developer; False when there is none."""
    return await tx.fetchval(_LIFT_DEVELOPER, developer_id, by) is not None


async def developer_suspension(tx: Tx, developer_id: int) -> DeveloperSuspension | None:
    """Return the suspension of the developer; None when there is none."""
    row = await tx.fetchrow(_DEVELOPER, developer_id)
    return DeveloperSuspension(**row) if row else None


async def withheld_since(tx: Tx, did: str) -> datetime | None:
    """Since when identity and account of the agent are withheld; None when they are not."""
    since: datetime | None = await tx.fetchval(
        "SELECT withheld_since FROM enforcement_agent WHERE did = $1", did
    )
    return since


async def hard_suspensions_at(tx: Tx, dids: Sequence[str], timestamp: datetime) -> list[HardSuspension]:
    """The hard suspensions in force at a timestamp, in the order in which they began."""
    return [HardSuspension(**row) for row in await tx.fetch(_HARD_AT, list(dids), timestamp)]
