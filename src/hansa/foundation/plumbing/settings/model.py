"""Every setting and how it is read."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, ValidationError, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from .federation import FederationSettings
from .governed import GOVERNED, GovernedValues, canonical, fault_of_fees
from .values import (
    DatabaseUrl,
    Decimals,
    Domain,
    FederationUrl,
    Host,
    PerMinute,
    SmtpUrl,
    Url,
    Words,
    addresses_and_networks,
    base_rate,
    bracketed,
    contact,
    directory,
    domains,
    fraction,
    highest_rate,
    is_operator_name,
    log_keys,
    mail_sender,
    origins,
    places,
    priced_flares,
    proof_phases,
    redirect_schemes,
    roles,
    secret,
    secret_file,
    secret_in_file,
    sha256,
    share,
    supply,
    text_file,
    witnesses,
)

CAUTIOUS_MODE = Literal["off", "shadow", "enforce"]
HOLD_A_PASSWORD = frozenset({"DATABASE_URL", "SMTP_URL", "HANSA_NATS_URL"})
ARE_A_SECRET = frozenset({"INTERNAL_API_KEY", "METRICS_TOKEN"})


class BadSetting(Exception):
    """A setting that stops the start; the message is one line."""


def data_dir_at_home() -> Path:
    """The default data directory. Raises: BadSetting, where the account has no home."""
    try:
        return Path.home() / ".local/share/hansa"
    except RuntimeError:
        raise BadSetting(
            "HANSA_DATA_DIR is not set, and this account has no home directory; set HANSA_DATA_DIR or HOME, or give --data-dir"
        ) from None


class Settings(FederationSettings, BaseSettings):
    """Everything an operator can set. Variable names are the upper-case member names."""

    model_config = SettingsConfigDict(extra="ignore", enable_decoding=False, validate_by_name=True)

    # Shells and build environments set HOST to names of their own.
    host: Host = Field(default="127.0.0.1", validation_alias="HANSA_HOST")
    port: int = Field(default=8000, ge=0, le=65535)
    workers: int = Field(default=1, ge=1, le=64, validation_alias="HANSA_WORKERS")
    data_dir: Annotated[Path, BeforeValidator(directory)] = Field(
        default_factory=data_dir_at_home, validation_alias="HANSA_DATA_DIR"
    )
    database_url: DatabaseUrl | None = None
    database_pool_size: int = Field(default=16, ge=2, le=1000)
    backup_max_age_hours: int = Field(default=48, ge=0, le=8760)

    public_base_url: Url | None = None
    registry_name: str = Field(default="hansa", min_length=1, max_length=128)
    trust_domain: Domain = "hansa.local"
    did_method: str = Field(default="hansa", pattern=r"^[a-z0-9]+$")
    did_namespace: str | None = None
    extension_base: Url = "https://hansa.dev"
    settlement_currency: str = Field(default="AVT", pattern=r"^[A-Z]{2,8}$")

    registry_tier: Literal["standalone", "sandbox", "cloud-operator"] = "standalone"
    is_central_registry: bool = False
    sovereign_mainframes: Annotated[Words, AfterValidator(domains)] = []
    oauth_authorization_server_url: Url | None = None
    security_contact: Annotated[str, AfterValidator(contact)] | None = None
    security_policy_url: Url | None = None
    federation_root_hash: Annotated[str, AfterValidator(sha256)] | None = None
    operator_term_days: int | None = Field(default=None, ge=1, le=3650)
    operator_dids_max: int = Field(default=5_000_000, ge=1, le=10**12)
    frame_roster_max_age_hours: int = Field(default=24, ge=1, le=168)

    genesis_supply: Annotated[str, AfterValidator(supply)] = "1000000"
    genesis_grant_enabled: bool = True
    genesis_grant_amount: Decimals = "100"
    genesis_grants_per_address: int = Field(default=10, ge=1, le=1_000_000)
    genesis_grants_per_hour: int = Field(default=100, ge=1, le=1_000_000)
    teg_mint_max_avt: Decimals = "1000000"
    fee_base_rate_percent: Annotated[str, AfterValidator(base_rate)] = "0.5"
    fee_max_rate_percent: Annotated[str, AfterValidator(highest_rate)] = "5"

    email_verification_required: bool = False
    beta_invite_required: bool = False
    tos_consent_required: bool = True
    tos_version: str = "1.0"
    documents_version: str = "1.0"
    age_confirmation_required: bool = True
    terms_file: Annotated[Path, AfterValidator(text_file)] | None = None
    privacy_file: Annotated[Path, AfterValidator(text_file)] | None = None
    smtp_url: SmtpUrl | None = None
    mail_from: Annotated[str, AfterValidator(mail_sender)] = "registry@localhost"

    access_token_expire_minutes: int = Field(default=90, ge=1, le=24 * 60)
    oauth_redirect_schemes: Annotated[Words, AfterValidator(redirect_schemes)] = [
        "cursor",
        "vscode",
        "windsurf",
        "zed",
    ]
    require_admin_2fa: bool = False
    account_deletion_cooling_off_days: int = Field(default=14, ge=0, le=365)
    api_key_default_ttl_days: int = Field(default=365, ge=0, le=3650)
    agent_log_days: int = Field(default=7, ge=1, le=90)
    bootstrap_token_lifetime: int = Field(default=300, ge=1, le=24 * 3600)
    agent_rbac_mode: CAUTIOUS_MODE = "enforce"
    agent_delegation_mode: CAUTIOUS_MODE = "enforce"
    agent_identity_issuer: Literal["embedded", "spire", "none"] = "embedded"
    spiffe_endpoint_socket: str | None = None
    agent_rbac_default_roles: Annotated[Words, AfterValidator(roles)] = ["trader", "client"]
    jws_verify_enabled: bool = False
    jws_enforce: bool = False
    jws_require_signature: bool = False
    teg_cross_frame_backend: Literal["sync", "async"] = "sync"
    staking_enabled: bool = True
    staking_rewards_enabled: bool = False
    governance_weight_mode: Literal["off", "lock"] = "lock"
    governance_stake_age_hours: int = Field(default=24, ge=1, le=720)
    governance_proposal_min: Decimals = "100"
    governance_min_hours: int = Field(default=72, ge=1, le=720)
    governance_quorum_percent: int = Field(default=20, ge=1, le=100)
    governance_execution: Literal["advisory", "binding"] = "advisory"
    governance_delay_hours: int = Field(default=48, ge=1, le=720)
    exchange_enabled: bool = False
    exchange_fee_bps: int = Field(default=50, ge=0, le=200)
    zkp_phases: Annotated[Words, AfterValidator(proof_phases)] = []
    zkp_dispute_slash_reduction: Annotated[str, AfterValidator(share)] = "0"
    staking_min_stake_amount: Decimals = "10"
    mark_min_fee: Decimals = "0.01"
    flare_prices: Annotated[Words, AfterValidator(priced_flares)] = [
        "anchor=2",
        "compass=2",
        "laurel=5",
        "ring=10",
        "rope=20",
        "waves=20",
        "rays=10",
        "stars=10",
    ]
    peer_counted_fees_max: Decimals = "1"
    firm_quotes_per_caller: int = Field(default=5, ge=1, le=100)
    dispute_window_hours: int = Field(default=72, ge=1, le=24 * 90)
    bond_mode: Literal["off", "observe", "enforce"] = "observe"
    bond_minimum: Decimals = "100"
    bond_maturity_days: int = Field(default=14, ge=0, le=3650)
    dispute_evidence_hours: int = Field(default=72, ge=1, le=8760)
    dispute_ruling_days: int = Field(default=30, ge=1, le=3650)
    dispute_slash_max: Decimals = "1000"
    dispute_blocking_minimum: Decimals = "1"
    dispute_deposit_percent: Decimals = "1"
    dispute_deposit_minimum: Decimals = "0.1"

    card_pull_interval_seconds: int = Field(default=300, ge=0, le=604_800)
    card_liveness_interval_seconds: int = Field(default=900, ge=0, le=604_800)

    connections_per_address: int = Field(default=1000, ge=1, le=1_000_000)
    trusted_proxies: Annotated[Words, AfterValidator(addresses_and_networks)] = []
    federation_port: int | None = Field(default=None, ge=1, le=65535)
    federation_base_url: FederationUrl | None = None
    federation_sync_interval_seconds: int = Field(default=300, ge=1, le=604_800)
    enforcement_propagation_mode: Literal["off", "shadow", "enforce"] = "shadow"
    relay_cards: bool = False
    take_relayed_cards: bool = False
    outgoing_allow_hosts: Annotated[Words, AfterValidator(places)] = []
    outgoing_allow_user_hosts: Annotated[Words, AfterValidator(places)] = []
    log_witnesses: Annotated[Words, AfterValidator(witnesses)] = []
    witnessed_logs: Annotated[Words, AfterValidator(log_keys)] = []
    rate_limit_reads: PerMinute = 6000
    rate_limit_writes: PerMinute = 0
    retention_months: int | None = Field(default=None, ge=1, le=1200)
    recent_events_ring: int = Field(default=400, ge=1, le=100_000)
    eventstore_ws_auth_required: bool = False
    event_emitter_fail_closed: bool = False
    enable_projection_snapshots: bool = False
    reactor_framework_enabled: bool = True
    mcp_enabled: bool = True
    mcp_allowed_origins: Annotated[Words, AfterValidator(origins)] = []
    internal_api_key: Annotated[str, AfterValidator(secret)] | None = None
    metrics_token: Annotated[str, AfterValidator(secret)] | None = None
    metrics_token_file: Annotated[Path, AfterValidator(secret_file)] | None = None
    _observer_token: str | None = PrivateAttr(default=None)
    _governed: GovernedValues | None = PrivateAttr(default=None)

    otel_exporter_otlp_endpoint: Url | None = None
    otel_traces_sampler_arg: Annotated[str, AfterValidator(fraction)] = "0.01"
    otel_service_name: str | None = Field(default=None, min_length=1, max_length=255)

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["console", "json"] = "console"

    @model_validator(mode="after")
    def _fee_does_not_fall(self) -> "Settings":
        rates = {name: getattr(self, name) for name in ("fee_base_rate_percent", "fee_max_rate_percent")}
        if fault := fault_of_fees(rates):
            raise ValueError(fault)
        return self

    @model_validator(mode="after")
    def _namespace_is_the_trust_domain(self) -> "Settings":
        if self.did_namespace not in {None, "", self.trust_domain}:
            raise ValueError(
                f"DID_NAMESPACE={self.did_namespace!r} is refused: it is empty or equal to TRUST_DOMAIN ({self.trust_domain})"
            )
        return self

    @model_validator(mode="after")
    def _federation_has_an_identity(self) -> "Settings":
        if self.federation_port is not None and not self.has_identity:
            raise ValueError(
                f"FEDERATION_PORT={self.federation_port!r} is refused: its listener needs an identity,"
                " and AGENT_IDENTITY_ISSUER is none"
            )
        return self

    @model_validator(mode="after")
    def _workload_api_has_a_socket(self) -> "Settings":
        # The variable is one of the whole machine: other workloads may use it in another form.
        if self.uses_workload_api and self.workload_socket is None:
            raise ValueError(
                f"SPIFFE_ENDPOINT_SOCKET={self.spiffe_endpoint_socket!r} is refused; allowed with AGENT_IDENTITY_ISSUER=spire is"
                " the socket of the agent, such as unix:///run/spire/agent/public/api.sock"
            )
        return self

    @model_validator(mode="after")
    def _listeners_have_ports_of_their_own(self) -> "Settings":
        if self.federation_port is not None and self.federation_port == self.port:
            raise ValueError(
                f"FEDERATION_PORT={self.federation_port!r} is refused: PORT is the same; allowed is another port"
            )
        return self

    @model_validator(mode="after")
    def _token_of_observers_is_read(self) -> "Settings":
        self._observer_token = self.metrics_token
        if self.metrics_token is None and self.metrics_token_file is not None:
            self._observer_token = secret_in_file(self.metrics_token_file)
        return self

    @model_validator(mode="after")
    def _operator_has_a_frame(self) -> "Settings":
        if not self.is_operator:
            return self
        # The SPIFFE id and the ledger id have the name as it is.
        if not is_operator_name(self.registry_name) or self.registry_name != self.registry_name.strip("-."):
            raise ValueError(
                f"REGISTRY_NAME={self.registry_name!r} is refused; allowed of an operator registry are 1 to 120 letters,"
                " digits, dots, underscores or hyphens, a dot or hyphen not first or last"
            )
        if "genesis_supply" in self.model_fields_set and int(self.genesis_supply):
            raise ValueError(
                f"GENESIS_SUPPLY={self.genesis_supply!r} is refused; allowed of an operator registry is 0: its frame issues the units"
            )
        if self.is_central_registry:
            raise ValueError(
                "IS_CENTRAL_REGISTRY=True is refused; allowed of an operator registry is false: its frame is the mainframe"
            )
        if "agent_identity_issuer" in self.model_fields_set and self.agent_identity_issuer != "none":
            raise ValueError(
                f"AGENT_IDENTITY_ISSUER={self.agent_identity_issuer!r} is refused; allowed of an operator registry is none:"
                " its frame certifies it"
            )
        self.agent_identity_issuer = "none"
        if "genesis_grant_enabled" not in self.model_fields_set:
            # The treasury begins empty: grants would be owed for long.
            self.genesis_grant_enabled = False
        return self

    @property
    def is_operator(self) -> bool:
        """Return whether this is an operator registry, which shares trust domain and unit with its frame."""
        return self.registry_tier == "cloud-operator"

    @property
    def ledger_id(self) -> str:
        """The name of the ledger: the trust domain, and of an operator registry its path in it (Specification 6 W 2)."""
        return f"{self.trust_domain}/registry/{self.registry_name}" if self.is_operator else self.trust_domain

    @property
    def founding_supply(self) -> int:
        """The units that are issued at the first start: none at an operator registry."""
        return 0 if self.is_operator else int(self.genesis_supply)

    @property
    def issues_identities(self) -> bool:
        """Return whether this registry has a certificate authority of its own; an operator registry receives its certificates."""
        return self.agent_identity_issuer == "embedded"

    @property
    def uses_workload_api(self) -> bool:
        """Return whether a SPIRE agent certifies this registry and its agents."""
        return self.agent_identity_issuer == "spire"

    @property
    def zkp_phases_enabled(self) -> list[int]:
        """The phases of ZKP_PHASES, as the registry card states them: 1 submits and shows attestations, 2 reduces slashes by them."""
        return [int(phase) for phase in self.zkp_phases]

    @property
    def workload_socket(self) -> Path | None:
        """The absolute path of the Workload API's socket; None where SPIFFE_ENDPOINT_SOCKET names none."""
        scheme, _, path = (self.spiffe_endpoint_socket or "").partition(":")
        place = Path("/" + path.lstrip("/"))
        return place if scheme == "unix" and path.startswith("/") and place != Path("/") else None

    @property
    def has_identity(self) -> bool:
        """Return whether this registry has an identity for mutual TLS, from any issuer."""
        return self.issues_identities or self.uses_workload_api or self.is_operator

    @property
    def issuer(self) -> str:
        """The issuer part of new DIDs; empty where the registry mints without one."""
        return self.trust_domain if self.did_namespace is None else self.did_namespace

    @property
    def governed(self) -> GovernedValues:
        """Knowledge of this process of the settings that governance has changed; copies of the settings share it."""
        if self._governed is None:
            self._governed = self._values_stated()
        return self._governed

    def for_another_process(self) -> "Settings":
        """Return these settings with knowledge of their own of what governance has changed."""
        return self.model_copy().forgetting_governed()

    def forgetting_governed(self) -> "Settings":
        """Begin anew to learn what governance has changed; returns these settings."""
        self._governed = self._values_stated()
        return self

    def _values_stated(self) -> GovernedValues:
        return GovernedValues({name: canonical(name, getattr(self, name)) for name in GOVERNED})

    @property
    def observer_token(self) -> str | None:
        """Token that admits observers: METRICS_TOKEN, or the content of the file that METRICS_TOKEN_FILE names."""
        return self._observer_token

    @property
    def database_variable(self) -> str:
        """The variable that says where the database is; empty for the embedded one."""
        return "DATABASE_URL" if self.database_url else ""

    @property
    def base_url(self) -> str:
        """Address of the registry for its users, without a trailing slash."""
        return self.public_base_url or f"http://{self.host}:{self.port}"

    @property
    def federation_url(self) -> str:
        """Address that other registries and services dial over mutual TLS, without a trailing slash."""
        return self.federation_base_url or f"https://{bracketed(self.host)}:{self.federation_port}"

    @property
    def federation_address(self) -> str | None:
        """Address that peers dial: the registry's own listener, or that of a proxy (FEDERATION_BASE_URL); None: no peer can."""
        is_reachable = self.federation_port is not None or self.federation_base_url is not None
        return self.federation_url if is_reachable and self.has_identity else None


