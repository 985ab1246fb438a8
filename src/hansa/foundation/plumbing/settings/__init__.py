"""The settings of a registry: environment variables, or lines of a settings file, each with a working default.

A bad value stops the start with one line that names the variable, the value and the allowed values. `values` holds the allowed
values, `model` the settings, `federation` those on other registries and the jurisdiction profile that one of them names,
`governed` holds the bounds of those that governance may change,
`settings_file` reads a settings file, finds names that are close to that of a setting, and hides secrets.
"""

from .federation import JurisdictionProfile, RegulatedAction, read_profile
from .governed import (
    FEE_MAX_MOST,
    GOVERNED,
    Bounds,
    GovernedValues,
    Knowledge,
    Turn,
    Value,
    canonical,
    fault_over_time,
    is_within_bounds,
)
from .model import (
    ARE_A_SECRET,
    CAUTIOUS_MODE,
    HOLD_A_PASSWORD,
    BadSetting,
    Settings,
    data_dir_at_home,
    judge_settings,
    read_settings,
    without_secrets,
)
from .settings_file import (
    CONFIG_VARIABLE,
    DECISIVE,
    KEY_NAMES,
    applied_file,
    applied_settings_file,
    apply_settings_file,
    apply_sound_lines,
    exposure,
    masked_value,
    misspelt_settings,
    read_settings_file,
    require_spelling,
)
from .values import SECRET, SECRET_SHORT_BELOW, is_operator_name

__all__ = [
    "ARE_A_SECRET",
    "CAUTIOUS_MODE",
    "CONFIG_VARIABLE",
    "DECISIVE",
    "FEE_MAX_MOST",
    "GOVERNED",
    "HOLD_A_PASSWORD",
    "KEY_NAMES",
    "SECRET",
    "SECRET_SHORT_BELOW",
    "BadSetting",
    "Bounds",
    "GovernedValues",
    "JurisdictionProfile",
    "Knowledge",
    "RegulatedAction",
    "Settings",
    "Turn",
    "Value",
    "applied_file",
    "applied_settings_file",
    "apply_settings_file",
    "apply_sound_lines",
    "canonical",
    "data_dir_at_home",
    "exposure",
    "fault_over_time",
    "is_operator_name",
    "is_within_bounds",
    "judge_settings",
    "masked_value",
    "misspelt_settings",
    "read_profile",
    "read_settings",
    "read_settings_file",
    "require_spelling",
    "without_secrets",
]
