"""Every statement on the evidence of peer trust."""

from datetime import datetime
from typing import Any, Protocol

import msgspec

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx

from .rules import HALF_LIFE_DAYS, TrustState

# What is that old weighs a four-hundredth.
KEPT_DAYS = 780

# Of the crossings of an hour the first free places are taken; two at once may take one.
_ADD_CROSSINGS = """
INSERT INTO federation_peer_signal (peer_id, kind, mark)
SELECT p.id, 'crossing', h.hour || ' ' || n FROM federation_peer p
CROSS JOIN (SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24') AS hour) h
CROSS JOIN generate_series(1, $2) n
WHERE p.id = $1 AND NOT EXISTS (
  SELECT FROM federation_peer_signal s WHERE s.peer_id = $1 AND s.kind = 'crossing' AND s.mark = h.hour || ' ' || n)
ORDER BY n LIMIT $3
ON CONFLICT DO NOTHING RETURNING 1
"""

_ADD = """
INSERT INTO federation_peer_signal (peer_id, kind, mark) SELECT id, $2, $3 FROM federation_peer WHERE id = $1
ON CONFLICT DO NOTHING RETURNING 1
"""

_COUNT = """
UPDATE federation_peer SET total_interactions = total_interactions + $3,
  disputes_lost_with = disputes_lost_with + CASE WHEN $2 THEN 1 ELSE 0 END, last_interaction_at = clock_timestamp()
WHERE id = $1
"""

# Of one peer, or of all where $2 is null.
_EVIDENCE = """
SELECT p.id, s.kind, count(s.kind) AS count,
  coalesce(sum(power(0.5, greatest(0, extract(epoch FROM clock_timestamp() - s.at)) / 86400 / $1)), 0)::float AS decayed
FROM federation_peer p LEFT JOIN federation_peer_signal s ON s.peer_id = p.id
WHERE $2::bigint IS NULL OR p.id = $2 GROUP BY p.id, s.kind
"""

_SET_STATE = "UPDATE federation_peer SET trust_state = $3 WHERE id = $1 AND trust_state = $2 RETURNING 1"

_SET_WEIGHT = "UPDATE federation_peer SET trust_weight = $2 WHERE id = $1 AND trust_weight <> $2"

_FORGET = "DELETE FROM federation_peer_signal WHERE at < clock_timestamp() - make_interval(days => $1)"


_SIGNALS = """
SELECT coalesce(p.ledger_id, p.trust_domain) AS peer, s.kind, s.at
FROM federation_peer_signal s JOIN federation_peer p ON p.id = s.peer_id ORDER BY s.at, s.peer_id, s.kind, s.mark
"""

_OWN_TRUST = """
SELECT coalesce(p.ledger_id, p.trust_domain) AS peer, t.mode, t.state, t.score, t.interactions, t.reason, t.read_at
FROM federation_own_trust t JOIN federation_peer p ON p.id = t.peer_id ORDER BY 1
"""

_KEEP_OWN_TRUST = """
WITH stated AS (SELECT state FROM federation_own_trust WHERE peer_id = $1), kept AS (
INSERT INTO federation_own_trust (peer_id, mode, state, score, interactions, reason)
SELECT id, $2, $3, $4, $5, $6 FROM federation_peer WHERE id = $1
ON CONFLICT (peer_id) DO UPDATE SET mode = excluded.mode, state = excluded.state, score = excluded.score,
  interactions = excluded.interactions, reason = excluded.reason, read_at = excluded.read_at
) SELECT state FROM stated
"""


class Stated(Protocol):
    """Statement of a peer about this registry."""

    @property
    def state(self) -> TrustState: ...
    @property
    def score(self) -> float: ...
    @property
    def interactions(self) -> int: ...
    @property
    def reason(self) -> str: ...


class Signal(msgspec.Struct, frozen=True):
    """Evidence on the peer with this ledger id."""

    peer: str
    kind: str
    at: datetime


class Evidence(msgspec.Struct, frozen=True):
    """Number of signals of each kind that there are of a peer, and their weight by their age."""

    counts: dict[str, int]
    decayed: dict[str, float]


NO_EVIDENCE = Evidence({}, {})


async def add_crossings(tx: Tx, peer_id: int, count: int, most: int) -> int:
    """How many of these crossings count: at most so many in an hour."""
    return len(await tx.fetch(_ADD_CROSSINGS, peer_id, most, count))


async def add(tx: Tx, peer_id: int, kind: str, mark: str) -> bool:
    """Return whether this counts: no signal of the same mark did, nor, of some kinds, any other of this hour."""
    return await tx.fetchval(_ADD, peer_id, kind, mark) is not None


async def count_interactions(tx: Tx, peer_id: int, count: int, *, is_lost_dispute: bool) -> None:
    """Count the added signals in the row of the peer."""
    await tx.execute(_COUNT, peer_id, is_lost_dispute, count)


async def evidence(tx: Tx, peer_id: int | None = None) -> dict[int, Evidence]:
    """The evidence on every peer, or on this one alone, by its id."""
    found: dict[int, Evidence] = {}
    for row in await tx.fetch(_EVIDENCE, HALF_LIFE_DAYS, peer_id):
        of_peer = found.setdefault(row["id"], Evidence({}, {}))
        if row["kind"] is not None:
            of_peer.counts[row["kind"]] = row["count"]
            of_peer.decayed[row["kind"]] = row["decayed"]
    return found


async def signals(tx: Tx) -> list[Signal]:
    """Every signal that is stored, by its moment."""
    return [Signal(**row) for row in await tx.fetch(_SIGNALS)]


async def set_state(tx: Tx, peer_id: int, present: TrustState, after: TrustState) -> bool:
    """Return whether the state was still the present one and is now the other."""
    return await tx.fetchval(_SET_STATE, peer_id, present, after) is not None


async def set_weight(tx: Tx, peer_id: int, weight: int) -> None:
    """Write the weight of a peer, in thousandths, where it has changed."""
    await tx.execute(_SET_WEIGHT, peer_id, weight)


async def declared_trust(tx: Tx) -> list[dict[str, Any]]:
    """Return the statement of each peer about this registry, by ledger id."""
    return [dict(row) for row in await tx.fetch(_OWN_TRUST)]


async def store_declared_trust(tx: Tx, peer_id: int, mode: str, trust: Stated) -> TrustState | None:
    """Store a peer's statement about this registry; return the state that it stated before. One statement."""
    before: TrustState | None = await tx.fetchval(
        _KEEP_OWN_TRUST, peer_id, mode, trust.state, trust.score, trust.interactions, trust.reason
    )
    return before


async def forget_old(tx: Tx) -> None:
    """Delete signals that weigh nothing any more."""
    await tx.execute(_FORGET, KEPT_DAYS)


async def hour(tx: Tx) -> str:
    """The present hour by the database's clock."""
    return f"{await clock.now(tx):%Y-%m-%d %H}"
