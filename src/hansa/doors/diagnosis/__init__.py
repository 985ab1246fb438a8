"""State of a registry for its operator, whether it runs or not: `hansa status` and `hansa doctor`.

Nothing here starts or changes anything.
"""

from hansa.doors.diagnosis.checks import Finding, Severity, check
from hansa.doors.diagnosis.facts import Facts, gather_facts

__all__ = ["Facts", "Finding", "Severity", "check", "gather_facts"]
