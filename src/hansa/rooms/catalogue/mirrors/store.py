"""Every SQL statement about mirrored cards.

Locks: the pages of one peer are applied one after the other, under a lock of the transaction. Rows are written in the
order of their DIDs. Each statement serves a whole batch: its values travel as arrays, one for each column.
"""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx

from .records import Home, PeerCard, PeerItem, StoredVersion

# Cannot stand in a tag: it is a control character.
BETWEEN_TAGS = "\x1f"

_CONTENT = (
    "name, description, card_data, card_bytes, pricing, tags, tee_type, name_text, description_text, tags_text,"
    " skills_text"
)
_GIVEN = """(
  SELECT did, peer_version, human_readable_id, is_active, unlisted, bonded, encircled, name, description,
    document::json AS card_data, card_bytes, pricing::json AS pricing, string_to_array(tags, chr(31)) AS tags, tee_type, name_text,
    description_text, tags_text, skills_text, document
  FROM unnest($4::text[], $5::bigint[], $6::text[], $7::boolean[], $8::boolean[], $9::boolean[], $10::boolean[],
    $11::text[], $12::text[], $13::text[], $14::int[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[],
    $20::text[], $21::text[])
    AS u (did, peer_version, human_readable_id, is_active, unlisted, bonded, encircled, name, description, document, card_bytes,
      pricing, tags, tee_type, name_text, description_text, tags_text, skills_text)
) g"""

# Cards are looked up by their DIDs. Left to choose, the planner goes through every card of the peer for each batch.
_OF_PEER = "(c.source_registry = $1) IS TRUE"

_MAY_CHANGE = f"c.did = g.did AND {_OF_PEER} AND coalesce(c.peer_version, -1) < g.peer_version"

# A version alone is no change of the card: no reader of changes hears of it.
_NOTE_VERSIONS = f"""
UPDATE catalogue_card c SET peer_version = g.peer_version FROM {_GIVEN}
WHERE {_MAY_CHANGE} AND c.trust_domain = $2 AND c.settlement_currency = $3
  AND c.is_active = g.is_active AND c.unlisted = g.unlisted AND c.bonded = g.bonded
  AND c.encircled = g.encircled AND c.card_bytes = g.card_bytes
  AND c.card_data::text = g.document
RETURNING 1
"""  # noqa: S608

_REPLACE = f"""
UPDATE catalogue_card c SET (trust_domain, settlement_currency, peer_version, human_readable_id, is_active, unlisted, bonded, encircled,
  {_CONTENT}) = ($2, $3, g.peer_version, g.human_readable_id, g.is_active, g.unlisted, g.bonded, g.encircled,
  g.name, g.description, g.card_data, g.card_bytes, g.pricing, g.tags, g.tee_type, g.name_text, g.description_text,
  g.tags_text, g.skills_text)
FROM {_GIVEN} WHERE {_MAY_CHANGE}
RETURNING 1
"""  # noqa: S608

_INSERT = f"""
INSERT INTO catalogue_card (uuid, source_registry, trust_domain, settlement_currency, did, peer_version,
  human_readable_id, is_active, unlisted, bonded, encircled, {_CONTENT})
SELECT gen_random_uuid(), $1, $2, $3, did, peer_version, human_readable_id, is_active, unlisted, bonded, encircled, {_CONTENT}
FROM {_GIVEN}
ON CONFLICT (did) DO NOTHING
RETURNING 1
"""  # noqa: S608

# What a tombstone says of the listing holds; that the card is active it cannot say.
_HIDE = f"""
WITH given AS (
  UPDATE catalogue_card c SET peer_version = g.version
  FROM unnest($2::text[], $3::bigint[], $4::boolean[], $5::boolean[]) AS g (did, version, is_active, unlisted)
  WHERE c.did = g.did AND {_OF_PEER} AND coalesce(c.peer_version, -1) < g.version
    AND c.is_active = (c.is_active AND g.is_active) AND c.unlisted = (c.unlisted OR g.unlisted)
), hidden AS (
  UPDATE catalogue_card c SET peer_version = g.version, is_active = c.is_active AND g.is_active,
    unlisted = c.unlisted OR g.unlisted
  FROM unnest($2::text[], $3::bigint[], $4::boolean[], $5::boolean[]) AS g (did, version, is_active, unlisted)
  WHERE c.did = g.did AND {_OF_PEER} AND coalesce(c.peer_version, -1) < g.version
    AND (c.is_active, c.unlisted) <> (c.is_active AND g.is_active, c.unlisted OR g.unlisted)
  RETURNING 1
)
SELECT count(*) FROM hidden
"""  # noqa: S608


_REMOVE = """
DELETE FROM catalogue_card WHERE id IN (
  SELECT id FROM catalogue_card WHERE source_registry = $1 LIMIT $2)
RETURNING 1
"""


async def lock_peer(tx: Tx, source_registry: str) -> None:
    """Wait for the page of that peer that is being applied, if any."""
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 25))", source_registry)


async def stored_versions(tx: Tx, dids: Sequence[str]) -> dict[str, StoredVersion]:
    """Whose the rows with these DIDs are, and at which version, by DID."""
    rows = await tx.fetch(
        "SELECT did, source_registry, coalesce(peer_version, -1) FROM catalogue_card WHERE did = ANY($1::text[])",
        dids,
    )
    return {did: StoredVersion(source_registry, version) for did, source_registry, version in rows}


async def count_mirrors(tx: Tx, source_registry: str) -> int:
    """How many cards are mirrored from that registry."""
    count: int = await tx.fetchval(
        "SELECT count(*) FROM catalogue_card WHERE source_registry = $1", source_registry
    )
    return count


async def remove_mirrors(tx: Tx, source_registry: str, at_once: int) -> int:
    """Delete some mirrors of a registry; returns how many."""
    return len(await tx.fetch(_REMOVE, source_registry, at_once))


async def note_versions(tx: Tx, home: Home, cards: Sequence[PeerCard]) -> int:
    """Note the version of cards that say nothing new; returns how many those are."""
    return await _for_all(tx, _NOTE_VERSIONS, home, cards)


async def replace(tx: Tx, home: Home, cards: Sequence[PeerCard]) -> int:
    """Write newer versions of mirrored cards; returns how many were older here."""
    return await _for_all(tx, _REPLACE, home, cards)


async def insert(tx: Tx, home: Home, cards: Sequence[PeerCard]) -> int:
    """Write cards that were not mirrored yet; returns how many of the DIDs were free."""
    return await _for_all(tx, _INSERT, home, cards)


async def hide(tx: Tx, home: Home, tombstones: Sequence[PeerItem]) -> int:
    """Take mirrors out of listings and searches; returns how many were in there."""
    if not tombstones:
        return 0
    columns = zip(*((one.did, one.version, one.is_active, one.unlisted) for one in tombstones), strict=True)
    hidden: int = await tx.fetchval(_HIDE, home.source_registry, *map(list, columns))
    return hidden


async def _for_all(tx: Tx, statement: str, home: Home, cards: Sequence[PeerCard]) -> int:
    if not cards:
        return 0
    columns = zip(*map(_values, cards), strict=True)
    return len(await tx.fetch(statement, *home, *map(list, columns)))


def _values(card: PeerCard) -> tuple[object, ...]:
    name, description, document, size, pricing, tags, *texts = card.content.columns
    said = (
        card.did,
        card.version,
        card.human_readable_id,
        card.is_active,
        card.unlisted,
        card.is_bonded,
        card.is_encircled,
    )
    return (*said, name, description, document, size, pricing, BETWEEN_TAGS.join(tags), *texts)
