"""The settings of a registry: environment variables, each with a working default, and a file of them.

A bad value stops the start with one line that names the variable, the value and what is allowed. `values` holds what is
allowed, `model` the settings, `federation` those on other registries, `unbuilt` those whose feature is not built yet,
`jurisdiction` the file that one of them names,
`file` reads the settings file, `spelling` finds names that are close to one.
"""

from .file import VARIABLE, load_settings_file, read_settings_file
from .jurisdiction import JurisdictionProfile, RegulatedAction, read_profile
from .model import (
    ARE_A_SECRET,
    CAUTIOUS_MODE,
    HOLD_A_PASSWORD,
    BadSetting,
    Settings,
    read_settings,
    without_secrets,
)
from .spelling import misspelt_settings, require_spelling
from .values import SECRET, SECRET_SHORT_BELOW, is_operator_name

__all__ = [
    "ARE_A_SECRET",
    "CAUTIOUS_MODE",
    "HOLD_A_PASSWORD",
    "SECRET",
    "SECRET_SHORT_BELOW",
    "VARIABLE",
    "BadSetting",
    "JurisdictionProfile",
    "RegulatedAction",
    "Settings",
    "is_operator_name",
    "load_settings_file",
    "misspelt_settings",
    "read_profile",
    "read_settings",
    "read_settings_file",
    "require_spelling",
    "without_secrets",
]
