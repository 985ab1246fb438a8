"""The jurisdiction profile: a JSON file in which the operator declares which features its law denies and which acts it regulates."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, ConfigDict, Field, ValidationError

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.timestamps import ISO_ONLY

PROFILE_MAX_BYTES = 65_536

Name = Annotated[str, Field(min_length=1, max_length=128)]
RegulatedAction = Literal["exchange.listing", "exchange.ipo", "fiat.lane", "registry.operation"]


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


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(PROFILE_MAX_BYTES + 1)
    if len(content) > PROFILE_MAX_BYTES:
        raise OSError(f"more than {PROFILE_MAX_BYTES} bytes")
    return content


def _allowed(error: str) -> str:
    members = ", ".join(JurisdictionProfile.model_fields)
    return f"a JSON file with {members} ({error})"
