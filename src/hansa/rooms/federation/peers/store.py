"""SQL statements on peers and their refusals.

Locks: writing a peer's roots locks the row of `federation_trust` first, so that two bundles are compared one after the other.
"""

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import asyncpg

from hansa.foundation.plumbing.keys.trust_bundle import TrustBundle, bundle_in
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.peer_caller import Peer

from .records import CountedRefusal, NewPeer, PeerRecord, VerifiedCard

_COLUMNS = """id, spiffe_id, ledger_id, registry_name, trust_domain, registry_url, federation_base_url, peer_type,
hop_distance, status, approval, paused_at, removing, quarantined_at, quarantine_reason, settlement_currency,
did_namespace, bundle, bundle_fetched_at, card, card_etag, card_kid, card_fetched_at, card_signed_at, card_expires_at,
card_verdicts, keys, net_in_limit, auto_slash_enabled, auto_slash_max_avt, trust_state, trust_weight,
total_interactions, disputes_lost_with, last_interaction_at, last_synced_at, trouble, created_at, approved_at,
clock_timestamp() AS read_at"""

_ALL = f"SELECT {_COLUMNS} FROM federation_peer ORDER BY registry_name, id"  # noqa: S608

_PAGE = f"SELECT {_COLUMNS} FROM federation_peer ORDER BY registry_name, id LIMIT $1 OFFSET $2"  # noqa: S608

_ONE = f"SELECT {_COLUMNS} FROM federation_peer WHERE id = $1"  # noqa: S608

_ONE_NOW = f"SELECT {_COLUMNS}, clock_timestamp() AS now FROM federation_peer WHERE id = $1"  # noqa: S608

_NAMED = f"""
SELECT {_COLUMNS} FROM federation_peer WHERE registry_name = $1 OR trust_domain = $1 OR ledger_id = $1
ORDER BY (ledger_id = $1) DESC NULLS LAST, id LIMIT 3
"""  # noqa: S608

_UNVERIFIED = (
    f"SELECT {_COLUMNS} FROM federation_peer WHERE trust_domain = $1 AND spiffe_id IS NULL ORDER BY id"  # noqa: S608
)

_OF_SPIFFE_ID = f"SELECT {_COLUMNS} FROM federation_peer WHERE spiffe_id = $1"  # noqa: S608

_PRESENT_AMONG = "SELECT spiffe_id FROM federation_peer WHERE spiffe_id = ANY ($1)"

_PRESENTED = """
SELECT id, registry_name AS name, spiffe_id, ledger_id, trust_domain, bundle,
  status = 'active' AND quarantined_at IS NULL AS is_open, clock_timestamp() AS now
FROM (SELECT) AS always LEFT JOIN federation_peer ON spiffe_id = $1 AND approval = 'approved' AND NOT removing
"""

_OF_NAMESPACE = f"""
SELECT {_COLUMNS} FROM federation_peer WHERE did_namespace = $1 AND NOT removing
ORDER BY hop_distance, (status = 'active') DESC, id
"""  # noqa: S608

# A pending peer gets no further than the handshake: that is how it proves that this registry was added there as well.
_TRUSTED_BUNDLES = "SELECT trust_domain, bundle FROM federation_peer WHERE NOT removing"

_OTHER_BUNDLES = "SELECT trust_domain, bundle FROM federation_peer WHERE trust_domain <> $1"

_ADD = f"""
INSERT INTO federation_peer (registry_name, trust_domain, registry_url, peer_type, approval, approved_at, net_in_limit,
  bundle, bundle_sequence, bundle_sha256)
VALUES ($1, $2, $3, $4, $5, CASE WHEN $5 = 'approved' THEN clock_timestamp() END, $6, $7, $8, $9) RETURNING {_COLUMNS}
"""  # noqa: S608

