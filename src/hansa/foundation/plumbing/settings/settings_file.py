"""Settings file: lines `NAME=value`, in the form that systemd reads as an EnvironmentFile; and secrets among the settings.

- Empty lines and lines that begin with `#` or `;` are comments. A name stands once.
- A value reaches to the end of its line; spaces around it do not belong to it. It may stand in single or double quotes.
- A backslash and a line that continues are refused: other readers of such files disagree about them.
- Variables that hold a secret are shown without it, and a file of others that exposes one is reported.

Names in the environment or in a file that are close to the name of a setting, and so probably meant to be it, are reported.
"""

import os
import re
from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path
from stat import S_IROTH
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from .model import ARE_A_SECRET, HOLD_A_PASSWORD, BadSetting, Settings

HIDDEN = "[hidden]"
PASSPHRASES = frozenset({"HANSA_KEYS_PASSPHRASE", "HANSA_ADMIN_PASSWORD"})
_PASSWORD_IN_QUERY = re.compile(r"((?:^|&)(?:ssl)?password=)[^&]*", re.IGNORECASE)
CONFIG_VARIABLE = "HANSA_CONFIG"
FILE_MAX_BYTES = 1 << 16
_LINE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.ASCII)
_QUOTED = re.compile(r"(?P<quote>['\"])(?P<value>.*)(?P=quote)")

# Read where they are used, and no members of the settings.
OTHER_NAMES = (
    "HANSA_CONFIG",
    "HANSA_KEYS_PASSPHRASE",
    "HANSA_ADMIN_PASSWORD",
    "HANSA_NATS_URL",
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


def masked_value(name: str, value: str) -> str:
    """Return the value of a variable without its secrets."""
    if name in HOLD_A_PASSWORD:
        return _without_password(value)
    is_key = KEY_NAMES.fullmatch(name) is not None and not name.endswith("_FILE")
    return HIDDEN if is_key or name in ARE_A_SECRET or name in PASSPHRASES else value


def exposed_secrets(file: Path) -> list[str]:
    """Names of the variables in a settings file that hold a secret, where every account of the machine can read it."""
    try:
        is_readable = bool(file.stat().st_mode & S_IROTH)
    except OSError:
        return []
    return _secrets_in(examine_settings_file(file)[0]) if is_readable else []


def exposure(file: str | None) -> str | None:
    """Sentence on secrets in a settings file that every account can read; None where there are none."""
    names = exposed_secrets(Path(file)) if file else []
    return f"every account can read {file}, which holds {', '.join(names)}" if names else None


def _secrets_in(values: Mapping[str, str]) -> list[str]:
    return [name for name, value in values.items() if masked_value(name, value) != value]


def _without_password(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        return HIDDEN
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    netloc = f"{name}:{HIDDEN}@{host}" if colon else f"{user}{at}{host}"
    query = _PASSWORD_IN_QUERY.sub(rf"\1{HIDDEN}", parts.query)
    return urlunsplit(parts._replace(netloc=netloc, query=query))


class AppliedFile(NamedTuple):
    """A settings file that this process has read, and the variables that it set."""

    path: Path
    names: frozenset[str]


_applied: list[AppliedFile] = []


def apply_settings_file(path: Path, environment: MutableMapping[str, str] = os.environ) -> None:
    """Set the variables of the file that are not set. Raises: BadSetting.

    The variable that names the file is emptied: processes that this one starts get the values, not the file, which may
    have changed by then.
    """
    _apply(path, read_settings_file(path), environment)


def apply_sound_lines(path: Path) -> list[str]:
    """Set the variables of the file that are not set and return the faults of its other lines, one sentence each."""
    values, faults = examine_settings_file(path)
    _apply(path, values, os.environ)
    return faults


def applied_file() -> AppliedFile | None:
    """The settings file that this process has read."""
    return _applied[-1] if _applied else None


def applied_settings_file() -> str | None:
    """The path of the settings file that this process has read."""
    applied = applied_file()
    return None if applied is None else str(applied.path)


def read_settings_file(path: Path) -> dict[str, str]:
    """Values of a settings file by their names. Raises: BadSetting, which names the file and the line."""
    values, faults = examine_settings_file(path)
    if faults:
        raise BadSetting(faults[0])
    return values


def examine_settings_file(path: Path) -> tuple[dict[str, str], list[str]]:
    """Values of a settings file by their names, and a sentence for each fault, which names the file and the line."""
    found: dict[str, str] = {}
    try:
        text = _text_of(path)
    except BadSetting as fault:
        return found, [str(fault)]
    faults = []
    for number, line in enumerate(text.splitlines(), 1):
        declared = line.strip()
        if not declared or declared[0] in "#;":
            continue
        at = f"{path}, line {number}"
        try:
            name, value = _assignment(declared, at)
        except BadSetting as fault:
            faults.append(str(fault))
            continue
        if name in found:
            faults.append(f"{at}: {name} is set twice; state it once")
        found.setdefault(name, value)
    misspelt = misspelt_settings(found).items()
    faults += [f"{path}: {name} is no setting; is {meant} meant?" for name, meant in misspelt]
    return found, faults


def _apply(path: Path, values: Mapping[str, str], environment: MutableMapping[str, str]) -> None:
    names = frozenset(name for name in values if name not in environment)
    for name in names:
        environment[name] = values[name]
    environment[CONFIG_VARIABLE] = ""
    _applied.append(AppliedFile(path.absolute(), names))


def _assignment(line: str, at: str) -> tuple[str, str]:
    matched = _LINE.fullmatch(line)
    if matched is None:
        raise BadSetting(f"{at}: expected NAME=value or a comment that begins with #")
    name, value = matched["name"], matched["value"].strip()
    if name == CONFIG_VARIABLE:
        raise BadSetting(f"{at}: a settings file names no other settings file")
    if "\\" in value:
        raise BadSetting(f"{at}: the value of {name} has a backslash; write it without")
    quoted = _QUOTED.fullmatch(value)
    inside = value if quoted is None else quoted["value"]
    if value[:1] in {"'", '"'} and (quoted is None or quoted["quote"] in inside):
        raise BadSetting(f"{at}: the value of {name} has an open quote")
    return name, inside


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_MAX_BYTES + 1)
        if len(raw) > FILE_MAX_BYTES:
            raise BadSetting(f"{path} is no settings file: it has more than {FILE_MAX_BYTES} bytes")
        return raw.decode()
    except OSError as error:
        raise BadSetting(f"the settings file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadSetting(f"{path} is no settings file: it is no UTF-8 text") from None


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
