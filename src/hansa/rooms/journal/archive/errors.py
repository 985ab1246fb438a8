"""Why events of an archived month are not read, and why a month is not archived or dropped."""

from hansa.foundation.values.errors import Conflict, Gone


class EventsArchived(Gone):
    """The events behind this position were archived by the operator and are not stored here any more."""

    code = "EVENTS_ARCHIVED"
    sentence = "Events behind this position were archived and are not stored here any more."
    remedy = "Read the older events in the archive of the operator, then begin without a cursor."


class MonthNotArchivable(Conflict):
    """The month cannot be archived now."""

    sentence = "The month cannot be archived now."


class MonthNotDroppable(Conflict):
    """The month cannot be dropped now."""

    sentence = "The month cannot be dropped now."
