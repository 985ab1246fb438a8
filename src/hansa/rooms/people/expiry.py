"""Deletion of ended rows: tokens past their time, and sessions that nothing continues any more."""

from hansa.foundation.plumbing.storage.database import Tx

from . import calls, oauth, phones, recovery, store

# The last developer token of a session lives a day at most beyond its last refresh token's seven.
SESSION_IDLE_DAYS = 9
LINK_DAYS = 30
CALL_DAYS = 30


async def forget_ended(tx: Tx) -> None:
    """Delete rows that have expired and cannot be used."""
    await store.forget_ended(tx, SESSION_IDLE_DAYS, LINK_DAYS)
    await recovery.forget_ended(tx)
    await calls.forget_older(tx, CALL_DAYS)
    await oauth.forget_ended(tx)
    await phones.forget_ended(tx)
