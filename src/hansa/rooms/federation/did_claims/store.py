"""Every statement on the claims of DIDs. A row is written once for each DID and never deleted."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from hansa.foundation.plumbing.storage.database import Tx

_ANNOUNCE = """
INSERT INTO federation_did_claim (digest, state) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING RETURNING digest
"""

_CLAIM = """
WITH claimed AS (
  INSERT INTO federation_did_claim (digest, holder) SELECT unnest($1::bytea[]), $2 ORDER BY 1
  ON CONFLICT (digest) DO NOTHING RETURNING digest)
SELECT count(*) FROM claimed
"""

# No row: the holder would have more claims than it may have.
_COUNT_CLAIMS = """
INSERT INTO federation_did_holder AS h (holder, claims) SELECT $1::text, $2::bigint WHERE $2::bigint <= $3::bigint
ON CONFLICT (holder) DO UPDATE SET claims = h.claims + EXCLUDED.claims WHERE h.claims + EXCLUDED.claims <= $3::bigint RETURNING claims
"""

_HELD_BY_OTHERS = """
SELECT digest FROM federation_did_claim WHERE digest = ANY($1::bytea[]) AND holder IS DISTINCT FROM $2 ORDER BY digest
"""

# A DID of which the frame refused the own claim is as little this registry's as one that another registry holds.
_ELSEWHERE = """
SELECT digest, holder FROM federation_did_claim
WHERE digest = ANY($1::bytea[]) AND (holder IS NOT NULL OR state = 'refused')
"""

_HOLDERS = """
SELECT digest, holder FROM federation_did_claim WHERE digest = ANY($1::bytea[]) AND state = 'held' ORDER BY digest
"""

_CLAIMS = "SELECT digest, holder, state FROM federation_did_claim WHERE digest = ANY($1::bytea[])"

_KNOWN = "SELECT digest FROM federation_did_claim WHERE digest = ANY($1::bytea[])"

_STATES_OF_OWN = """
SELECT digest, state FROM federation_did_claim WHERE digest = ANY($1::bytea[]) AND holder IS NULL AND state <> 'held'
"""

_LEARN = """
INSERT INTO federation_did_claim (digest, holder) SELECT * FROM unnest($1::bytea[], $2::text[]) ORDER BY 1
ON CONFLICT (digest) DO NOTHING
"""

_WAITING = """
SELECT digest FROM federation_did_claim WHERE state = 'waiting' ORDER BY claimed_at, digest LIMIT $1
"""

_OWN_BEFORE = """
SELECT digest, claimed_at FROM federation_did_claim WHERE holder IS NULL AND state = 'held' AND (claimed_at, digest) < ($1, $2)
ORDER BY claimed_at DESC, digest DESC LIMIT $3
"""

_ANSWERED = """
UPDATE federation_did_claim SET state = $2 WHERE digest = ANY($1::bytea[]) AND holder IS NULL AND state <> $2
"""


class Claim(NamedTuple):
    """Holder of a DID, None: this registry, as far as `state` says it: `held`, `waiting` or `refused`."""

    holder: str | None
    state: str


class LocalDid(NamedTuple):
    """An own DID, and when it came to be: its place among all of them."""

    claimed_at: datetime
    digest: bytes


async def announce(tx: Tx, digest: bytes, *, waits: bool) -> bool:
    """Write that this registry has the DID; False where the DID is known already."""
    return await tx.fetchval(_ANNOUNCE, digest, "waiting" if waits else "held") is not None


async def claim(tx: Tx, digests: Sequence[bytes], holder: str) -> int:
    """Write the claims of a registry, those that others or itself made before stand; how many are new."""
    count: int = await tx.fetchval(_CLAIM, list(digests), holder)
    return count


async def held_by_others(tx: Tx, digests: Sequence[bytes], holder: str) -> list[bytes]:
    """Those of the digests that another registry than this one holds."""
    return [row["digest"] for row in await tx.fetch(_HELD_BY_OTHERS, list(digests), holder)]


async def count_claims(tx: Tx, holder: str, count: int, most: int) -> bool:
    """Count new claims of a registry; false, and nothing is counted, where it would have more than `most`."""
    return await tx.fetchval(_COUNT_CLAIMS, holder, count, most) is not None


async def elsewhere(tx: Tx, digests: Sequence[bytes]) -> dict[bytes, str | None]:
    """Return those of the digests that are not of this registry, with the SPIFFE id of the holder, None where it is not known."""
    return {row["digest"]: row["holder"] for row in await tx.fetch(_ELSEWHERE, list(digests))}


async def holders(tx: Tx, digests: Sequence[bytes]) -> list[tuple[bytes, str | None]]:
    """Return those of the digests that are held, with the SPIFFE id of the holder, None: this registry."""
    return [(row["digest"], row["holder"]) for row in await tx.fetch(_HOLDERS, list(digests))]


async def claims(tx: Tx, digests: Sequence[bytes]) -> dict[bytes, Claim]:
    """Return the claims on these digests; those without a row are absent."""
    rows = await tx.fetch(_CLAIMS, list(digests))
    return {row["digest"]: Claim(row["holder"], row["state"]) for row in rows}


async def known(tx: Tx, digests: Sequence[bytes]) -> set[bytes]:
    """Those of the digests that have a row."""
    return {row["digest"] for row in await tx.fetch(_KNOWN, list(digests))}


async def own_not_held(tx: Tx, digests: Sequence[bytes]) -> dict[bytes, str]:
    """Own DIDs of these digests that the frame has not confirmed: `waiting` or `refused`."""
    return {row["digest"]: row["state"] for row in await tx.fetch(_STATES_OF_OWN, list(digests))}


async def learn(tx: Tx, claims: Sequence[tuple[bytes, str]]) -> None:
    """Write the claims of other registries that the frame stated."""
    await tx.execute(_LEARN, [digest for digest, _ in claims], [holder for _, holder in claims])


async def waiting(tx: Tx, most: int) -> list[bytes]:
    """The own DIDs that the frame does not know yet, the oldest first."""
    return [row["digest"] for row in await tx.fetch(_WAITING, most)]


async def answered(tx: Tx, digests: Sequence[bytes], state: str) -> None:
    """Write the frame's answer, `held` or `refused`, for own DIDs."""
    await tx.execute(_ANSWERED, list(digests), state)


async def own_before(tx: Tx, place: LocalDid, most: int) -> list[LocalDid]:
    """Own DIDs that the frame has confirmed, the newest first, from this place on."""
    rows = await tx.fetch(_OWN_BEFORE, place.claimed_at, place.digest, most)
    return [LocalDid(row["claimed_at"], row["digest"]) for row in rows]
