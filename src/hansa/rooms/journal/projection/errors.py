"""Why no baseline is written."""

from hansa.foundation.values.errors import Conflict, Forbidden


class SnapshotsDisabled(Forbidden):
    """The registry writes no baselines: ENABLE_PROJECTION_SNAPSHOTS is not true."""

    code = "PROJECTION_SNAPSHOTS_DISABLED"
    sentence = "This registry writes no projection snapshots (ENABLE_PROJECTION_SNAPSHOTS)."


class ProjectionDiverges(Conflict):
    """The balances are not what the log says. A baseline would hide the difference, so none is written."""

    code = "PROJECTION_DIVERGES"
    sentence = "The balances are not what the log says; no baseline is written."


class SnapshotWithheld(Conflict):
    """The emission policy keeps ProjectionSnapshot events out of the journal."""

    code = "PROJECTION_SNAPSHOT_WITHHELD"
    sentence = "The emission policy of ProjectionSnapshot keeps it out of the journal."
