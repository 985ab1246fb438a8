"""Values that settings may have; each function returns the value, or raises ValueError with the allowed values."""

import re
from decimal import Decimal
from email.headerregistry import AddressHeader
from email.message import EmailMessage
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated
from urllib.parse import SplitResult, parse_qs, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from hansa.foundation.values.did import RESERVED_NAMESPACES
from hansa.foundation.values.flares import SLOT_OF
from hansa.foundation.values.money import (
    AMOUNT_MAX_UNITS,
    DECIMALS,
    SUPPLY_MAX_UNITS,
    NotAnAmount,
    parse_amount,
)
from hansa.foundation.values.roles import PERMISSIONS_OF_ROLE
from hansa_verify import LOG_KEY, ML_DSA_WITNESS_KEY, WITNESS_KEY, NotAKey, read_verifier_key
from hansa_verify.licence import kind_of_plan

from .governed import FEE_BASE_MOST, FEE_MAX_MOST, FRACTION_DIGITS_MAX

TEXT_MAX_BYTES = 262_144
SECRET = re.compile(r"[!-~]{16,256}", re.ASCII)
SECRET_FILE_MAX_BYTES = 1024
SECRET_SHORT_BELOW = 32
"""A shorter secret is accepted with a warning: it is within reach of an offline search."""

PORT_MAX = 65535
SHARE_MAX = 0.5
RESERVE_FLOOR_MIN = 10**6
"""Minor units that stay in each reserve of a pool: with less, roundings would be a visible part of a price."""

_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]", re.ASCII)
_DATABASE_HOST = re.compile(r"(?:\[[^\[\]]*\]|[^\[\]:]*)(?::([0-9]{1,5}))?", re.ASCII)
_WRITING = frozenset({"any", "primary", "read-write"})
_LISTENING = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}(%[A-Za-z0-9._-]+)?", re.ASCII)
_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9.-]{1,251})[a-z0-9]", re.ASCII)
_MAILBOX = re.compile(r"[!-?A-~]{1,64}@[A-Za-z0-9.-]{1,253}", re.ASCII)
_FRACTION = re.compile(r"0(\.[0-9]{1,8})?|1(\.0{1,8})?", re.ASCII)
_PERCENT = re.compile(rf"[0-9]{{1,2}}(\.[0-9]{{1,{FRACTION_DIGITS_MAX}}})?", re.ASCII)
_SHA256 = re.compile(r"(sha256:)?[0-9a-f]{64}", re.ASCII)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{1,31}", re.ASCII)
_PLAN = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)


def host(value: str) -> str:
    if not _LISTENING.fullmatch(value):
        raise ValueError("an IPv4 or IPv6 address or a host name of this machine")
    return value


def mail_sender(value: str) -> str:
    message = EmailMessage()
    try:
        message["From"] = value
        header = message["From"]
    except ValueError:
        header = None
    addresses = header.addresses if isinstance(header, AddressHeader) else ()
    if len(addresses) != 1 or header.defects or not _MAILBOX.fullmatch(addresses[0].addr_spec):
        raise ValueError(
            "one e-mail address, such as registry@example.org or Registry <registry@example.org>"
        )
    return value


def contact(value: str) -> str:
    if value.startswith("mailto:") and _MAILBOX.fullmatch(value.removeprefix("mailto:")):
        return value
    if _parts(value).scheme != "https" or not _parts(value).netloc:
        raise ValueError("an https address, or mailto: with an e-mail address")
    return value


def sha256(value: str) -> str:
    if not _SHA256.fullmatch(value):
        raise ValueError("a SHA-256 in 64 hexadecimal digits")
    return value


def plan(value: str) -> str:
    if not _PLAN.fullmatch(value):
        raise ValueError("1 to 40 lower-case letters, digits and hyphens")
    if kind_of_plan(value) != "operator":
        raise ValueError("the name of a plan of this frame, other than genesis and the plans of frames")
    return value


def domains(values: list[str]) -> list[str]:
    return [domain(value) for value in values]


def share(value: str) -> str:
    if not _FRACTION.fullmatch(value) or float(value) > SHARE_MAX:
        raise ValueError(f"a plain decimal from 0 to {SHARE_MAX}")
    return value


def proof_phases(values: list[str]) -> list[str]:
    if not {"1", "2"} >= set(values):
        raise ValueError("none, some or all of 1, 2, separated by commas")
    return sorted(set(values))


