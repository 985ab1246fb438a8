"""The settings of a registry: environment variables, or lines of a settings file, each with a working default.

A bad value stops the start with one line that names the variable, the value and what is allowed. `values` holds what is
allowed, `model` the settings, `federation` those on other registries, `unbuilt` those whose feature is not built yet,
`jurisdiction` the file that one of them names,
`spelling` finds names that are close to one, `file` reads a settings file.
"""

from .file import CONFIG_VARIABLE, applied_settings_file, apply_settings_file, read_settings_file
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
    "CONFIG_VARIABLE",
    "HOLD_A_PASSWORD",
    "SECRET",
    "SECRET_SHORT_BELOW",
    "BadSetting",
    "JurisdictionProfile",
    "RegulatedAction",
    "Settings",
    "applied_settings_file",
    "apply_settings_file",
    "is_operator_name",
    "misspelt_settings",
    "read_profile",
    "read_settings",
    "read_settings_file",
    "require_spelling",
    "without_secrets",
]