def without_secrets(settings: Settings) -> dict[str, object]:
    """The settings as JSON, except those that are a secret or may hold a password."""
    hidden = {name.lower() for name in (*HOLD_A_PASSWORD, *ARE_A_SECRET)}
    return settings.model_dump(mode="json", exclude=hidden)


def read_settings(**overrides: object) -> Settings:
    """The settings of the environment; `overrides` (from the command line) win.

    Raises: BadSetting, one line.
    """
    settings, faults = judge_settings(**overrides)
    if settings is None:
        raise BadSetting(faults[0])
    return settings


def judge_settings(**overrides: object) -> tuple[Settings | None, list[str]]:
    """The settings of the environment, or None and a sentence for each fault; `overrides` (from the command line) win."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given), []  # type: ignore[arg-type]
    except BadSetting as fault:
        return None, [str(fault)]
    except ValidationError as failure:
        return None, [_one_line(error) for error in failure.errors()]


def _one_line(error: ErrorDetails) -> str:
    if not error["loc"]:
        return error["msg"].removeprefix("Value error, ")
    # An option of the command line comes under the member's name.
    place = str(error["loc"][0])
    field = Settings.model_fields.get(place)
    variable = str(field.validation_alias if field and field.validation_alias else place).upper()
    return f"{variable}={_shown(variable, error['input'])} is refused; allowed is {_allowed(error)}"


def _shown(variable: str, value: object) -> str:
    """Return the value without a possible password; in a malformed address its place is unknown."""
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
