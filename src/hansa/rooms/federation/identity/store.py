"""Every statement on the certificates of an operator registry. Each change counts as one of the trusted roots: listeners follow it."""

from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

from .requests import Kind

_OWN_ROOTS = "SELECT own_roots FROM federation_trust"

_SET_OWN_ROOTS = """
UPDATE federation_trust SET own_roots = $1, version = version + 1 WHERE own_roots IS DISTINCT FROM $1
"""

_REQUESTED_KEYS = """
SELECT kind, sealed_requested_key FROM federation_identity WHERE sealed_requested_key IS NOT NULL
"""

_REQUEST = """
INSERT INTO federation_identity (kind, sealed_requested_key) VALUES ($1, $2)
ON CONFLICT (kind) DO UPDATE SET sealed_requested_key = excluded.sealed_requested_key WHERE federation_identity.sealed_requested_key IS NULL
"""

_REPLACE_REQUEST = "UPDATE federation_identity SET sealed_requested_key = $2 WHERE kind = $1"

_RECEIVE = """
UPDATE federation_identity SET certificate = $3, sealed_key = sealed_requested_key, begins_at = $4, expires_at = $5,
  sealed_requested_key = NULL
WHERE kind = $1 AND sealed_requested_key = $2
"""

_COUNT = "UPDATE federation_trust SET version = version + 1"

_HELD = """
SELECT certificate, sealed_key, begins_at, expires_at, clock_timestamp() AS now FROM federation_identity
WHERE kind = $1 AND certificate IS NOT NULL
"""

_IS_DUE = """
SELECT EXISTS (SELECT FROM federation_identity
  WHERE certificate IS NOT NULL AND clock_timestamp() > begins_at + (expires_at - begins_at) / 2)
"""


@dataclass(frozen=True)
class HeldLeaf:
    """A certificate as it is kept, and the time at which it was read."""

    certificate: str
    sealed_key: bytes = field(repr=False)
    begins_at: datetime
    expires_at: datetime
    now: datetime


class ReceivedLeaf(msgspec.Struct, frozen=True):
    """A certificate in PEM, and when it is in force."""

    certificate: str
    begins_at: datetime
    expires_at: datetime


async def own_roots(tx: Tx) -> str | None:
    """The roots of the trust domain in PEM, or None before enrolment."""
    roots: str | None = await tx.fetchval(_OWN_ROOTS)
    return roots


async def set_own_roots(tx: Tx, roots_pem: str) -> None:
    """Write the roots of the trust domain."""
    await tx.execute(_SET_OWN_ROOTS, roots_pem)


async def requested_keys(tx: Tx) -> dict[Kind, bytes]:
    """The sealed keys for which certificates were requested and not received yet."""
    return {row["kind"]: row["sealed_requested_key"] for row in await tx.fetch(_REQUESTED_KEYS)}


async def request(tx: Tx, kind: Kind, sealed_key: bytes) -> None:
    """Write the key of a request, unless one is under way."""
    await tx.execute(_REQUEST, kind, sealed_key)


async def replace_request(tx: Tx, kind: Kind, sealed_key: bytes) -> None:
    """Write another key in place of the one of a request."""
    await tx.execute(_REPLACE_REQUEST, kind, sealed_key)


async def receive(tx: Tx, kind: Kind, requested_key: bytes, leaf: ReceivedLeaf) -> bool:
    """Take the certificate of a requested key; whether that request was still under way."""
    taken = await tx.execute(_RECEIVE, kind, requested_key, leaf.certificate, leaf.begins_at, leaf.expires_at)
    await tx.execute(_COUNT)
    return taken == "UPDATE 1"


async def held(tx: Tx, kind: Kind) -> HeldLeaf | None:
    """The certificate of this kind, or None before it was received."""
    row = await tx.fetchrow(_HELD, kind)
    return None if row is None else HeldLeaf(**row)


async def is_renewal_due(tx: Tx) -> bool:
    """Return whether a certificate is past half of its lifetime."""
    is_due: bool = await tx.fetchval(_IS_DUE)
    return is_due
