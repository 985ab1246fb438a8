"""Releases: versions of the code behind a DID, which the room above owns and `/agents/{did}/versions` lists beside those of the card."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Tx

ReleaseStatus: TypeAlias = Literal["draft", "active", "retired"]


class Artifact(msgspec.Struct, frozen=True):
    """File of a release at another host; the registry never fetches it."""

    uri: str
    sha256: str


class Release(msgspec.Struct, frozen=True):
    """Version of the code of an agent, by its owner's word; `position` is its place in the list."""

    id: UUID
    position: int
    agent_did: str
    version: str
    status: ReleaseStatus
    commit_hash: str | None
    release_notes: str | None
    artifacts: Mapping[str, Artifact]
    is_stable: bool
    created_at: datetime
    activated_at: datetime | None


ReleasesOf: TypeAlias = Callable[[Tx, str, int | None, int], Awaitable[Sequence[Release]]]
"""Releases of the agent of that DID before a position, the newest first, up to a number."""

RELEASES_OF_AGENT: Slot[ReleasesOf] = Slot("catalogue: releases of an agent")
