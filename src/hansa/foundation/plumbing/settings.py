"""The settings of a registry: environment variables, each with a working default.

A bad value stops the start with one line that names the variable, the value and what is allowed.
"""

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from hansa.foundation.words.did import RESERVED_NAMESPACES
from hansa.foundation.words.money import (
    AMOUNT_MAX_UNITS,
    DECIMALS,
    SUPPLY_MAX_UNITS,
    NotAnAmount,
    parse_amount,
)
from hansa.foundation.words.roles import PERMISSIONS_OF_ROLE

CAUTIOUS_MODE = Literal["off", "shadow", "enforce"]
HOLD_A_PASSWORD = frozenset({"DATABASE_URL", "SMTP_URL"})
ARE_A_SECRET = frozenset({"INTERNAL_API_KEY"})

SECRET = re.compile(r"[!-~]{16,256}", re.ASCII)
SECRET_SHORT_BELOW = 32
"""A shorter secret is accepted with a warning: it is within reach of an offline search."""

_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]", re.ASCII)
_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9.-]{1,251})[a-z0-9]", re.ASCII)


class BadSetting(Exception):
    """A setting that stops the start; the message is one line."""


def _domain(value: str) -> str:
    if not _DOMAIN.fullmatch(value) or value in RESERVED_NAMESPACES:
        raise ValueError("3 to 253 lower-case letters, digits, dots and hyphens, not a reserved word")
    return value


def _base_url(value: str) -> str:
    parts = _parts(value)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
        raise ValueError("an http or https address without query")
    return value.rstrip("/")


def _federation_url(value: str) -> str:
    parts = _parts(value)
    if (
        parts.scheme != "https"
        or not _HOST.fullmatch(_bracketed(parts.hostname or ""))
        or parts.path.strip("/")
    ):
        raise ValueError("https://host:port, the host in ASCII")
    return value.rstrip("/")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _database_url(value: str) -> str:
    if _parts(value).scheme not in {"postgresql", "postgres"}:
        raise ValueError("postgresql://user:password@host:port/name")
    return value


def _smtp_url(value: str) -> str:
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


def _decimal(value: str) -> str:
    try:
        parse_amount(value)
    except NotAnAmount:
        raise ValueError(
            f"a plain decimal with at most {DECIMALS} fraction digits, at most {AMOUNT_MAX_UNITS}"
        ) from None
    return value


def _supply(value: str) -> str:
    if not re.fullmatch(r"[0-9]{1,11}", value, re.ASCII) or int(value) > SUPPLY_MAX_UNITS:
        raise ValueError(f"a whole number of units, at most {SUPPLY_MAX_UNITS}")
    return value


def _words(value: object) -> object:
    return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value


def _addresses(values: list[str]) -> list[str]:
    for value in values:
        try:
            ip_address(value)
        except ValueError:
            raise ValueError("IPv4 or IPv6 addresses, separated by commas") from None
    return values


def _places(values: list[str]) -> list[str]:
    for value in values:
        host, _, port = value.rpartition(":")
        if not _HOST.fullmatch(host) or not re.fullmatch(r"[0-9]{1,5}", port, re.ASCII):
            raise ValueError("host:port pairs, separated by commas; brackets around a host with colons")
    return [value.lower() for value in values]


def _roles(values: list[str]) -> list[str]:
    if not PERMISSIONS_OF_ROLE.keys() >= set(values):
        raise ValueError(f"some of {', '.join(PERMISSIONS_OF_ROLE)}, separated by commas")
    return values


def _directory(value: object) -> object:
    if value == "":
        raise ValueError("a directory")
    return value


def _per_minute(value: object) -> object:
    if isinstance(value, str) and value != "off" and not re.fullmatch(r"[0-9]{1,9}", value, re.ASCII):
        raise ValueError("a whole number of requests a minute, or off")
    return 0 if value == "off" else value


def _secret(value: str) -> str:
    if not SECRET.fullmatch(value):
        raise ValueError("16 to 256 visible ASCII characters, better 32 or more")
    return value


Domain = Annotated[str, AfterValidator(_domain)]
Url = Annotated[str, AfterValidator(_base_url)]
FederationUrl = Annotated[str, AfterValidator(_federation_url)]
Decimals = Annotated[str, AfterValidator(_decimal)]
PerMinute = Annotated[int, BeforeValidator(_per_minute), Field(ge=0)]
Words = Annotated[list[str], BeforeValidator(_words)]


