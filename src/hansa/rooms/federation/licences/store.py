"""Every statement on licence certificates.

Issuing, changing, installing and signing the list lock each other out: the row of the list is locked first.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx

from .records import CertificateFilter, IssuedCertificate, ListState, NetworkCertificate

_EXPIRED = "state = 'active' AND expires_at <= clock_timestamp()"
_STATE = f"CASE WHEN {_EXPIRED} THEN 'expired' ELSE state END"
_LIVE = "(expires_at IS NULL OR expires_at > clock_timestamp())"

_SHOWN = f"""lid, hash, certificate, type, sub_trust_domain, sub_name, plan, issued_at, expires_at, {_STATE} AS state,
updated_at"""

# A frame is one trust domain whatever it is called; an operator is a name in the trust domain of its frame.
_SAME_SUBJECT = """
type = $1 AND sub_trust_domain = $2 AND (type <> 'operator' OR sub_name = $3)
"""

_ADD = f"""
INSERT INTO federation_certificate
  (lid, hash, certificate, type, sub_trust_domain, sub_name, plan, issued_at, expires_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp()) RETURNING {_SHOWN}
"""  # noqa: S608

_SUPERSEDE = f"""
UPDATE federation_certificate SET state = 'superseded', suspension = NULL, updated_at = clock_timestamp()
WHERE {_SAME_SUBJECT} AND state IN ('active', 'suspended') AND (state = 'suspended' OR {_LIVE})
"""  # noqa: S608

_SUSPEND = f"""
UPDATE federation_certificate SET state = 'suspended', suspension = $4, updated_at = clock_timestamp()
WHERE {_SAME_SUBJECT} AND state = 'active' AND {_LIVE} RETURNING lid
"""  # noqa: S608

_REVOKE = f"""
UPDATE federation_certificate SET state = 'revoked', suspension = NULL, updated_at = clock_timestamp()
WHERE {_SAME_SUBJECT} AND state <> 'revoked' RETURNING lid
"""  # noqa: S608

_REINSTATE = f"""
UPDATE federation_certificate SET state = 'active', suspension = NULL, updated_at = clock_timestamp()
WHERE suspension = (SELECT suspension FROM federation_certificate WHERE lid = $1) AND {_LIVE} RETURNING lid
"""  # noqa: S608

_FIND = f"SELECT {_SHOWN} FROM federation_certificate WHERE lid = $1 OR hash = $1"  # noqa: S608

_ENDED_HERE = f"""
SELECT {_STATE} FROM federation_certificate WHERE hash = ANY ($1::text[]) AND {_STATE} IN ('suspended', 'revoked', 'expired')
ORDER BY {_STATE} = 'revoked' DESC LIMIT 1
"""  # noqa: S608

_NEWEST_OF_OPERATOR = f"""
SELECT {_SHOWN} FROM federation_certificate WHERE type = 'operator' AND sub_trust_domain = $1 AND sub_name = $2
ORDER BY number DESC LIMIT 1
"""  # noqa: S608

_GENESIS = f"SELECT {_SHOWN} FROM federation_certificate WHERE type = 'genesis'"  # noqa: S608

_ALL = f"SELECT {_SHOWN} FROM federation_certificate ORDER BY number"  # noqa: S608

_FILTERED = f"""
FROM federation_certificate WHERE ($1::text IS NULL OR {_STATE} = $1) AND ($2::text IS NULL OR type = $2)
  AND ($3::text IS NULL OR sub_trust_domain = $3 OR sub_name = $3)
"""

_PAGE = f"SELECT {_SHOWN} {_FILTERED} ORDER BY number DESC LIMIT $4 OFFSET $5"

_INSTALL = """
INSERT INTO federation_network_certificate (certificate, hash, chain) VALUES ($1, $2, $3)
ON CONFLICT (is_only) DO UPDATE SET certificate = EXCLUDED.certificate, hash = EXCLUDED.hash, chain = EXCLUDED.chain,
  installed_at = clock_timestamp()
"""

_LIST_STATE = """
SELECT list, generated_at, now, EXISTS (SELECT FROM federation_certificate) AS has_certificates,
  list IS NULL OR NOT is_current OR generated_at < now - 72000 OR EXISTS (
    SELECT FROM federation_certificate WHERE state = 'active' AND expires_at > to_timestamp(generated_at)
      AND expires_at <= to_timestamp(now)) AS is_due