_SET_CARD = f"""
UPDATE federation_peer SET spiffe_id = $2, ledger_id = $3, registry_name = $4, did_namespace = $5,
  settlement_currency = $6, federation_base_url = $7, card = $8, card_etag = $9, card_kid = $10, card_signed_at = $11,
  card_expires_at = $12, keys = $13, card_verdicts = $14, card_fetched_at = clock_timestamp(), trouble = NULL
WHERE id = $1 AND trust_domain = $15 AND (spiffe_id IS NULL OR spiffe_id = $2) RETURNING {_COLUMNS}
"""  # noqa: S608

_ACTIVATE = f"""
UPDATE federation_peer SET status = 'active'
WHERE id = $1 AND status = 'inactive' AND approval = 'approved' AND card IS NOT NULL AND paused_at IS NULL
  AND NOT removing RETURNING {_COLUMNS}
"""  # noqa: S608

_LOCK_REGISTRY = f"""
SELECT {_COLUMNS} FROM federation_peer WHERE trust_domain = $1 AND (spiffe_id = 'spiffe://' || $1 || '/registry/' || $2
  OR (spiffe_id IS NULL AND registry_name IN ($1, $2)))
ORDER BY spiffe_id NULLS LAST LIMIT 1 FOR UPDATE
"""  # noqa: S608

_APPROVE_ANEW = """
UPDATE federation_peer SET approval = 'approved', approved_at = coalesce(approved_at, clock_timestamp()), removing = false,
  registry_name = $2, registry_url = $3, bundle = $4, bundle_sequence = $5, bundle_sha256 = $6,
  bundle_fetched_at = clock_timestamp(), trouble = NULL
WHERE id = $1
"""

_SET_BUNDLE = """
UPDATE federation_peer SET bundle = $2, bundle_sequence = $3, bundle_sha256 = $4, bundle_fetched_at = clock_timestamp()
WHERE id = $1 AND bundle_sequence <= $3
"""

_NOTE_READ = """
UPDATE federation_peer SET trouble = NULL, card_fetched_at = clock_timestamp(),
  approval = CASE WHEN $2 THEN 'approved' ELSE approval END,
  approved_at = CASE WHEN $2 THEN coalesce(approved_at, clock_timestamp()) ELSE approved_at END
WHERE id = $1
"""

_NOTE_SYNCED = "UPDATE federation_peer SET last_synced_at = clock_timestamp() WHERE id = ANY ($1::bigint[])"

_READ_AT_INTERVALS = "SELECT id FROM federation_peer WHERE paused_at IS NULL AND NOT removing ORDER BY id"

_HAS_ADDRESS = "SELECT EXISTS (SELECT FROM federation_peer WHERE trust_domain = $1 AND registry_url = $2)"

_NOTE_TROUBLE = "UPDATE federation_peer SET trouble = $2 WHERE id = $1"

_NOTE_REFUSED_CARD = "UPDATE federation_peer SET trouble = $2, card_verdicts = $3 WHERE id = $1"

_COUNT_REFUSAL = """
INSERT INTO federation_peer_refusal (peer_id, reason, count) SELECT id, $2, $3 FROM federation_peer WHERE id = $1
ON CONFLICT (peer_id, reason) DO UPDATE
SET count = federation_peer_refusal.count + excluded.count, last_at = excluded.last_at
"""

# Specification 6 S: (a + s) / (a + b + s + f) with a = b = 1, and a half-life of 90 days.
_SCORES = """
SELECT peer_id, (1 + coalesce(sum(weight) FILTER (WHERE kind = 'crossing'), 0)) / (2 + sum(weight)) AS score
FROM (SELECT peer_id, kind, CASE kind WHEN 'dispute_lost' THEN 5 ELSE 1 END
    * power(0.5, extract(epoch FROM clock_timestamp() - at)::float8 / 7776000) AS weight
  FROM federation_peer_signal WHERE peer_id = ANY($1::bigint[])) AS weighed
GROUP BY peer_id
"""

