"""The settings in effect: name, value without secrets, and source; and every fault for which a start would be refused.

Read without a server, and without a change in the data directory.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from hansa.foundation.plumbing.keys.registry_identity import DatabaseOfAnother
from hansa.foundation.plumbing.process.data_directory import belonging, require_kind
from hansa.foundation.plumbing.settings import (
    CONFIG_VARIABLE,
    DECISIVE,
    KEY_NAMES,
    BadSetting,
    Settings,
    applied_file,
    apply_sound_lines,
    data_dir_at_home,
    exposure,
    judge_settings,
    masked_value,
    misspelt_settings,
)

Source = Literal["option", "environment", "file", "default", "governance"]


class EffectiveSetting(msgspec.Struct, frozen=True):
    """One setting; its value is JSON, with secrets hidden."""

    name: str
    value: Any
    source: Source


class Examination(msgspec.Struct, frozen=True):
    """The settings, none where there are faults; a fault and a warning are one sentence each."""

    settings_file: str | None
    settings: list[EffectiveSetting]
    faults: list[str]
    warnings: list[str]


def examine_settings(data_dir: Path | None) -> Examination:
    """Examine the settings of the environment and of the settings file, as a start with this option would read them."""
    faults = _apply_file(data_dir)
    settings, refused = judge_settings(data_dir=data_dir)
    file = applied_file()
    # Misspelt names of the file are among its faults.
    from_file = frozenset[str]() if file is None else file.names
    misspelt = misspelt_settings({name: value for name, value in os.environ.items() if name not in from_file})
    said = {
        name: f"{name} is not a setting; rename it to {meant}, or unset it"
        for name, meant in misspelt.items()
    }
    faults += [*refused, *(said[name] for name in said if misspelt[name] in DECISIVE)]
    warnings = [said[name] for name in said if misspelt[name] not in DECISIVE]
    if settings is not None:
        try:
            require_kind(settings)
        except DatabaseOfAnother as error:
            faults.append(error.detail)
    path = None if file is None else str(file.path)
    if exposed := exposure(path):
        warnings.append(f"{exposed}; chmod 0640 {path}")
    is_sound = settings is not None and not faults
    shown = [*_effective(settings, data_dir)] if is_sound and settings is not None else []
    shown.sort(key=lambda one: one.name)
    return Examination(path, shown, faults, warnings)


def _apply_file(data_dir: Path | None) -> list[str]:
    """Apply the settings file that a start would read; returns its faults."""
    named = os.environ.get(CONFIG_VARIABLE)
    if named is None:
        try:
            record = belonging(_stated_data_dir(data_dir))
        except (BadSetting, DatabaseOfAnother):
            return []
        named = None if record is None else record.settings_file
    return apply_sound_lines(Path(named).expanduser()) if named else []


def _stated_data_dir(option: Path | None) -> Path:
    place = option or os.environ.get("HANSA_DATA_DIR")
    return data_dir_at_home() if place is None else Path(place)


def _effective(settings: Settings, data_dir: Path | None) -> Iterator[EffectiveSetting]:
    file = applied_file()
    from_file = frozenset[str]() if file is None else frozenset(name.upper() for name in file.names)
    declared = {name.upper() for name in os.environ}

    def source_of(name: str) -> Source:
        if name == "HANSA_DATA_DIR" and data_dir is not None:
            return "option"
        if name in from_file:
            return "file"
        return "environment" if name in declared else "default"

    for member, value in settings.model_dump(mode="json").items():
        name = str(Settings.model_fields[member].validation_alias or member).upper()
        shown = masked_value(name, value) if isinstance(value, str) else value
        yield EffectiveSetting(name, shown, source_of(name))
    for name in filter(KEY_NAMES.fullmatch, os.environ):
        yield EffectiveSetting(name, masked_value(name, os.environ[name]), source_of(name))
