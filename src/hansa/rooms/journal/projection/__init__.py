"""Projections: balances folded from the log, and the baselines that they begin from."""

from .errors import SnapshotsDisabled
from .routes import router
from .snapshot import Baseline, write_baseline

__all__ = ["Baseline", "SnapshotsDisabled", "router", "write_baseline"]
