"""Shapes of API keys."""

from datetime import datetime
from typing import Annotated

from msgspec.structs import asdict
from pydantic import AfterValidator, Field, StrictInt

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.paging import Page, Pagination
from hansa.foundation.values.scopes import SCOPES

from .make import MadeKey
from .records import ApiKey
from .rules import NAME_MAX_CHARACTERS, TTL_MAX_DAYS

BIGINT_MAX = 2**63 - 1


def _known(scope: str) -> str:
    if scope not in SCOPES:
        raise ValueError(f"must be one of {', '.join(SCOPES)}")
    return scope


Scope = Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": list(SCOPES)})]
KeyName = Annotated[str, Field(min_length=1, max_length=NAME_MAX_CHARACTERS, pattern=r"\S")]


class ApiKeyIn(LazyModel):
    """An API key to create."""

    key_name: KeyName
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(SCOPES))] | None = Field(
        default=None, description="The scopes of the key; absent: all scopes of its owner."
    )
    expires_in_days: Annotated[StrictInt, Field(ge=0, le=TTL_MAX_DAYS)] | None = Field(
        default=None, description="0: no expiry; absent: API_KEY_DEFAULT_TTL_DAYS."
    )

    @classmethod
    def of(cls, body: "ApiKeyIn | str") -> "ApiKeyIn":
        """The whole request, when only the name was sent."""
        return body if isinstance(body, ApiKeyIn) else cls(key_name=body)


class ApiKeyInfo(LazyModel):
    """An API key as its owner sees it. The key itself is shown only once, when it is created."""

    id: int
    key_prefix: str = Field(description="The first characters of the key.")
    description: str = Field(description="The name of the key.")
    is_active: bool = Field(description="Neither revoked nor expired.")
    created_at: datetime
    last_used_at: datetime | None = Field(description="Accurate to one minute.")
    scopes: list[str]
    expires_at: datetime | None = Field(description="Null: no expiry.")

    @classmethod
    def of(cls, key: ApiKey) -> "ApiKeyInfo":
        return cls(**asdict(key))


class MadeKeyOut(LazyModel):
    """A new API key. The plain key is shown only once."""

    plain_api_key: str
    api_key_info: ApiKeyInfo

    @classmethod
    def of(cls, made: MadeKey) -> "MadeKeyOut":
        return cls(plain_api_key=made.plain, api_key_info=ApiKeyInfo.of(made.key))


class ApiKeysQuery(LazyModel):
    """A page of one's own keys."""

    limit: int = Field(default=50, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=10**9)


class ApiKeysPage(Page[ApiKeyInfo]):
    """The API keys of the developer, newest first; revoked and expired ones are not active."""

    @classmethod
    def of(cls, keys: list[ApiKey], total: int, query: ApiKeysQuery) -> "ApiKeysPage":
        return cls(
            items=[ApiKeyInfo.of(key) for key in keys],
            pagination=Pagination.of(total=total, limit=query.limit, offset=query.offset),
        )
