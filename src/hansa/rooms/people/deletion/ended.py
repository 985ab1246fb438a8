"""Check that an account has not ended, for rooms that make something on its behalf."""

from hansa.foundation.plumbing.storage.database import Tx

from . import store


async def is_account_closed(tx: Tx, developer_id: int) -> bool:
    """Return whether nothing may be made for the developer any more; no account is closed before this transaction ends."""
    return await store.share_closed(tx, developer_id)
