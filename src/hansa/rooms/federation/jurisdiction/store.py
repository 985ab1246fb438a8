"""Every SQL statement about authorizations. Whoever records one has locked the registry card."""

from uuid import UUID

from hansa.foundation.plumbing.settings import RegulatedAction
from hansa.foundation.plumbing.storage.database import Tx

from .records import Authorization, NewAuthorization

_COLUMNS = "action, authority, subject, tier, reference, sha256, contract_id, contract_digest, valid_until"
_SHOWN = f"id, {_COLUMNS}, recorded_at"
_IS_LIVE = "withdrawn_at IS NULL AND (valid_until IS NULL OR valid_until > clock_timestamp())"

_ADD = f"""
INSERT INTO federation_authorization ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING {_SHOWN}
"""  # noqa: S608

_LIVE = f"SELECT {_SHOWN} FROM federation_authorization WHERE {_IS_LIVE} ORDER BY recorded_at, id"  # noqa: S608

_COVERING = f"""
SELECT {_SHOWN} FROM federation_authorization WHERE action = $1 AND subject = $2 AND {_IS_LIVE}
ORDER BY recorded_at, id
"""  # noqa: S608

_REFERENCING = f"""
SELECT {_SHOWN} FROM federation_authorization WHERE contract_id = $1 AND {_IS_LIVE} ORDER BY recorded_at, id
"""  # noqa: S608

_WITHDRAW = f"""
UPDATE federation_authorization SET withdrawn_at = clock_timestamp() WHERE id = $1 AND {_IS_LIVE} RETURNING {_SHOWN}
"""  # noqa: S608


async def is_future(tx: Tx, authorization: NewAuthorization) -> bool:
    """Return whether it has an end that has not come, or none."""
    future: bool = await tx.fetchval(
        "SELECT $1::timestamptz IS NULL OR $1 > clock_timestamp()", authorization.valid_until
    )
    return future


async def add(tx: Tx, new: NewAuthorization) -> Authorization:
    """Write an authorization."""
    row = await tx.fetchrow(_ADD, *(getattr(new, name) for name in _COLUMNS.split(", ")))
    assert row is not None
    return Authorization(**row)


async def live(tx: Tx) -> list[Authorization]:
    """Every live authorization, the oldest first."""
    return [Authorization(**row) for row in await tx.fetch(_LIVE)]


async def covering(tx: Tx, action: RegulatedAction, subject: str) -> list[Authorization]:
    """The live authorizations of an act and its subject, the oldest first."""
    return [Authorization(**row) for row in await tx.fetch(_COVERING, action, subject)]


async def referencing(tx: Tx, contract_id: int) -> list[Authorization]:
    """The live authorizations that reference a contract, the oldest first."""
    return [Authorization(**row) for row in await tx.fetch(_REFERENCING, contract_id)]


async def withdraw(tx: Tx, authorization_id: UUID) -> Authorization | None:
    """End a live authorization; None where there is none."""
    row = await tx.fetchrow(_WITHDRAW, authorization_id)
    return Authorization(**row) if row else None
