"""Deployments."""

from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

import msgspec

from hansa.rooms.catalogue import CardAddress

DeploymentStatus: TypeAlias = Literal["pending", "verifying", "active", "failed", "superseded"]


class DeploymentRequest(msgspec.Struct, frozen=True):
    """Request for a deployment; without `url` the agent is checked where it is."""

    release_id: UUID
    url: str | None
    note: str | None


class Move(msgspec.Struct, frozen=True):
    """Move that a request asks for: the version, the address that the card states now, and the one to be checked."""

    version: str
    present: CardAddress
    url: str


class NewDeployment(msgspec.Struct, frozen=True):
    """Deployment that is to be stored, with the interface and the version of the card that were read."""

    agent_did: str
    release_id: UUID
    url: str
    binding: str
    protocol_version: str
    note: str | None
    must_be_signed: bool
    card_version: int
    status: Literal["pending", "verifying"] = "pending"
    before_id: UUID | None = None
    rolls_back: UUID | None = None


class Deployment(msgspec.Struct, frozen=True):
    """Move of an agent to an address, with the version of its code there; `position` is its place in the list."""

    id: UUID
    position: int
    agent_did: str
    release_id: UUID
    version: str
    url: str
    binding: str
    protocol_version: str
    note: str | None
    must_be_signed: bool
    card_version: int
    status: DeploymentStatus
    reason: str | None
    detail: str | None
    former_url: str | None
    before_id: UUID | None
    rolls_back: UUID | None
    created_at: datetime
    ended_at: datetime | None

    @property
    def is_open(self) -> bool:
        """Its end is still to come."""
        return self.status in {"pending", "verifying"}
