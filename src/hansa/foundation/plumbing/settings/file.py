"""The settings file: the environment of the server and of every command, in one file (`--config`, HANSA_CONFIG).

The format is that of systemd's EnvironmentFile, as far as it has one meaning: `NAME=value` in each line, comments in lines of
their own (`#` or `;`), a value plain or in single or double quotes. A variable of the environment wins over the file.
"""

import os
import re
from collections.abc import MutableMapping
from pathlib import Path

from .model import BadSetting
from .spelling import misspelt_settings

VARIABLE = "HANSA_CONFIG"
FILE_MAX_BYTES = 65_536

_LINE = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.ASCII)
_IN_SINGLE = re.compile(r"'([^']*)'")
_IN_DOUBLE = re.compile(r'"((?:[^"\\]|\\["\\$`])*)"')
_ESCAPED = re.compile(r"\\(.)")
_PLAIN = re.compile(r"[^\\'\"]*")


def load_settings_file(path: Path, environment: MutableMapping[str, str] = os.environ) -> None:
    """Add the settings of the file to the environment, which wins. Raises: BadSetting, one line."""
    found = read_settings_file(path)
    for name, meant in misspelt_settings(found).items():
        raise BadSetting(f"{path}: {name} is not a setting; rename it to {meant}")
    for name, value in found.items():
        environment.setdefault(name, value)
    environment[VARIABLE] = str(path.absolute())


def read_settings_file(path: Path) -> dict[str, str]:
    """The variables of the file. Raises: BadSetting, which names the line and never a value."""
    try:
        with path.open("rb") as file:
            content = file.read(FILE_MAX_BYTES + 1)
        lines = content.decode().splitlines()
    except OSError as trouble:
        raise BadSetting(f"the settings file {path} cannot be read: {trouble.strerror}") from None
    except UnicodeDecodeError:
        raise BadSetting(f"the settings file {path} is not text in UTF-8") from None
    if len(content) > FILE_MAX_BYTES:
        raise BadSetting(f"the settings file {path} has more than {FILE_MAX_BYTES} bytes")
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and line.lstrip()[0] not in "#;":
            name, value = _read_line(line, f"{path} line {number}")
            if name in found:
                raise BadSetting(f"{path} line {number}: {name} is set a second time")
            found[name] = value
    return found


def _read_line(line: str, place: str) -> tuple[str, str]:
    parts = _LINE.fullmatch(line)
    if parts is None:
        raise BadSetting(f"{place}: expected NAME=value")
    name, value = parts[1], parts[2].strip()
    if (quoted := _IN_SINGLE.fullmatch(value)) is not None:
        return name, quoted[1]
    if (quoted := _IN_DOUBLE.fullmatch(value)) is not None:
        return name, _ESCAPED.sub(r"\1", quoted[1])
    if _PLAIN.fullmatch(value) is None:
        raise BadSetting(
            f"{place}: put the value of {name} into single quotes: it has a quote or a backslash"
        )
    return name, value
