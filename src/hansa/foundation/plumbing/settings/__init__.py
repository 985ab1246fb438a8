"""The settings of a registry: environment variables, each with a working default.

A bad value stops the start with one line that names the variable, the value and what is allowed. `values` holds what is
allowed, `model` the settings, `federation` those on other registries, `unbuilt` those whose feature is not built yet,
`jurisdiction` the file that one of them names,
`spelling` finds names that are close to one.
"""

from .jurisdiction import JurisdictionProfile, RegulatedAction, read_profile
from .model import (
    ARE_A_SECRET,
    CAUTIOUS_MODE,
    HOLD_A_PASSWORD,
    BadSetting,
    Settings,
    read_settings,
)
from .spelling import misspelt_settings, require_spelling
from .values import SECRET, SECRET_SHORT_BELOW, is_operator_name

__all__ = [
    "ARE_A_SECRET",
    "CAUTIOUS_MODE",
    "HOLD_A_PASSWORD",
    "SECRET",
    "SECRET_SHORT_BELOW",
    "BadSetting",
    "JurisdictionProfile",
    "RegulatedAction",
    "Settings",
    "is_operator_name",
    "misspelt_settings",
    "read_profile",
    "read_settings",
    "require_spelling",
]
