"""Names in the environment that are close to the name of a setting, and so probably meant to be it."""

import os
import re
from collections.abc import Iterable, Mapping

from .model import BadSetting, Settings

# Read where they are used, and no members of the settings.
OTHER_NAMES = (
    "HANSA_CONFIG",
    "HANSA_KEYS_PASSPHRASE",
    "HANSA_ADMIN_PASSWORD",
    "HANSA_TEST_TIER",
    "HANSA_TEST_SEED",
)
KEY_NAMES = re.compile(r"HANSA_KEY_[A-Z_]+", re.ASCII)
# Names of other programs that are close to ours.
FOREIGN_NAMES = frozenset({"HOST", "LOGLEVEL", "LOGNAME", "PORTS", "REPORT", "SPORT"})
DECISIVE = frozenset(
    {"DATABASE_URL", "HANSA_DATA_DIR", "REGISTRY_NAME", "TRUST_DOMAIN", "REGISTRY_TIER", "HANSA_CONFIG"}
)
"""Settings that decide on the registry that is served: without one of them, another one would be founded."""
SHORTEST = 6
LONG = 12


def setting_names() -> list[str]:
    """The variable of every setting."""
    return [str(field.validation_alias or name.upper()) for name, field in Settings.model_fields.items()]


def misspelt_settings(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The names in the environment that are no settings but close to one, each with the one that is probably meant."""
    known = [*setting_names(), *OTHER_NAMES]
    suspects = [name for name in environment if name not in known and not _is_foreign(name)]
    found = {name: _closest(name.upper(), known) for name in suspects}
    return {name: meant for name, meant in found.items() if meant is not None and meant not in environment}


def require_spelling(environment: Mapping[str, str] = os.environ) -> None:
    """Raises: BadSetting, when a setting that decides on the registry seems to be misspelt."""
    for name, meant in misspelt_settings(environment).items():
        if meant in DECISIVE:
            raise BadSetting(f"{name} is not a setting; rename it to {meant}, or unset it")


def _is_foreign(name: str) -> bool:
    return len(name) < SHORTEST or name in FOREIGN_NAMES or KEY_NAMES.fullmatch(name) is not None


def _closest(name: str, known: Iterable[str]) -> str | None:
    """The known name at most one edit away, two where it is long."""
    allowed = 2 if len(name) >= LONG else 1
    near = [(distance(name, one, allowed), one) for one in known if _may_be_near(name, one, allowed)]
    best = min(near, default=(allowed + 1, ""))
    return best[1] if best[0] <= allowed else None


def _may_be_near(left: str, right: str, bound: int) -> bool:
    # One edit changes the length by at most one, and the set of letters by at most two. This is a hundred times as fast
    # as the distance, which a start would otherwise compute for each variable and setting.
    return abs(len(left) - len(right)) <= bound and len(set(left) ^ set(right)) <= 2 * bound


def distance(left: str, right: str, bound: int) -> int:
    """How many letters must be changed, added, left out or swapped with their neighbour; more than `bound` when many."""
    rows = [list(range(len(right) + 1))]
    for i, a in enumerate(left, 1):
        row = [i]
        for j, b in enumerate(right, 1):
            cost = min(rows[-1][j] + 1, row[j - 1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        if min(row) > bound:
            return bound + 1
        rows.append(row)
    return rows[-1][-1]
