"""Archives of months of the journal, and readings after a month was dropped."""

from .boundary import (
    boundary,
    last_place_dropped,
    require_filed_stored_behind,
    require_stored_behind,
    require_transaction_stored,
    stored_keys_of_account,
)
from .dropping import drop_month, require_expired
from .errors import EventsArchived, MonthNotArchivable, MonthNotDroppable
from .records import ArchivedMonth, Month
from .store import archived_months
from .store import record as record_archive
from .writing import write_month

__all__ = [
    "ArchivedMonth",
    "EventsArchived",
    "Month",
    "MonthNotArchivable",
    "MonthNotDroppable",
    "archived_months",
    "boundary",
    "drop_month",
    "last_place_dropped",
    "record_archive",
    "require_expired",
    "require_filed_stored_behind",
    "require_stored_behind",
    "require_transaction_stored",
    "stored_keys_of_account",
    "write_month",
]
