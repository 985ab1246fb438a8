"""First steps of every staking act."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.ledger.errors import AccountUnknown
from hansa.rooms.ledger.rules import Account, require_active
from hansa.rooms.ledger.store import lock_accounts


async def lock_own(tx: Tx, did: str) -> Account:
    """The agent's account, locked until the transaction ends. Raises: AccountUnknown, AccountSuspended."""
    account = (await lock_accounts(tx, [did])).get(did)
    if account is None:
        raise AccountUnknown
    require_active([account])
    return account
