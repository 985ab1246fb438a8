"""Every statement on the verdicts on licences, and on the lists of their issuers."""

from collections.abc import Sequence
from datetime import datetime

import asyncpg
import msgspec
from msgspec.structs import asdict

from hansa.foundation.plumbing.storage.database import Tx

_FIND = """
SELECT hash, certificate, chain, code, reason, checked_at, valid_until > clock_timestamp() AS counts
FROM federation_licence_verdict WHERE ledger_id = $1
"""

_KEEP = """
INSERT INTO federation_licence_verdict (ledger_id, hash, certificate, chain, code, reason, as_of, valid_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (ledger_id) DO UPDATE SET hash = excluded.hash, certificate = excluded.certificate, chain = excluded.chain,
  code = excluded.code, reason = excluded.reason, as_of = excluded.as_of, valid_until = excluded.valid_until,
  checked_at = excluded.checked_at
"""

_ENDED = """
SELECT code FROM federation_licence_verdict
WHERE ledger_id = $1 AND hash = $2 AND code IN ('suspended', 'revoked', 'superseded')
"""

# An older list never replaces a newer one.
_KEEP_LIST = """
INSERT INTO federation_licence_list AS kept (trust_domain, kid, list, generated_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (trust_domain, kid) DO UPDATE
SET list = excluded.list, generated_at = excluded.generated_at, fetched_at = excluded.fetched_at
WHERE kept.generated_at < excluded.generated_at
"""


class Judged(msgspec.Struct, frozen=True):
    """Verdict to be kept, with the certificate that it is on."""

    hash: str | None
    certificate: str | None
    chain: list[str]
    code: str
    reason: str
    as_of: datetime | None
    valid_until: datetime | None


async def find(tx: Tx, ledger_id: str) -> asyncpg.Record | None:
    """The verdict on a registry, and whether it still counts."""
    return await tx.fetchrow(_FIND, ledger_id)


async def ended_by_lists(tx: Tx, ledger_id: str, certificate_hash: str) -> str | None:
    """Return the state by which an issuer's list ended this certificate of a registry; None where it was not judged so."""
    ended: str | None = await tx.fetchval(_ENDED, ledger_id, certificate_hash)
    return ended


async def as_of(tx: Tx, ledger_id: str, certificate_hash: str) -> datetime | None:
    """The time of the oldest list by which this certificate of a registry was judged; None where it was not."""
    timestamp: datetime | None = await tx.fetchval(
        "SELECT as_of FROM federation_licence_verdict WHERE ledger_id = $1 AND hash = $2",
        ledger_id,
        certificate_hash,
    )
    return timestamp


async def newest_lists(tx: Tx) -> dict[str, int]:
    """When the newest list of each issuer that is kept was generated, by its trust domain."""
    rows = await tx.fetch(
        "SELECT trust_domain, max(generated_at) AS at FROM federation_licence_list GROUP BY 1"
    )
    return {row["trust_domain"]: row["at"] for row in rows}


async def keep(tx: Tx, ledger_id: str, judged: Judged) -> None:
    """Keep the verdict instead of an earlier one."""
    await tx.execute(_KEEP, ledger_id, *asdict(judged).values())


async def keep_list(tx: Tx, trust_domain: str, kid: str, text: str, generated_at: int) -> None:
    """Keep an issuer's list, unless a newer one is kept."""
    await tx.execute(_KEEP_LIST, trust_domain, kid, text, generated_at)


async def lists(tx: Tx, trust_domains: Sequence[str]) -> list[str]:
    """The newest lists of these issuers."""
    rows = await tx.fetch(
        "SELECT list FROM federation_licence_list WHERE trust_domain = ANY($1)", list(trust_domains)
    )
    return [row["list"] for row in rows]
