"""The SQL of wallets. An address is unique: of two agents that bind it at once the second finds it taken."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx

from .rules import Challenge, Wallet

# An agent has one challenge, the newest.
_WRITE_CHALLENGE = """
INSERT INTO agents_wallet_challenge AS c (agent_id, address, text_sha256, expires_at)
SELECT id, $2, $3, $4 FROM agents_agent WHERE did = $1
ON CONFLICT (agent_id) DO UPDATE SET address = excluded.address, text_sha256 = excluded.text_sha256,
  expires_at = excluded.expires_at
"""

_TAKE_CHALLENGE = """
DELETE FROM agents_wallet_challenge c USING agents_agent a WHERE a.id = c.agent_id AND a.did = $1
RETURNING c.address, c.text_sha256, c.expires_at <= clock_timestamp() AS is_expired
"""

# The address of an agent that was revoked is free.
_BIND = """
INSERT INTO agents_wallet AS w (address, agent_id, public_key)
SELECT $2, id, $3 FROM agents_agent WHERE did = $1
ON CONFLICT (address) DO UPDATE SET agent_id = excluded.agent_id, bound_at = excluded.bound_at
WHERE (SELECT status FROM agents_agent WHERE id = w.agent_id) = 'revoked'
RETURNING bound_at
"""

_WALLETS = """
SELECT a.did, w.address, w.public_key, w.bound_at FROM agents_wallet w JOIN agents_agent a ON a.id = w.agent_id
"""

_UNBIND = """
DELETE FROM agents_wallet w USING agents_agent a WHERE a.id = w.agent_id AND a.did = $1 AND w.address = $2 RETURNING true
"""

# What is compared is what the index of the receive addresses holds.
_PAYEE = """
SELECT a.did FROM agents_wallet w JOIN agents_agent a ON a.id = w.agent_id WHERE w.address = $1
UNION ALL
SELECT did FROM agents_agent WHERE substr(sha256(('hansa-payee:' || did)::bytea), 13) = $1
LIMIT 1
"""


async def write_challenge(tx: Tx, did: str, address: bytes, text_sha256: bytes, expires_at: datetime) -> None:
    """Keep a challenge in place of the one before."""
    await tx.execute(_WRITE_CHALLENGE, did, address, text_sha256, expires_at)


async def take_challenge(tx: Tx, did: str) -> Challenge | None:
    """The agent's challenge, which is used up."""
    row = await tx.fetchrow(_TAKE_CHALLENGE, did)
    return Challenge(**row) if row else None


async def end_of(tx: Tx, lifetime: timedelta) -> datetime:
    """The moment so much later than now, in whole seconds."""
    return (await clock.began_at(tx)).replace(microsecond=0) + lifetime


async def bind(tx: Tx, did: str, address: bytes, public_key: bytes) -> Wallet | None:
    """Bind an address; None when another agent has it."""
    bound_at = await tx.fetchval(_BIND, did, address, public_key)
    return Wallet(did, address, public_key, bound_at) if bound_at else None


async def wallets_of(tx: Tx, did: str) -> Sequence[Wallet]:
    """The wallets of an agent, the oldest first."""
    rows = await tx.fetch(f"{_WALLETS} WHERE a.did = $1 ORDER BY w.bound_at, w.address", did)
    return [Wallet(**row) for row in rows]


async def unbind(tx: Tx, did: str, address: bytes) -> bool:
    """Unbind an address; False when the agent does not have it."""
    return await tx.fetchval(_UNBIND, did, address) is not None


async def find_wallet(tx: Tx, address: bytes) -> Wallet | None:
    """The wallet with this address, whichever agent has it."""
    row = await tx.fetchrow(f"{_WALLETS} WHERE w.address = $1", address)
    return Wallet(**row) if row else None


async def hold_wallet(tx: Tx, address: bytes) -> Wallet | None:
    """Find a wallet for a payment: it stays with its agent until the transaction ends. None for an unknown address."""
    row = await tx.fetchrow(f"{_WALLETS} WHERE w.address = $1 FOR SHARE OF w", address)
    return Wallet(**row) if row else None


async def payee_of_address(tx: Tx, address: bytes) -> str | None:
    """The agent that is paid by this address: one of its wallets, or its receive address."""
    did: str | None = await tx.fetchval(_PAYEE, address)
    return did