class Settings(BaseSettings):
    """Everything an operator can set. Variable names are the upper-case member names."""

    model_config = SettingsConfigDict(extra="ignore", enable_decoding=False, validate_by_name=True)

    # Shells and build environments set HOST to names of their own.
    host: str = Field(default="127.0.0.1", min_length=1, validation_alias="HANSA_HOST")
    port: int = Field(default=8000, ge=0, le=65535)
    data_dir: Annotated[Path, BeforeValidator(_directory)] = Field(
        default_factory=lambda: Path.home() / ".local/share/hansa", validation_alias="HANSA_DATA_DIR"
    )
    database_url: Annotated[str, AfterValidator(_database_url)] | None = None
    database_pool_size: int = Field(default=16, ge=2, le=1000)

    public_base_url: Url | None = None
    registry_name: str = Field(default="hansa", min_length=1, max_length=128)
    trust_domain: Domain = "hansa.local"
    did_method: str = Field(default="hansa", pattern=r"^[a-z0-9]+$")
    did_namespace: str | None = None
    extension_base: Url = "https://hansa.dev"
    settlement_currency: str = Field(default="AVT", pattern=r"^[A-Z]{2,8}$")

    genesis_supply: Annotated[str, AfterValidator(_supply)] = "1000000"
    genesis_grant_enabled: bool = True
    genesis_grant_amount: Decimals = "100"
    teg_mint_max_avt: Decimals = "1000000"

    email_verification_required: bool = False
    beta_invite_required: bool = False
    tos_consent_required: bool = True
    tos_version: str = "1.0"
    documents_version: str = "1.0"
    smtp_url: Annotated[str, AfterValidator(_smtp_url)] | None = None
    mail_from: str = "registry@localhost"

    access_token_expire_minutes: int = Field(default=90, ge=1, le=24 * 60)
    require_admin_2fa: bool = False
    account_deletion_cooling_off_days: int = Field(default=14, ge=0, le=365)
    api_key_default_ttl_days: int = Field(default=365, ge=0, le=3650)
    bootstrap_token_lifetime: int = Field(default=300, ge=1, le=24 * 3600)
    agent_rbac_mode: CAUTIOUS_MODE = "enforce"
    agent_delegation_mode: CAUTIOUS_MODE = "enforce"
    agent_identity_issuer: Literal["embedded", "none"] = "embedded"
    agent_rbac_default_roles: Annotated[Words, AfterValidator(_roles)] = ["trader", "client"]
    jws_verify_enabled: bool = False
    jws_enforce: bool = False
    jws_require_signature: bool = False
    staking_enabled: bool = True
    staking_rewards_enabled: bool = False
    staking_min_stake_amount: Decimals = "10"

    card_pull_interval_seconds: int = Field(default=300, ge=0, le=604_800)
    card_liveness_interval_seconds: int = Field(default=900, ge=0, le=604_800)

    connections_per_address: int = Field(default=1000, ge=1, le=1_000_000)
    trusted_proxies: Annotated[Words, AfterValidator(_addresses)] = []
    federation_port: int | None = Field(default=None, ge=1, le=65535)
    federation_base_url: FederationUrl | None = None
    outgoing_allow_hosts: Annotated[Words, AfterValidator(_places)] = []
    rate_limit_reads: PerMinute = 6000
    rate_limit_writes: PerMinute = 0
    recent_events_ring: int = Field(default=400, ge=1, le=100_000)
    eventstore_ws_auth_required: bool = False
    event_emitter_fail_closed: bool = False
    enable_projection_snapshots: bool = False
    reactor_framework_enabled: bool = True
    internal_api_key: Annotated[str, AfterValidator(_secret)] | None = None

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["console", "json"] = "console"

    @model_validator(mode="after")
    def _namespace_is_the_trust_domain(self) -> "Settings":
        if self.did_namespace not in {None, "", self.trust_domain}:
            raise ValueError(
                f"DID_NAMESPACE={self.did_namespace!r} is refused: it is empty or equal to TRUST_DOMAIN ({self.trust_domain})"
            )
        return self

    @model_validator(mode="after")
    def _federation_has_an_identity(self) -> "Settings":
        if self.federation_port is not None and self.agent_identity_issuer == "none":
            raise ValueError(
                f"FEDERATION_PORT={self.federation_port!r} is refused: its listener needs an identity,"
                " and AGENT_IDENTITY_ISSUER is none"
            )
        return self

    @property
    def issuer(self) -> str:
        """The issuer part of new DIDs; empty where the registry mints without one."""
        return self.trust_domain if self.did_namespace is None else self.did_namespace

    @property
    def base_url(self) -> str:
        """What the registry calls itself, without a trailing slash."""
        return self.public_base_url or f"http://{self.host}:{self.port}"

    @property
    def federation_url(self) -> str:
        """What other registries and services dial over mutual TLS, without a trailing slash."""
        return self.federation_base_url or f"https://{_bracketed(self.host)}:{self.federation_port}"


def read_settings(**overrides: object) -> Settings:
    """The settings of the environment; `overrides` (from the command line) win.

    Raises: BadSetting, one line.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]
    except ValidationError as trouble:
        raise BadSetting(_one_line(trouble.errors()[0])) from None


def _one_line(error: ErrorDetails) -> str:
    if not error["loc"]:
        return error["msg"].removeprefix("Value error, ")
    variable = str(error["loc"][0]).upper()
    return f"{variable}={_shown(variable, error['input'])} is refused; allowed is {_allowed(error)}"


def _shown(variable: str, value: object) -> str:
    """The value, without what may be a password; of a malformed address nobody knows where that stands."""
    if variable in ARE_A_SECRET:
        return "[hidden]"
    if variable not in HOLD_A_PASSWORD or not isinstance(value, str) or not set(value) & set("@?="):
        return repr(value)
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", value)
    return repr(f"{scheme[0] if scheme else ''}[hidden]")


def _allowed(error: ErrorDetails) -> str:
    if error["type"].startswith("bool"):
        return "true or false"
    if error["type"].startswith("int"):
        return "a whole number"
    return re.sub(r"^(Value error, |Input should be |String should )", "", error["msg"])
