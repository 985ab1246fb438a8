"""Every SQL statement about the availability that registries state to each other."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx

from .records import HomeAgent, PeerDay, StoredDay
from .rules import HASH_BYTES
from .store import DAYS_STORED

SENT_BACK = timedelta(days=3)
"""Days before today whose statements a new peer is still sent."""

_NEXT_DAY = """
SELECT min(day) FROM catalogue_availability_day
WHERE day > coalesce((SELECT day FROM catalogue_availability_sent WHERE peer_id = $1), (now() - $2::interval)::date)
  AND day >= (now() - $2::interval)::date
"""

_OF_PEER = """
SELECT d.did, d.day, d.counts, d.place, a.agents, a.statement
FROM catalogue_probe_day d JOIN catalogue_availability_day a USING (day)
JOIN catalogue_card c ON c.did = d.did AND c.source_registry = $2
WHERE d.day = $1 AND d.did > $3 AND d.place IS NOT NULL ORDER BY d.did LIMIT $4
"""

_NOTE_SENT = """
INSERT INTO catalogue_availability_sent (peer_id, day) VALUES ($1, $2)
ON CONFLICT (peer_id) DO UPDATE SET day = excluded.day WHERE catalogue_availability_sent.day < excluded.day
"""

# Nothing is stored about an agent of another registry, or without a card here. The first statement stays.
_RECEIVE = """
INSERT INTO catalogue_peer_availability (did, day, registry, counts, statement, place, hashes)
SELECT c.did, $2, $3, $4, $5, $6, $7 FROM catalogue_card c WHERE c.did = $1 AND c.source_registry IS NULL
ON CONFLICT DO NOTHING RETURNING 1
"""

_STATED = """
SELECT registry, day, counts, statement, place, hashes FROM catalogue_peer_availability
WHERE did = $1 AND day BETWEEN $2 AND $3 ORDER BY registry, day
"""

_FORGET = """
DELETE FROM catalogue_peer_availability WHERE day < (now() AT TIME ZONE 'UTC' - $1::interval)::date
"""


async def next_day(tx: Tx, peer_id: int) -> date | None:
    """The oldest closed day of the last ones that the peer has no statement of."""
    day: date | None = await tx.fetchval(_NEXT_DAY, peer_id, SENT_BACK)
    return day


async def agents_of(tx: Tx, day: date, registry: str, after: str, most: int) -> list[HomeAgent]:
    """The agents of a registry that were probed on a closed day, in the order of their DIDs after one."""
    rows = await tx.fetch(_OF_PEER, day, registry, after, most)
    return [
        HomeAgent(row["did"], StoredDay(**{name: row[name] for name in StoredDay.__struct_fields__}))
        for row in rows
    ]


async def note_sent(tx: Tx, peer_id: int, day: date) -> None:
    """The peer has the hours of all its agents on this day."""
    await tx.execute(_NOTE_SENT, peer_id, day)


async def receive(tx: Tx, did: str, stated: PeerDay) -> bool:
    """Store the hours of an own agent as a peer states them; returns whether they are new."""
    values = (
        stated.day,
        stated.registry,
        stated.counts,
        stated.statement,
        stated.place,
        b"".join(stated.hashes),
    )
    return await tx.fetchval(_RECEIVE, did, *values) is not None


async def stated_by_peers(tx: Tx, did: str, begin: date, end: date) -> list[PeerDay]:
    """The days of an own agent that peers stated, by registry."""
    return [_stated(dict(row)) for row in await tx.fetch(_STATED, did, begin, end)]


async def forget_stated(tx: Tx) -> None:
    """Delete the days that are in no answer any more."""
    await tx.execute(_FORGET, DAYS_STORED)


def _stated(row: dict[str, Any]) -> PeerDay:
    hashes: bytes = row.pop("hashes")
    parts: Sequence[bytes] = [hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES)]
    return PeerDay(**row, hashes=parts)