FROM federation_issued_list, LATERAL (SELECT extract(epoch FROM clock_timestamp())::bigint AS now) AS clock
"""

_RETIRE_KEY = """
UPDATE federation_licensing_key SET sealed_key = NULL, retired_at = clock_timestamp() WHERE retired_at IS NULL AND NOT is_next
"""

_RETIRE_NEXT_KEY = """
UPDATE federation_licensing_key SET sealed_key = NULL, retired_at = clock_timestamp(), is_next = false WHERE is_next
"""

_ADD_NEXT_KEY = (
    "INSERT INTO federation_licensing_key (kid, public_key, sealed_key, is_next) VALUES ($1, $2, $3, true)"
)

_LIVE_OPERATORS = f"""
SELECT {_SHOWN} FROM federation_certificate WHERE type = 'operator' AND {_STATE} = 'active' ORDER BY number
"""  # noqa: S608

_ADD_KEY = "INSERT INTO federation_licensing_key (kid, public_key, sealed_key) VALUES ($1, $2, $3)"


async def lock(tx: Tx) -> datetime:
    """Let nobody else issue, change or install until the transaction ends; the database's time."""
    await tx.execute("SELECT FROM federation_issued_list FOR UPDATE")
    return (await clock.now(tx)).replace(microsecond=0)


async def add(tx: Tx, issued: IssuedCertificate) -> IssuedCertificate:
    """Write a certificate; the list is no longer current."""
    row = await tx.fetchrow(
        _ADD,
        issued.lid,
        issued.hash,
        issued.certificate,
        issued.type,
        issued.sub_trust_domain,
        issued.sub_name,
        issued.plan,
        issued.issued_at,
        issued.expires_at,
    )
    await _outdate_list(tx)
    assert row is not None
    return IssuedCertificate(**row)


async def supersede(tx: Tx, kind: str, trust_domain: str, name: str) -> None:
    """End every active or suspended certificate of the subject in favour of one that is written next."""
    await tx.execute(_SUPERSEDE, kind, trust_domain, name)


async def suspend(tx: Tx, one: IssuedCertificate, suspension: UUID) -> list[str]:
    """Suspend every active certificate of the same subject; their ids."""
    return await _changed(tx, _SUSPEND, *_subject(one), suspension)


async def revoke(tx: Tx, one: IssuedCertificate) -> list[str]:
    """Revoke every certificate of the same subject that is not revoked; their ids."""
    return await _changed(tx, _REVOKE, *_subject(one))


async def reinstate(tx: Tx, one: IssuedCertificate) -> list[str]:
    """Reinstate the certificates that the same act suspended and are not past their end; return their ids."""
    return await _changed(tx, _REINSTATE, one.lid)


async def find(tx: Tx, lid_or_hash: str) -> IssuedCertificate | None:
    """The issued certificate with this id or hash."""
    row = await tx.fetchrow(_FIND, lid_or_hash)
    return IssuedCertificate(**row) if row else None


async def ended_here(tx: Tx, hashes: Sequence[str]) -> str | None:
    """The state of one of these certificates that this registry issued and that has ended; None where none has."""
    state: str | None = await tx.fetchval(_ENDED_HERE, hashes)
    return state


async def newest_of_operator(tx: Tx, trust_domain: str, name: str) -> IssuedCertificate | None:
    """The certificate that was issued to this operator last."""
    row = await tx.fetchrow(_NEWEST_OF_OPERATOR, trust_domain, name)
    return IssuedCertificate(**row) if row else None


async def genesis(tx: Tx) -> IssuedCertificate | None:
    """The genesis certificate, where this registry issued it."""
    row = await tx.fetchrow(_GENESIS)
    return IssuedCertificate(**row) if row else None


async def page(tx: Tx, criteria: CertificateFilter) -> tuple[list[IssuedCertificate], int]:
    """A page of certificates, newest first, and how many there are of these in all."""
    asked = (criteria.state, criteria.type, criteria.sub)
    rows = await tx.fetch(_PAGE, *asked, criteria.limit, criteria.offset)
    total: int = await tx.fetchval(f"SELECT count(*) {_FILTERED}", *asked)
    return [IssuedCertificate(**row) for row in rows], total


