"""Settings that governance changes while processes run, each at one stated moment (Specification 7 Z).

- `now()` of the transaction that uses a value decides which value is in force. `in_force` returns the settings for a transaction.
- A process holds the changes that it knows of, past and pending. A change is decided at least one lead before it takes effect, and
  knowledge is trusted for nearly one lead after it was read: a process that was paused or cut off asks the database instead.
- The room `governance` alone decides: `schedule`, `unschedule`, `reset`.
"""

from hansa.foundation.plumbing.settings import GOVERNED, Bounds, Value

from .deciding import require_acceptable, require_current, reset, schedule, unschedule
from .diff import Change, Diff, diff_json, diff_of, require_within_bounds, value_of
from .effect import EFFECTS, TAKES_EFFECT
from .errors import (
    ParameterCombinationRefused,
    ParameterNotGoverned,
    ParameterStale,
    ParameterUnderWay,
    ParameterUnknown,
    ParameterValueInvalid,
)
from .following import FOLLOW, FOLLOWER, notified
from .reading import InForce, Parameter, Scheduled, current, end_of_windows, in_force, in_force_at, turns
from .store import CHANNEL

NAMES = tuple(sorted(GOVERNED))

__all__ = [
    "CHANNEL",
    "EFFECTS",
    "FOLLOW",
    "FOLLOWER",
    "NAMES",
    "TAKES_EFFECT",
    "Bounds",
    "Change",
    "Diff",
    "InForce",
    "Parameter",
    "ParameterCombinationRefused",
    "ParameterNotGoverned",
    "ParameterStale",
    "ParameterUnderWay",
    "ParameterUnknown",
    "ParameterValueInvalid",
    "Scheduled",
    "Value",
    "current",
    "diff_json",
    "diff_of",
    "end_of_windows",
    "in_force",
    "in_force_at",
    "notified",
    "require_acceptable",
    "require_current",
    "require_within_bounds",
    "reset",
    "schedule",
    "turns",
    "unschedule",
    "value_of",
]