_REFUSALS_AND_SCORES = f"""
SELECT asked.id, scored.score, refused.reason, refused.count, refused.last_at FROM unnest($1::bigint[]) asked (id)
LEFT JOIN ({_SCORES}) scored ON scored.peer_id = asked.id
LEFT JOIN federation_peer_refusal refused ON refused.peer_id = asked.id ORDER BY asked.id, refused.reason
"""  # noqa: S608

_OWN_SEQUENCE = "SELECT own_sequence FROM federation_trust WHERE own_sha256 = $1"

_COUNT_OWN_BUNDLE = """
UPDATE federation_trust SET own_sequence = own_sequence + 1, own_sha256 = $1, own_counted_at = clock_timestamp()
WHERE own_sha256 IS DISTINCT FROM $1
"""

_REFUSALS = """
SELECT peer_id, reason, count, last_at FROM federation_peer_refusal WHERE peer_id = ANY($1::bigint[]) ORDER BY peer_id, reason
"""


async def all_peers(tx: Tx) -> list[PeerRecord]:
    """Every peer, by name."""
    return [_peer(row) for row in await tx.fetch(_ALL)]


async def page(tx: Tx, limit: int, offset: int) -> tuple[list[PeerRecord], int]:
    """A page of peers by name, and how many there are in all."""
    rows = await tx.fetch(_PAGE, limit, offset)
    return [_peer(row) for row in rows], await tx.fetchval("SELECT count(*) FROM federation_peer")


async def one(tx: Tx, peer_id: int) -> PeerRecord | None:
    """The peer with this id."""
    return _maybe(await tx.fetchrow(_ONE, peer_id))


async def one_now(tx: Tx, peer_id: int) -> tuple[PeerRecord, datetime] | None:
    """The peer with this id, and the database's time."""
    row = await tx.fetchrow(_ONE_NOW, peer_id)
    return None if row is None else (_peer(row), row["now"])


async def lock(tx: Tx, peer_id: int) -> PeerRecord | None:
    """The peer with this id, locked until the transaction ends."""
    return _maybe(await tx.fetchrow(_ONE + " FOR UPDATE", peer_id))


async def named(tx: Tx, name: str) -> list[PeerRecord]:
    """At most three peers of this registry name, trust domain or ledger id."""
    return [_peer(row) for row in await tx.fetch(_NAMED, name)]


async def of_spiffe_id(tx: Tx, spiffe_id: str) -> PeerRecord | None:
    """The peer whose verified card states this SPIFFE id."""
    return _maybe(await tx.fetchrow(_OF_SPIFFE_ID, spiffe_id))


async def present_among(tx: Tx, spiffe_ids: Collection[str]) -> frozenset[str]:
    """Those of the SPIFFE ids that a verified card of a peer states."""
    return frozenset(row["spiffe_id"] for row in await tx.fetch(_PRESENT_AMONG, spiffe_ids))


async def unverified(tx: Tx, trust_domain: str) -> list[PeerRecord]:
    """The peers of this trust domain whose card was not verified yet."""
    return [_peer(row) for row in await tx.fetch(_UNVERIFIED, trust_domain)]


async def presented(tx: Tx, spiffe_id: str) -> tuple[tuple[Peer, TrustBundle] | None, datetime]:
    """The approved peer of this SPIFFE id that is not being removed, with its bundle; and the database's time."""
    row = await tx.fetchrow(_PRESENTED, spiffe_id)
    assert row is not None
    if row["id"] is None:
        return None, row["now"]
    names = ("id", "name", "spiffe_id", "ledger_id", "trust_domain", "is_open")
    return (Peer(**{name: row[name] for name in names}), _bundle(row)), row["now"]


async def of_namespace(tx: Tx, namespace: str) -> list[PeerRecord]:
    """The peers that speak for this DID namespace, the nearest first."""
    return [_peer(row) for row in await tx.fetch(_OF_NAMESPACE, namespace)]


