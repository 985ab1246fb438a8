"""The SQL of wallet payments. An address uses a nonce once, for ever: of two settlements at once the second waits."""

from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

_CLAIM = """
INSERT INTO commerce_x402_authorization (address, nonce, digest, token_id) VALUES ($1, $2, $3, $4)
ON CONFLICT (address, nonce) DO NOTHING RETURNING true
"""


class Used(msgspec.Struct, frozen=True):
    """An authorization that was settled, by the payment token that paid it."""

    digest: bytes
    token_id: UUID


async def claim(tx: Tx, address: bytes, nonce: bytes, digest: bytes, token_id: UUID) -> bool:
    """Use a nonce for the payment of this token; False when it was used already."""
    return await tx.fetchval(_CLAIM, address, nonce, digest, token_id) is not None


async def find(tx: Tx, address: bytes, nonce: bytes) -> Used | None:
    """Return the payment that a nonce was used for."""
    row = await tx.fetchrow(
        "SELECT digest, token_id FROM commerce_x402_authorization WHERE address = $1 AND nonce = $2",
        address,
        nonce,
    )
    return Used(**row) if row else None
