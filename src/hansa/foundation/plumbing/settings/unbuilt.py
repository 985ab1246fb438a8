"""Settings of features that are not built yet: judged at the start like every other, without effect so far.

An operator who sets one wrongly learns of it now and not on the day on which it begins to count.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator
from pydantic_settings import BaseSettings, SettingsConfigDict

from .values import share


class UnbuiltSettings(BaseSettings):
    """The settings that the operator contract names before their features exist."""

    model_config = SettingsConfigDict(extra="ignore", enable_decoding=False, validate_by_name=True)

    governance_weight_mode: Literal["off", "lock"] = "lock"
    zkp_dispute_slash_reduction: Annotated[str, AfterValidator(share)] = "0"