async def trust_version(tx: Tx) -> int:
    """Counts the changes of the roots that are trusted."""
    version: int = await tx.fetchval("SELECT version FROM federation_trust")
    return version


async def lock_trust(tx: Tx) -> None:
    """Lock the trusted roots until the transaction ends."""
    await tx.execute("SELECT FROM federation_trust FOR UPDATE")


async def trusted_bundles(tx: Tx) -> list[TrustBundle]:
    """The bundles of peers that are not being removed, several of one trust domain where it has several registries."""
    return [_bundle(row) for row in await tx.fetch(_TRUSTED_BUNDLES)]


async def bundles_of_others(tx: Tx, trust_domain: str) -> list[TrustBundle]:
    """The bundles of every peer outside that trust domain."""
    return [_bundle(row) for row in await tx.fetch(_OTHER_BUNDLES, trust_domain)]


async def add(tx: Tx, new: NewPeer, name: str) -> PeerRecord:
    """Write a peer whose card is not known yet."""
    row = await tx.fetchrow(
        _ADD,
        name,
        new.bundle.trust_domain,
        new.registry_url,
        new.peer_type,
        new.approval,
        new.net_in_limit,
        json.dumps(new.bundle.spiffe()),
        new.bundle.sequence,
        new.bundle.thumbprint,
    )
    assert row is not None
    return _peer(row)


async def set_card(tx: Tx, peer_id: int, card: VerifiedCard) -> PeerRecord | None:
    """Write the members of the verified card; None where the peer is gone or is another registry.

    Raises: asyncpg.UniqueViolationError when another peer has the SPIFFE id or ledger id.
    """
    row = await tx.fetchrow(
        _SET_CARD,
        peer_id,
        card.spiffe_id,
        card.ledger_id,
        card.registry_name,
        card.did_namespace,
        card.settlement_currency,
        card.federation_base_url,
        card.text,
        card.etag,
        card.kid,
        card.signed_at,
        card.expires_at,
        json.dumps(card.keys),
        json.dumps(card.verdicts),
        card.trust_domain,
    )
    return _maybe(row)


async def activate(tx: Tx, peer_id: int) -> PeerRecord | None:
    """Make an approved and verified peer active; None where it is so already, or may not be."""
    return _maybe(await tx.fetchrow(_ACTIVATE, peer_id))


async def lock_registry(tx: Tx, trust_domain: str, registry_name: str) -> PeerRecord | None:
    """The peer that is this registry, verified or not yet; nobody else changes it until the transaction ends."""
    return _maybe(await tx.fetchrow(_LOCK_REGISTRY, trust_domain, registry_name))


async def approve_anew(tx: Tx, peer_id: int, new: NewPeer) -> None:
    """Approve a peer with these roots and this address."""
    bundle = new.bundle
    await tx.execute(
        _APPROVE_ANEW,
        peer_id,
        new.registry_name,
        new.registry_url,
        json.dumps(bundle.spiffe()),
        bundle.sequence,
        bundle.thumbprint,
    )


async def set_bundle(tx: Tx, peer_id: int, bundle: TrustBundle) -> None:
    """Write a bundle that was read over mutual TLS; a lower sequence changes nothing."""
    await tx.execute(_SET_BUNDLE, peer_id, json.dumps(bundle.spiffe()), bundle.sequence, bundle.thumbprint)


async def note_read(tx: Tx, peer_id: int, *, approved: bool) -> None:
    """Write that the documents of a peer were read now and are in order; with `approved` a pending one is approved."""
    await tx.execute(_NOTE_READ, peer_id, approved)


async def note_synced(tx: Tx, peer_ids: Sequence[int]) -> None:
    """Note that everything new was read from these peers now; nothing of those that are gone."""
    await tx.execute(_NOTE_SYNCED, peer_ids)


