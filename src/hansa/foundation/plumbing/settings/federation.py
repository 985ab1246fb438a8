"""Settings of the trust in other registries, licences at crossing and the scores of peers, and of the jurisdiction.

The jurisdiction profile is a JSON file in which the operator declares which features its law denies and which acts it regulates.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.timestamps import ISO_ONLY

from .governed import fault_of_peer_trust
from .values import Decimals, fraction, plan, reserve_floor

PROFILE_MAX_BYTES = 65_536
Name = Annotated[str, Field(min_length=1, max_length=128)]
RegulatedAction = Literal["exchange.listing", "exchange.ipo", "fiat.lane", "registry.operation"]


def profile_file(value: object) -> object:
    """Return the path unchanged, after the file was read and found valid.

    Raises: ValueError with the allowed values and the first error.
    """
    if isinstance(value, str):
        try:
            read_profile(Path(value))
        except OSError as error:
            raise ValueError(_allowed(error.strerror or str(error))) from None
        except ValidationError as failure:
            first = failure.errors()[0]
            reason = first["msg"].removeprefix("Value error, ")
            raise ValueError(_allowed(": ".join([*map(str, first["loc"]), reason]))) from None
    return value


class FederationSettings(BaseSettings):
    """Part of the settings."""

    model_config = SettingsConfigDict(extra="ignore", enable_decoding=False, validate_by_name=True)

    federation_licences: Literal["auto", "required", "off"] = "auto"
    licensing_mode: Literal["off", "manual", "automatic"] = "off"
    operator_plan: Annotated[str, AfterValidator(plan)] | None = None
    licence_list_max_age: int = Field(default=7, ge=2, le=365)

    crossing_retention_days: int = Field(default=400, ge=1, le=3650)

    jurisdiction_profile: Annotated[Path, BeforeValidator(profile_file)] | None = None

    peer_trust_mode: Literal["off", "observe", "enforce"] = "observe"
    peer_trust_min_interactions: int = Field(default=10, ge=1, le=1_000_000)
    peer_trust_warn_below: Annotated[str, AfterValidator(fraction)] = "0.70"
    peer_trust_restrict_below: Annotated[str, AfterValidator(fraction)] = "0.50"
    peer_trust_suspend_below: Annotated[str, AfterValidator(fraction)] = "0.30"
    peer_trust_recover_margin: Annotated[str, AfterValidator(fraction)] = "0.05"

    fx_rate_mode: Literal["fixed", "pool"] = "pool"
    fx_size_cap: Decimals = "1000"
    fx_reserve_floor: Annotated[Decimals, AfterValidator(reserve_floor)] = "0.01"
    fx_slippage_max: Annotated[str, AfterValidator(fraction)] = "0.02"
    fx_breaker: Annotated[str, AfterValidator(fraction)] = "0.2"

    @model_validator(mode="after")
    def _thresholds_of_peer_trust_are_ordered(self) -> Self:
        names = ("warn_below", "restrict_below", "suspend_below", "recover_margin")
        thresholds = {f"peer_trust_{name}": getattr(self, f"peer_trust_{name}") for name in names}
        if fault := fault_of_peer_trust(thresholds):
            raise ValueError(fault)
        return self


class JurisdictionProfile(LazyModel):
    """Content of the file; all members are required."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name
    version: Name
    declared_at: Annotated[AwareDatetime, ISO_ONLY, Field(strict=False)]
    denied_features: list[Name] = Field(max_length=100)
    regulated_actions: list[RegulatedAction]


def read_profile(path: Path) -> JurisdictionProfile:
    """The profile in the file. Raises: OSError, ValidationError."""
    return JurisdictionProfile.model_validate_json(_content(path))


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(PROFILE_MAX_BYTES + 1)
    if len(content) > PROFILE_MAX_BYTES:
        raise OSError(f"more than {PROFILE_MAX_BYTES} bytes")
    return content


def _allowed(error: str) -> str:
    members = ", ".join(JurisdictionProfile.model_fields)
    return f"a JSON file with {members} ({error})"
