"""A period of the book carried out once more on a scratch database, by the engine itself, with other rates or other rules.

- The registry's own database is only read, in one snapshot.
- The recorded rules lead to the recorded balances exactly, or the replay is refused.
- Sums are kept: the differences of all accounts make the difference of what was issued and destroyed.
"""

from .comparing import AccountLine, lines_of, require_faithful
from .movements import Kinds, Movement
from .opening import Opening, read_opening
from .running import RefusedAct, ReplayUnfaithful, Rules, Run, carry_out
from .scratch import install_clock
from .store import movements

__all__ = [
    "AccountLine",
    "Kinds",
    "Movement",
    "Opening",
    "RefusedAct",
    "ReplayUnfaithful",
    "Rules",
    "Run",
    "carry_out",
    "install_clock",
    "lines_of",
    "movements",
    "read_opening",
    "require_faithful",
]
