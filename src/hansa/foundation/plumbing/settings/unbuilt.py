"""Settings of features that are not built yet: judged at the start like every other, without effect so far.

An operator who sets one wrongly learns of it now and not on the day on which it begins to count.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from .values import Decimals, Url, Words, contact, domains, plan, sha256, share


class UnbuiltSettings(BaseSettings):
    """The settings that the operator contract names before their features exist."""

    model_config = SettingsConfigDict(extra="ignore", enable_decoding=False, validate_by_name=True)

    enforcement_propagation_mode: Literal["off", "shadow", "enforce"] = "shadow"
    governance_weight_mode: Literal["off", "lock"] = "lock"
    teg_cross_frame_backend: Literal["sync", "async"] = "sync"
    fx_rate_mode: Literal["fixed", "pool"] = "pool"
    zkp_dispute_slash_reduction: Annotated[str, AfterValidator(share)] = "0"

    is_central_registry: bool = False
    sovereign_mainframes: Annotated[Words, AfterValidator(domains)] = []
    federation_sync_interval_seconds: int = Field(default=300, ge=1, le=604_800)
    federation_licences: Literal["auto", "required", "off"] = "auto"
    federation_root_hash: Annotated[str, AfterValidator(sha256)] | None = None
    licensing_mode: Literal["off", "manual", "automatic"] = "off"
    operator_plan: Annotated[str, AfterValidator(plan)] | None = None
    operator_term_days: int | None = Field(default=None, ge=1, le=36_500)
    peer_trust_mode: Literal["off", "shadow", "enforce"] = "shadow"

    oauth_authorization_server_url: Url | None = None
    security_contact: Annotated[str, AfterValidator(contact)] | None = None
    security_policy_url: Url | None = None

    dispute_evidence_hours: int = Field(default=72, ge=1, le=8760)
    dispute_window_hours: int = Field(default=72, ge=1, le=8760)
    dispute_ruling_days: int = Field(default=30, ge=1, le=3650)
    dispute_slash_max: Decimals = "1000"