def redirect_schemes(values: list[str]) -> list[str]:
    taken = {"http", "https", "javascript", "data", "file", "blob", "about", "vbscript", "ws", "wss", "ftp"}
    for value in values:
        if not _SCHEME.fullmatch(value) or value in taken:
            raise ValueError("URI schemes of programs, in lower case, such as cursor and vscode")
    return values


def fraction(value: str) -> str:
    if not _FRACTION.fullmatch(value):
        raise ValueError("a plain decimal from 0 to 1")
    return value


def base_rate(value: str) -> str:
    return _percent(value, FEE_BASE_MOST)


def highest_rate(value: str) -> str:
    return _percent(value, FEE_MAX_MOST)


def _percent(value: str, most: str) -> str:
    if not _PERCENT.fullmatch(value) or Decimal(value) > Decimal(most):
        raise ValueError(
            f"a plain decimal from 0 to {most} with at most {FRACTION_DIGITS_MAX} fraction digits"
        )
    return value


def domain(value: str) -> str:
    if not _DOMAIN.fullmatch(value) or value in RESERVED_NAMESPACES:
        raise ValueError("3 to 253 lower-case letters, digits, dots and hyphens, not a reserved word")
    return value


def base_url(value: str) -> str:
    parts = _parts(value)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
        raise ValueError("an http or https address without query")
    return value.rstrip("/")


def federation_url(value: str) -> str:
    parts = _parts(value)
    if (
        parts.scheme != "https"
        or not _HOST.fullmatch(bracketed(parts.hostname or ""))
        or parts.path.strip("/")
    ):
        raise ValueError("https://host:port, the host in ASCII")
    return value.rstrip("/")


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def database_url(value: str) -> str:
    try:
        parts = urlsplit(value)
        attributes = parse_qs(parts.query).get("target_session_attrs", ["any"])
    except ValueError:
        parts, attributes = urlsplit(""), []
    hosts = parts.netloc.rpartition("@")[2].split(",")
    if parts.scheme not in {"postgresql", "postgres"} or not all(map(_is_database_host, hosts)):
        raise ValueError("postgresql://user:password@host:port/name, several as host:port,host:port")
    if not set(attributes) <= _WRITING:
        raise ValueError(
            f"an address with target_session_attrs {', '.join(sorted(_WRITING))}: the registry writes"
        )
    return value


def _is_database_host(value: str) -> bool:
    """Return whether it is a host, with a port or without; empty where a parameter names it."""
    found = _DATABASE_HOST.fullmatch(value)
    return found is not None and (found[1] is None or 0 < int(found[1]) <= PORT_MAX)


def smtp_url(value: str) -> str:
    parts = _parts(value)
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname:
        raise ValueError("smtp://user:password@host:port, or smtps")
    return value


def _parts(url: str) -> SplitResult:
    """The parts of an address; all of them empty when it is malformed."""
    try:
        parts = urlsplit(url)
        return parts if parts.port != 0 else urlsplit("")
    except ValueError:
        return urlsplit("")


def decimal(value: str) -> str:
    try:
        parse_amount(value)
    except NotAnAmount:
        raise ValueError(
            f"a plain decimal with at most {DECIMALS} fraction digits, at most {AMOUNT_MAX_UNITS}"
        ) from None
    return value


def reserve_floor(value: str) -> str:
    if parse_amount(value) < RESERVE_FLOOR_MIN:
        raise ValueError("a plain decimal, at least 0.01")
    return value


def supply(value: str) -> str:
    if not re.fullmatch(r"[0-9]{1,11}", value, re.ASCII) or int(value) > SUPPLY_MAX_UNITS:
        raise ValueError(f"a whole number of units, at most {SUPPLY_MAX_UNITS}")
    return value


def is_operator_name(name: str) -> bool:
    """Return whether the name can stand in the SPIFFE id of an operator."""
    return name not in {".", ".."} and re.fullmatch(r"[A-Za-z0-9._-]{1,120}", name, re.ASCII) is not None


def words(value: object) -> object:
    return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value


def addresses_and_networks(values: list[str]) -> list[str]:
    for value in values:
        try:
            is_everybody = ip_network(value).prefixlen == 0
        except ValueError:
            is_everybody = True
        if is_everybody:
            raise ValueError("IPv4 or IPv6 addresses, or networks such as 10.1.0.0/16, separated by commas")
    return values


def places(values: list[str]) -> list[str]:
    for value in values:
        host, _, port = value.rpartition(":")
        if not _HOST.fullmatch(host) or not re.fullmatch(r"[0-9]{1,5}", port, re.ASCII):
            raise ValueError("host:port pairs, separated by commas; brackets around a host with colons")
    return [value.lower() for value in values]


