"""Refusals of the status room."""

from hansa.foundation.values.errors import Conflict, Invalid, NotFound, QuotaReached

UPDATES_MAX = 100
"""Updates of one incident."""

OPEN_MAX = 50
"""Incidents and maintenances that are open at once: as many as the public list shows."""


class IncidentUnknown(NotFound):
    """No incident and no maintenance has this id."""

    code = "INCIDENT_UNKNOWN"
    sentence = "No incident and no maintenance has this id."


class IncidentResolved(Conflict):
    """The incident is resolved, and takes no more updates."""

    code = "INCIDENT_RESOLVED"
    sentence = "The incident is resolved and takes no more updates."
    remedy = "Open a new incident."


class IncidentTimesInvalid(Invalid):
    """The times of the incident or maintenance contradict each other."""

    code = "INCIDENT_TIMES_INVALID"
    sentence = "A maintenance ends after it starts and in the future; an incident has started, and ends by an update."


class UpdatesTooMany(QuotaReached):
    """The incident has the maximum number of updates."""

    sentence = f"An incident has at most {UPDATES_MAX} updates."
    remedy = "Resolve it and open a new incident."


class IncidentsTooMany(QuotaReached):
    """The maximum number of incidents and maintenances is open."""

    sentence = f"At most {OPEN_MAX} incidents and maintenances are open at once."
    remedy = "Resolve those that are over."
