"""Refusals of releases."""

from hansa.foundation.values.errors import Conflict, NotFound, QuotaReached

RELEASES_MAX = 1000
"""Releases of one agent."""


class ReleaseUnknown(NotFound):
    """The agent has no version of its code with this id."""

    code = "VERSION_UNKNOWN"
    sentence = "The agent has no version of its code with this id."


class VersionTaken(Conflict):
    """The agent has a version of its code with this name already."""

    code = "VERSION_TAKEN"
    sentence = "The agent has a version with this name already."
    remedy = "Choose another name, or activate the version that exists."


class ReleasesTooMany(QuotaReached):
    """The agent has the maximum number of versions of its code."""

    sentence = f"An agent has at most {RELEASES_MAX} versions of its code."
    remedy = "Create another agent for another program."
