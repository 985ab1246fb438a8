"""The SQL that suspends accounts. Many are locked in the order of their ids, as transfers lock theirs.

A transfer that is being decided holds both accounts locked: it comes before a suspension, or sees it.
"""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx

_SET_STATUS = """
WITH accounts AS (
  SELECT id FROM ledger_account WHERE did = ANY($1) AND kind = 'agent' ORDER BY id FOR NO KEY UPDATE
)
UPDATE ledger_account SET status = $2 FROM accounts WHERE ledger_account.id = accounts.id RETURNING did
"""


async def suspend_accounts(tx: Tx, dids: Sequence[str]) -> set[str]:
    """Let these agents' accounts take part in no transfer; returns whose accounts there are."""
    return await _set_status(tx, dids, "suspended")


async def reinstate_accounts(tx: Tx, dids: Sequence[str]) -> set[str]:
    """Let these agents' accounts pay and be paid again; returns whose accounts there are."""
    return await _set_status(tx, dids, "active")


async def _set_status(tx: Tx, dids: Sequence[str], status: str) -> set[str]:
    return {row["did"] for row in await tx.fetch(_SET_STATUS, list(dids), status)}