async def every_certificate(tx: Tx) -> list[IssuedCertificate]:
    """All certificates, oldest first."""
    return [IssuedCertificate(**row) for row in await tx.fetch(_ALL)]


async def install(tx: Tx, network: NetworkCertificate) -> None:
    """Keep the network certificate, instead of an earlier one."""
    await tx.execute(_INSTALL, network.certificate, network.hash, list(network.chain))


async def installed(tx: Tx) -> NetworkCertificate | None:
    """The network certificate that was installed."""
    row = await tx.fetchrow("SELECT certificate, hash, chain FROM federation_network_certificate")
    return NetworkCertificate(row["certificate"], row["hash"], tuple(row["chain"])) if row else None


async def list_state(tx: Tx) -> ListState:
    """The list as it was signed last, and whether it is due."""
    row = await tx.fetchrow(_LIST_STATE)
    assert row is not None
    return ListState(**row)


async def keep_list(tx: Tx, text: str, generated_at: int) -> None:
    """Serve this list from now on."""
    await tx.execute(
        "UPDATE federation_issued_list SET list = $1, generated_at = $2, is_current = true",
        text,
        generated_at,
    )


async def sealed_key(tx: Tx) -> tuple[str, bytes, bytes] | None:
    """The present licence-signing key: its kid, public half and sealed private half."""
    row = await tx.fetchrow(
        "SELECT kid, public_key, sealed_key FROM federation_licensing_key WHERE retired_at IS NULL AND NOT is_next"
    )
    return (row["kid"], row["public_key"], row["sealed_key"]) if row else None


async def lock_keys(tx: Tx) -> None:
    """Let nobody else begin a licence-signing key until the transaction ends."""
    await tx.execute("LOCK TABLE federation_licensing_key IN SHARE ROW EXCLUSIVE MODE")


async def succeed_key(tx: Tx, kid: str, public_key: bytes, sealed: bytes) -> None:
    """Retire the present key, if there is one, and begin the next. The keys are locked."""
    await tx.execute(_RETIRE_KEY)
    await tx.execute(_ADD_KEY, kid, public_key, sealed)
    await _outdate_list(tx)


async def was_held(tx: Tx, kid: str) -> bool:
    """Return whether the registry has or had that licence-signing key."""
    query = "SELECT EXISTS (SELECT FROM federation_licensing_key WHERE kid = $1)"
    held: bool = await tx.fetchval(query, kid)
    return held


async def next_public_key(tx: Tx) -> bytes | None:
    """The public half of the key that waits for its certificate."""
    found: bytes | None = await tx.fetchval("SELECT public_key FROM federation_licensing_key WHERE is_next")
    return found


async def put_next_key(tx: Tx, kid: str, public_key: bytes, sealed: bytes) -> None:
    """Let this key wait for its certificate, instead of another one. The keys are locked."""
    await tx.execute(_RETIRE_NEXT_KEY)
    await tx.execute(_ADD_NEXT_KEY, kid, public_key, sealed)


async def promote_next_key(tx: Tx) -> None:
    """Retire the present key, and let the next one be present. The keys are locked."""
    await tx.execute(_RETIRE_KEY)
    promoted = await tx.execute("UPDATE federation_licensing_key SET is_next = false WHERE is_next")
    assert promoted == "UPDATE 1", "the keys are locked"
    await _outdate_list(tx)


async def live_operators(tx: Tx) -> list[IssuedCertificate]:
    """The active certificates of operators, oldest first."""
    return [IssuedCertificate(**row) for row in await tx.fetch(_LIVE_OPERATORS)]


async def _changed(tx: Tx, statement: str, *values: object) -> list[str]:
    changed = [row["lid"] for row in await tx.fetch(statement, *values)]
    if changed:
        await _outdate_list(tx)
    return changed


async def _outdate_list(tx: Tx) -> None:
    await tx.execute("UPDATE federation_issued_list SET is_current = false")


def _subject(one: IssuedCertificate) -> tuple[str, str, str]:
    return one.type, one.sub_trust_domain, one.sub_name
