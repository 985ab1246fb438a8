"""Maintenance that keeps long lists quick: put-off work of the database, done a little at a time."""

from hansa.foundation.plumbing.storage.database import Tx

from . import store

CLASS_ROWS_MAX = 256
TEXTS_AT_ONCE = 1000
# An index that was not used for seven days is built anew.
DELETED_KEPT_DAYS = 8


HAS_LISTS_TO_KEEP = store.has_put_off(CLASS_ROWS_MAX)
"""Whether the work of `keep_lists_quick` may have piled up."""


async def index_texts(tx: Tx) -> None:
    """Let lists find by their texts, without looking at each, some of the cards that were written lately."""
    await store.index_texts(tx, TEXTS_AT_ONCE)


async def keep_lists_quick(tx: Tx) -> None:
    """Sort in the texts that were taken in, and sum up how many cards there are of each class."""
    await store.sort_in_texts(tx)
    await store.sum_classes(tx, CLASS_ROWS_MAX)


async def forget_deleted(tx: Tx) -> None:
    """Forget which cards were deleted, once no search index can still hold them."""
    await store.forget_deleted(tx, DELETED_KEPT_DAYS)
