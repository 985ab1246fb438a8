"""Shapes of acting."""

from typing import Literal

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel


class ActTokenOut(LazyModel):
    """An agent token with the owner as actor; it also ends when the agent's secret is replaced."""

    access_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105
    expires_in: int = Field(description="Seconds.")
    agent_did: str
    actor: str = Field(description="The actor, as in `/agents/me`.", examples=["developer:7"])
