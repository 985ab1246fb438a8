"""Secrets among the settings: which variables hold one, how their values are shown, and whether a settings file exposes them."""

import re
from collections.abc import Mapping
from pathlib import Path
from stat import S_IROTH
from urllib.parse import urlsplit, urlunsplit

from .file import examine_settings_file
from .model import ARE_A_SECRET, HOLD_A_PASSWORD
from .spelling import KEY_NAMES

HIDDEN = "[hidden]"
PASSPHRASES = frozenset({"HANSA_KEYS_PASSPHRASE", "HANSA_ADMIN_PASSWORD"})
_PASSWORD_IN_QUERY = re.compile(r"((?:^|&)(?:ssl)?password=)[^&]*", re.IGNORECASE)


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
