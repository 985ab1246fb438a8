"""Every SQL statement about the registry's keys.

Locks: founding and rotating lock the table against each other. Times are of the clock and not of the transaction, which
may have begun before the rotation that it waited for.
"""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.storage.database import Tx

from .records import RegistryKey, SealedKey
from .rules import GRACE

_COLUMNS = "sequence, registry_id, public_key, valid_from, retired_at"

_PRESENT = f"""
SELECT {_COLUMNS}, sealed_key, clock_timestamp() AS read_at FROM federation_registry_key WHERE retired_at IS NULL
"""  # noqa: S608

_HISTORY = f"SELECT {_COLUMNS} FROM federation_registry_key ORDER BY sequence DESC"  # noqa: S608

_IN_GRACE = f"""
SELECT {_COLUMNS} FROM federation_registry_key
WHERE retired_at IS NULL OR retired_at > now() - $1::interval ORDER BY sequence DESC
"""  # noqa: S608

_SUCCEED = f"""
WITH retired AS (
  UPDATE federation_registry_key SET sealed_key = NULL,
    retired_at = greatest(clock_timestamp(), valid_from + interval '1 microsecond')
  WHERE retired_at IS NULL RETURNING retired_at
)
INSERT INTO federation_registry_key (sequence, registry_id, public_key, sealed_key, valid_from)
SELECT coalesce((SELECT max(sequence) FROM federation_registry_key), 0) + 1, $1, $2, $3,
  coalesce((SELECT retired_at FROM retired), clock_timestamp())
RETURNING {_COLUMNS}
"""  # noqa: S608

_WAS_HELD = "SELECT EXISTS (SELECT FROM federation_registry_key WHERE public_key = $1)"


async def lock_keys(tx: Tx) -> None:
    """Let nobody else begin or retire a key until the transaction ends; reading goes on."""
    await tx.execute("LOCK TABLE federation_registry_key IN SHARE ROW EXCLUSIVE MODE")


async def present(tx: Tx) -> SealedKey | None:
    """The present key, or None before the first."""
    row = await tx.fetchrow(_PRESENT)
    if row is None:
        return None
    members = dict(row)
    sealed, read_at = members.pop("sealed_key"), members.pop("read_at")
    return SealedKey(RegistryKey(**members), sealed, read_at)


async def history(tx: Tx) -> list[RegistryKey]:
    """Every key there ever was, the newest first."""
    return [RegistryKey(**row) for row in await tx.fetch(_HISTORY)]


async def keys_in_grace(tx: Tx) -> list[RegistryKey]:
    """The present key and those retired a short while ago, the newest first."""
    return [RegistryKey(**row) for row in await tx.fetch(_IN_GRACE, GRACE)]


async def was_held(tx: Tx, public_key: bytes) -> bool:
    """Return whether the registry has or had that key."""
    held: bool = await tx.fetchval(_WAS_HELD, public_key)
    return held


async def succeed(tx: Tx, registry_id: str, key: Ed25519PrivateKey, sealed: bytes) -> RegistryKey:
    """Retire the present key, if there is one, and begin the next at the same moment. The keys are locked."""
    row = await tx.fetchrow(_SUCCEED, registry_id, key.public_key().public_bytes_raw(), sealed)
    assert row is not None
    return RegistryKey(**row)
