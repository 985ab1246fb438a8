"""What keeps long lists quick: put-off work of the database, done a little at a time."""

from hansa.foundation.plumbing.database import Tx

from . import store

CLASS_ROWS_MAX = 256


async def keep_lists_quick(tx: Tx) -> None:
    """Sort in the texts of cards that were just written, and sum up how many cards there are of each class."""
    await store.sort_in_texts(tx)
    await store.sum_classes(tx, CLASS_ROWS_MAX)
