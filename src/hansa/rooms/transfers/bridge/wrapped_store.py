"""The SQL of wrapped units. Locks: the row of the unit first, which every change updates, then the balance.

`CHECK (wrapped <= locked_proved)` of that row is the invariant: no wrapped unit exists without a lock that its home signed.

The SQL of own units that are locked while agents of a peer hold them wrapped. Each is changed under the lock of the pair.

`CHECK (locked >= 0)`: no agent of a peer redeems more than is locked for it. Wrapped units cannot be passed on, so that it holds no
others.
"""

from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import SUPPLY_MAX_UNITS, Minor, units

_OPEN = "INSERT INTO transfers_wrapped (wrapped_currency, peer) VALUES ($1, $2) ON CONFLICT DO NOTHING"
_LOCK = "SELECT wrapped FROM transfers_wrapped WHERE wrapped_currency = $1 AND peer = $2 FOR UPDATE"
_MINT = """
UPDATE transfers_wrapped SET wrapped = wrapped + $2, locked_proved = locked_proved + $2 WHERE wrapped_currency = $1
"""
_SET_ASIDE = """
WITH held AS (
  UPDATE transfers_wrapped_balance SET balance = balance - $3 WHERE wrapped_currency = $1 AND did = $2 AND balance >= $3
  RETURNING balance
)
UPDATE transfers_wrapped SET burning = burning + $3 FROM held WHERE wrapped_currency = $1 RETURNING held.balance
"""
_END_BURN = """
UPDATE transfers_wrapped SET wrapped = wrapped - $2, burning = burning - $2, locked_proved = locked_proved - $2
WHERE wrapped_currency = $1
"""
_RETURN = "UPDATE transfers_wrapped SET burning = burning - $2 WHERE wrapped_currency = $1"
_CREDIT = """
INSERT INTO transfers_wrapped_balance AS b (wrapped_currency, did, balance) VALUES ($1, $2, $3)
ON CONFLICT (wrapped_currency, did) DO UPDATE SET balance = b.balance + excluded.balance RETURNING balance
"""
_TAKE_BACK = """
WITH held AS (
  UPDATE transfers_wrapped_balance SET balance = balance - $3 WHERE wrapped_currency = $1 AND did = $2 AND balance >= $3
  RETURNING balance
)
UPDATE transfers_wrapped SET wrapped = wrapped - $3, locked_proved = locked_proved - $3 FROM held WHERE wrapped_currency = $1
RETURNING held.balance
"""
_HELD = """
SELECT b.balance FROM transfers_wrapped w JOIN transfers_wrapped_balance b USING (wrapped_currency)
WHERE wrapped_currency = $1 AND did = $2 FOR UPDATE OF w
"""
# A saga that was undone may be carried out again: `turn` counts how often it was.
_POST = """
INSERT INTO transfers_wrapped_posting (peer, saga_id, kind, wrapped_currency, did, delta, balance_after, turn)
SELECT $1, $2, $3, $4, $5, $6, $7,
  (SELECT count(*) FROM transfers_wrapped_posting WHERE peer = $1 AND saga_id = $2
    AND kind = CASE WHEN $3 IN ('burn', 'return') THEN 'return' ELSE 'take_back' END)
"""
_SUPPLY = """
SELECT w.wrapped_currency, w.wrapped, w.burning, w.locked_proved,
  coalesce((SELECT sum(b.balance) FROM transfers_wrapped_balance b WHERE b.wrapped_currency = w.wrapped_currency), 0)::bigint
    AS held,
  coalesce((SELECT sum(p.delta) FROM transfers_wrapped_posting p WHERE p.wrapped_currency = w.wrapped_currency), 0)::bigint
    AS posted
FROM transfers_wrapped w ORDER BY w.wrapped_currency COLLATE "C"
"""
_OF_AGENT = """
SELECT wrapped_currency, balance FROM transfers_wrapped_balance WHERE did = $1 AND balance > 0
ORDER BY wrapped_currency COLLATE "C"
"""
_CAME_FROM = """
SELECT EXISTS (SELECT FROM transfers_wrapped_posting p JOIN transfers_bridge_decision d USING (peer, saga_id)
  WHERE p.did = $1 AND p.kind = 'mint' AND d.sender_did = $2)
"""

_IS_BOUND = """
SELECT EXISTS (SELECT FROM transfers_wrapped_balance WHERE did = $1 AND balance > 0)
  OR EXISTS (SELECT FROM transfers_bridge_saga WHERE sender_did = $1 AND next_at IS NOT NULL
    AND state NOT IN ('COMPLETED', 'REFUNDED', 'FAILED'))
  OR EXISTS (SELECT FROM transfers_bridge_saga WHERE sender_did = $1 AND state = 'IN_DOUBT')
"""

_ADD = """
INSERT INTO transfers_locked AS row (peer, holder_did, locked) VALUES ($1, $2, $3)
ON CONFLICT (peer, holder_did) DO UPDATE SET locked = row.locked + excluded.locked
"""
_ARE_LOCKED = """
SELECT EXISTS (SELECT FROM transfers_locked WHERE peer = $1 AND holder_did = $2 AND locked >= $3)
"""


class WrappedAmount(msgspec.Struct, frozen=True):
    """An amount of one wrapped unit of an agent, and the saga that moves it."""

    wrapped_currency: str
    peer: str
    did: str
    amount: int
    saga_id: UUID


