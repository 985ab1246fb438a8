"""Ends that the same person may undo for a few seconds, in a row that notes when it ended.

The end counts at once. The undo is one conditional UPDATE of the row, by the clock of the database; nothing runs in between.
"""

UNDO_SECONDS = 10


def is_reversible(column: str) -> str:
    """The condition that the end noted in this column may still be undone."""
    return f"({column} > clock_timestamp() - interval '{UNDO_SECONDS} seconds')"


def is_final(column: str) -> str:
    """The condition that the end noted in this column can no longer be undone."""
    return f"({column} <= clock_timestamp() - interval '{UNDO_SECONDS} seconds')"