def origins(values: list[str]) -> list[str]:
    for value in values:
        parts = urlsplit(value)
        if (
            parts.scheme not in {"http", "https"}
            or not parts.hostname
            or f"{parts.scheme}://{parts.netloc}" != value
        ):
            raise ValueError("origins such as https://app.example.org, separated by commas, without a path")
    return values


def log_keys(values: list[str]) -> list[str]:
    try:
        for value in values:
            read_verifier_key(value, LOG_KEY)
    except NotAKey as error:
        raise ValueError(f"verifier keys of logs NAME+ID+KEY, separated by commas: {error}") from None
    return values


def witnesses(values: list[str]) -> list[str]:
    try:
        for value in values:
            key, _, address = value.partition("@")
            read_verifier_key(key, WITNESS_KEY, ML_DSA_WITNESS_KEY)
            base_url(address)
    except (NotAKey, ValueError) as error:
        raise ValueError(f"witnesses NAME+ID+KEY@ADDRESS, separated by commas: {error}") from None
    return values


def priced_flares(values: list[str]) -> list[str]:
    """The prices as they are written, if each names a variant once."""
    priced = [value.partition("=")[::2] for value in values]
    try:
        are_prices = all(parse_amount(price) > 0 for _, price in priced)
    except NotAnAmount:
        are_prices = False
    names = [name for name, _ in priced]
    if not are_prices or len(set(names)) < len(names) or not SLOT_OF.keys() >= set(names):
        raise ValueError(
            f"variant=price pairs, separated by commas; each variant once, of {', '.join(SLOT_OF)}"
        )
    return values


def roles(values: list[str]) -> list[str]:
    if not PERMISSIONS_OF_ROLE.keys() >= set(values):
        raise ValueError(f"some of {', '.join(PERMISSIONS_OF_ROLE)}, separated by commas")
    return values


def directory(value: object) -> object:
    """The directory, with `~` replaced by the home directory that it means."""
    if value == "":
        raise ValueError("a directory")
    try:
        return Path(value).expanduser() if isinstance(value, str | Path) else value
    except RuntimeError:
        raise ValueError("a directory; the home directory that ~ means is unknown") from None


def text_file(value: Path) -> Path:
    """The path as it is, after the file was read: UTF-8 text of at most 256 KiB."""
    try:
        with value.open("rb") as file:
            content = file.read(TEXT_MAX_BYTES + 1)
        content.decode()
    except OSError as error:
        raise ValueError(f"a text file that can be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ValueError("a text file in UTF-8") from None
    if len(content) > TEXT_MAX_BYTES:
        raise ValueError(f"a text file of at most {TEXT_MAX_BYTES} bytes")
    return value


def per_minute(value: object) -> object:
    if isinstance(value, str) and value != "off" and not re.fullmatch(r"[0-9]{1,9}", value, re.ASCII):
        raise ValueError("a whole number of requests a minute, or off")
    return 0 if value == "off" else value


def secret(value: str) -> str:
    if not SECRET.fullmatch(value):
        raise ValueError("16 to 256 visible ASCII characters, better 32 or more")
    return value


def secret_file(value: Path) -> Path:
    """Return the path unchanged, after the secret in the file was read."""
    secret_in_file(value)
    return value


def secret_in_file(value: Path) -> str:
    """Return the secret that the file holds; white space around it does not belong to it."""
    try:
        with value.open("rb") as file:
            content = file.read(SECRET_FILE_MAX_BYTES)
    except OSError as error:
        raise ValueError(f"a file that can be read ({error.strerror})") from None
    text = content.decode("ascii", "replace").strip()
    if not SECRET.fullmatch(text):
        raise ValueError("a file with 16 to 256 visible ASCII characters, better 32 or more")
    return text


# Named like their settings, the functions would be hidden by them in the class of the settings.
Host = Annotated[str, AfterValidator(host)]
DatabaseUrl = Annotated[str, AfterValidator(database_url)]
SmtpUrl = Annotated[str, AfterValidator(smtp_url)]
Domain = Annotated[str, AfterValidator(domain)]
Url = Annotated[str, AfterValidator(base_url)]
FederationUrl = Annotated[str, AfterValidator(federation_url)]
Decimals = Annotated[str, AfterValidator(decimal)]
PerMinute = Annotated[int, BeforeValidator(per_minute), Field(ge=0)]
Words = Annotated[list[str], BeforeValidator(words)]