class WrappedSupply(msgspec.Struct, frozen=True):
    """Supply of a unit of another registry that is held here; minor units.

    `held` is the sum of all balances, `posted` the sum of the movements, `burning` the units that undecided redemptions set aside.
    """

    wrapped_currency: str
    wrapped: Minor
    burning: Minor
    locked_proved: Minor
    held: Minor
    posted: Minor

    @property
    def delta(self) -> Minor:
        """Exactly zero, or wrapped units were made or lost."""
        return Minor(self.wrapped - self.burning - self.held)

    @property
    def is_ok(self) -> bool:
        """Return whether every wrapped unit is held, was posted and is locked at its home."""
        return self.delta == 0 and self.posted == self.held and self.wrapped <= self.locked_proved


async def has_room(tx: Tx, wrapped_currency: str, peer: str, amount: int) -> bool:
    """Return whether so much may be minted; the row of the unit is locked afterwards. False also where the unit is another peer's."""
    await tx.execute(_OPEN, wrapped_currency, peer)
    wrapped: int | None = await tx.fetchval(_LOCK, wrapped_currency, peer)
    return wrapped is not None and wrapped + amount <= units(SUPPLY_MAX_UNITS)


async def mint(tx: Tx, minted: WrappedAmount) -> None:
    """Credit wrapped units against a signed lock."""
    await tx.execute(_MINT, minted.wrapped_currency, minted.amount)
    await _credit(tx, minted, "mint")


async def set_aside(tx: Tx, burning: WrappedAmount) -> bool:
    """Take wrapped units from their holder until their redemption is decided; False where it holds less."""
    await tx.execute(
        "SELECT FROM transfers_wrapped WHERE wrapped_currency = $1 FOR UPDATE", burning.wrapped_currency
    )
    balance: int | None = await tx.fetchval(_SET_ASIDE, burning.wrapped_currency, burning.did, burning.amount)
    if balance is None:
        return False
    await _post(tx, burning, "burn", -burning.amount, balance)
    return True


async def end_burn(tx: Tx, burnt: WrappedAmount) -> None:
    """The home unlocked: the wrapped units and their lock have ended."""
    await tx.execute(_END_BURN, burnt.wrapped_currency, burnt.amount)


async def give_back(tx: Tx, returned: WrappedAmount) -> None:
    """The home did not unlock: the holder has its wrapped units again."""
    await tx.execute(_RETURN, returned.wrapped_currency, returned.amount)
    await _credit(tx, returned, "return")


async def take_back(tx: Tx, minted: WrappedAmount) -> None:
    """A mint that its home does not know ends; the caller found that its holder has as many."""
    balance: int | None = await tx.fetchval(_TAKE_BACK, minted.wrapped_currency, minted.did, minted.amount)
    assert balance is not None
    await _post(tx, minted, "take_back", -minted.amount, balance)


async def holds(tx: Tx, amount: WrappedAmount) -> bool:
    """Return whether the agent holds so many; the row of the unit is locked afterwards."""
    balance: int | None = await tx.fetchval(_HELD, amount.wrapped_currency, amount.did)
    return balance is not None and balance >= amount.amount


async def supply(tx: Tx) -> list[WrappedSupply]:
    """Every wrapped unit, by name."""
    return [WrappedSupply(**row) for row in await tx.fetch(_SUPPLY)]


async def held_by(tx: Tx, did: str) -> list[tuple[str, Minor]]:
    """Return the units that an agent holds, by currency."""
    return [(row["wrapped_currency"], Minor(row["balance"])) for row in await tx.fetch(_OF_AGENT, did)]


async def home_of(tx: Tx, wrapped_currency: str) -> str | None:
    """The SPIFFE id of the registry at which these units are locked; None where none was ever held here."""
    peer: str | None = await tx.fetchval(
        "SELECT peer FROM transfers_wrapped WHERE wrapped_currency = $1", wrapped_currency
    )
    return peer


async def came_from(tx: Tx, did: str, giver_did: str) -> bool:
    """Return whether this agent of another registry wrapped units for an agent."""
    return bool(await tx.fetchval(_CAME_FROM, did, giver_did))


async def is_bound(tx: Tx, did: str) -> bool:
    """Return whether an agent holds wrapped units, or a saga of it is not decided."""
    return bool(await tx.fetchval(_IS_BOUND, did))


async def _credit(tx: Tx, credited: WrappedAmount, kind: str) -> None:
    balance: int = await tx.fetchval(_CREDIT, credited.wrapped_currency, credited.did, credited.amount)
    await _post(tx, credited, kind, credited.amount, balance)


async def _post(tx: Tx, moved: WrappedAmount, kind: str, delta: int, balance: int) -> None:
    await tx.execute(
        _POST, moved.peer, moved.saga_id, kind, moved.wrapped_currency, moved.did, delta, balance
    )


async def lock(tx: Tx, peer: str, holder_did: str, amount: int) -> None:
    """Add `amount` to the units locked for this holder."""
    await tx.execute(_ADD, peer, holder_did, amount)


async def unlock(tx: Tx, peer: str, holder_did: str, amount: int) -> None:
    """The holder redeemed as many, which `are_locked` found."""
    statement = "UPDATE transfers_locked SET locked = locked - $3 WHERE peer = $1 AND holder_did = $2"
    done = await tx.execute(statement, peer, holder_did, amount)
    assert done == "UPDATE 1"


async def are_locked(tx: Tx, peer: str, holder_did: str, amount: int) -> bool:
    """Return whether at least `amount` units are locked for this holder."""
    return bool(await tx.fetchval(_ARE_LOCKED, peer, holder_did, amount))
