"""Shapes of acting."""

from typing import Literal

from pydantic import BaseModel, Field


class ActTokenOut(BaseModel):
    """An agent token that names the owner as the one who acts; it ends early with the agent's secret."""

    access_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105
    expires_in: int = Field(description="Seconds.")
    agent_did: str
    actor: str = Field(description="Who acts, as `/agents/me` tells it.", examples=["developer:7"])
