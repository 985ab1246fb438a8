"""Stakes as of a past moment: of agents, and of all together.

Only a stake, a release and a compounded reward change the staked balance, and postings are final: the balance then is the one after the last of them.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms.ledger.errors import AccountSuspended, AccountUnknown
from hansa.rooms.ledger.store import lock_accounts

_NOW_AND_THEN = """
a.staked AS now, coalesce((
  SELECT p.balance_after FROM ledger_transaction t
  JOIN ledger_posting p ON p.account_id = a.id AND p.tx_id = t.id AND p.bucket = 'staked'
  WHERE t.payee_id = a.id AND t.tx_type IN ('stake', 'unstake', 'reward', 'compound') AND t.recorded_at <= wanted.at
  ORDER BY t.id DESC LIMIT 1), 0) AS then
"""

_STAKES = f"""
SELECT {_NOW_AND_THEN}
FROM unnest($1::bigint[], $2::timestamptz[]) WITH ORDINALITY AS wanted (account_id, at, place)
JOIN ledger_account a ON a.id = wanted.account_id ORDER BY wanted.place
"""  # noqa: S608

_STAKE = f"""
SELECT a.status = 'active' AS is_active, {_NOW_AND_THEN}
FROM (SELECT $2::timestamptz AS at) wanted, ledger_account a WHERE a.did = $1 AND a.unit = ''
"""  # noqa: S608

# Positions have what is staked now; the transactions since have what changed.
_ALL = """
SELECT (SELECT coalesce(sum(remaining), 0) FROM ledger_stake_position WHERE remaining > 0)
  - (SELECT coalesce(sum(CASE tx_type WHEN 'unstake' THEN -amount ELSE amount END), 0) FROM ledger_transaction
    WHERE tx_type IN ('stake', 'unstake', 'compound') AND recorded_at > $1)
"""

_UNITS = (
    "SELECT coalesce(sum(liquid) + sum(staked) + sum(escrow), 0) FROM ledger_account WHERE kind = 'agent'"
)


class Stake(msgspec.Struct, frozen=True):
    """Staked balance of an account now and at a past moment, in minor units."""

    is_active: bool
    now: Minor
    then: Minor

    @property
    def lasting(self) -> Minor:
        """Return the lesser of the two."""
        return min(self.now, self.then)


async def lock_stakes(tx: Tx, wanted: Sequence[tuple[str, datetime]]) -> list[Stake | None]:
    """Lock the accounts of these agents in id order, and return the stake of each as of its moment; None for an unknown DID."""
    accounts = await lock_accounts(tx, [did for did, _ in wanted])
    known = [(accounts[did], at) for did, at in wanted if did in accounts]
    # A statement of its own after the locks: it must see what a rival committed.
    rows = await tx.fetch(_STAKES, [account.id for account, _ in known], [at for _, at in known])
    stakes = iter([Stake(account.is_active, **row) for (account, _), row in zip(known, rows, strict=True)])
    return [next(stakes) if did in accounts else None for did, _ in wanted]


async def read_stake(tx: Tx, did: str, at: datetime) -> Stake:
    """The stake of an agent as of a moment, without a lock. Raises: AccountUnknown."""
    row = await tx.fetchrow(_STAKE, did, at)
    if row is None:
        raise AccountUnknown
    return Stake(**row)


def active_stake(stake: Stake | None) -> Stake:
    """The stake of an account that takes part. Raises: AccountUnknown, AccountSuspended."""
    if stake is None:
        raise AccountUnknown
    if not stake.is_active:
        raise AccountSuspended
    return stake


async def staked_then(tx: Tx, at: datetime) -> Minor:
    """The units of all agents that were staked at this moment."""
    return Minor(int(await tx.fetchval(_ALL, at)))


async def units_of_agents(tx: Tx) -> Minor:
    """All units in the accounts of agents: liquid, staked and in escrow."""
    return Minor(int(await tx.fetchval(_UNITS)))
