"""Why no baseline is written."""

from hansa.foundation.values.errors import Conflict, Forbidden


class SnapshotsDisabled(Forbidden):
    """Projection snapshots are disabled: ENABLE_PROJECTION_SNAPSHOTS is not true."""

    code = "PROJECTION_SNAPSHOTS_DISABLED"
    sentence = "Projection snapshots are disabled at this registry (ENABLE_PROJECTION_SNAPSHOTS)."


class ProjectionDiverges(Conflict):
    """The balances differ from the event log. No baseline is written, because it would hide the difference."""

    code = "PROJECTION_DIVERGES"
    sentence = "The balances differ from the event log; no baseline was written."


class SnapshotWithheld(Conflict):
    """The emission policy of ProjectionSnapshot does not record the event."""

    code = "PROJECTION_SNAPSHOT_WITHHELD"
    sentence = "The emission policy of ProjectionSnapshot does not record the event."
