"""Settings of features that are not built yet: judged at the start like every other, without effect so far.

An operator who sets one wrongly learns of it now and not on the day on which it begins to count.
"""

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from .jurisdiction import profile_file
from .values import fraction, plan, share


class UnbuiltSettings(BaseSettings):
    """The settings that the operator contract names before their features exist."""

    model_config = SettingsConfigDict(extra="ignore", enable_decoding=False, validate_by_name=True)

    governance_weight_mode: Literal["off", "lock"] = "lock"
    teg_cross_frame_backend: Literal["sync", "async"] = "sync"
    fx_rate_mode: Literal["fixed", "pool"] = "pool"
    zkp_dispute_slash_reduction: Annotated[str, AfterValidator(share)] = "0"

    federation_licences: Literal["auto", "required", "off"] = "auto"
    licensing_mode: Literal["off", "manual", "automatic"] = "off"
    operator_plan: Annotated[str, AfterValidator(plan)] | None = None
    licence_list_max_age: int = Field(default=7, ge=2, le=365)
    jurisdiction_profile: Annotated[Path, BeforeValidator(profile_file)] | None = None

    peer_trust_mode: Literal["off", "observe", "enforce"] = "observe"
    peer_trust_min_interactions: int = Field(default=20, ge=1, le=1_000_000)
    peer_trust_warn_below: Annotated[str, AfterValidator(fraction)] = "0.8"
    peer_trust_restrict_below: Annotated[str, AfterValidator(fraction)] = "0.6"
    peer_trust_suspend_below: Annotated[str, AfterValidator(fraction)] = "0.4"
    peer_trust_recover_margin: Annotated[str, AfterValidator(fraction)] = "0.05"

    @model_validator(mode="after")
    def _thresholds_of_peer_trust_are_ordered(self) -> Self:
        falling = [self.peer_trust_warn_below, self.peer_trust_restrict_below, self.peer_trust_suspend_below]
        if falling != sorted(falling, key=Decimal, reverse=True):
            raise ValueError(
                "PEER_TRUST_WARN_BELOW={!r}, PEER_TRUST_RESTRICT_BELOW={!r}, PEER_TRUST_SUSPEND_BELOW={!r} are refused;"
                " allowed are numbers of which none is greater than the one before it".format(*falling)
            )
        # A score never reaches 1: a peer that had to reach it would stay restricted.
        bound = (self.peer_trust_restrict_below, self.peer_trust_recover_margin)
        if sum(map(Decimal, bound)) >= 1:
            raise ValueError(
                "PEER_TRUST_RESTRICT_BELOW={!r}, PEER_TRUST_RECOVER_MARGIN={!r} are refused;"
                " allowed is a sum of less than 1".format(*bound)
            )
        return self