async def read_at_intervals(tx: Tx) -> list[int]:
    """The ids of the peers that are read at intervals: all that are neither paused nor being removed."""
    return [row["id"] for row in await tx.fetch(_READ_AT_INTERVALS)]


async def has_address(tx: Tx, trust_domain: str, registry_url: str) -> bool:
    """Return whether a peer of this trust domain has this address."""
    found: bool = await tx.fetchval(_HAS_ADDRESS, trust_domain, registry_url)
    return found


async def note_trouble(tx: Tx, peer_id: int, reason: str) -> None:
    """Write why a peer could not be read."""
    await tx.execute(_NOTE_TROUBLE, peer_id, reason)


async def note_refused_card(tx: Tx, peer_id: int, reason: str, verdicts: list[dict[str, Any]]) -> None:
    """Write why the card of a peer was refused; the last verified card stays."""
    await tx.execute(_NOTE_REFUSED_CARD, peer_id, reason, json.dumps(verdicts))


async def count_refusal(tx: Tx, peer_id: int, reason: str, times: int) -> None:
    """Count that something of a peer was refused; nothing where the peer is gone."""
    await tx.execute(_COUNT_REFUSAL, peer_id, reason, times)


async def refusals(tx: Tx, peer_ids: list[int]) -> dict[int, list[CountedRefusal]]:
    """How often something of these peers was refused, by peer, in the order of the reasons."""
    counted: dict[int, list[CountedRefusal]] = {peer_id: [] for peer_id in peer_ids}
    for row in await tx.fetch(_REFUSALS, peer_ids):
        counted[row["peer_id"]].append(CountedRefusal(row["reason"], row["count"], row["last_at"]))
    return counted


async def refusals_and_scores(
    tx: Tx, peer_ids: list[int]
) -> dict[int, tuple[list[CountedRefusal], float | None]]:
    """The same, and the trust score of each peer, None without evidence."""
    found: dict[int, tuple[list[CountedRefusal], float | None]] = {}
    for row in await tx.fetch(_REFUSALS_AND_SCORES, peer_ids):
        counted, _ = found.setdefault(row["id"], ([], row["score"]))
        if row["reason"] is not None:
            counted.append(CountedRefusal(row["reason"], row["count"], row["last_at"]))
    return found


async def own_sequence(tx: Tx, sha256: str) -> int | None:
    """The sequence of this registry's own bundle, if these roots are the ones that were counted last."""
    sequence: int | None = await tx.fetchval(_OWN_SEQUENCE, sha256)
    return sequence


async def count_local_bundle(tx: Tx, sha256: str) -> int:
    """Count these roots as the newest ones, unless they are so already; returns the sequence."""
    await tx.execute(_COUNT_OWN_BUNDLE, sha256)
    sequence = await own_sequence(tx, sha256)
    assert sequence is not None
    return sequence


async def own_bundle_age(tx: Tx, sha256: str) -> timedelta | None:
    """For how long these roots have been this registry's own bundle; None where they are not."""
    age: timedelta | None = await tx.fetchval(
        "SELECT clock_timestamp() - own_counted_at FROM federation_trust WHERE own_sha256 = $1", sha256
    )
    return age


def _maybe(row: asyncpg.Record | None) -> PeerRecord | None:
    return None if row is None else _peer(row)


def _peer(row: asyncpg.Record) -> PeerRecord:
    members: dict[str, Any] = {name: value for name, value in row.items() if name != "now"}
    for name in ("card", "keys", "card_verdicts"):
        members[name] = None if members[name] is None else json.loads(members[name])
    return PeerRecord(**{**members, "bundle": _bundle(row)})


def _bundle(row: asyncpg.Record) -> TrustBundle:
    return _bundle_in(row["bundle"], row["trust_domain"])


@lru_cache(maxsize=1024)
def _bundle_in(text: str, trust_domain: str) -> TrustBundle:
    return bundle_in(json.loads(text), trust_domain)
