"""Shapes of the versions of a card."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel

from .records import CardVersion
from .releases import Release, ReleaseStatus

PAGE_DEFAULT, PAGE_MAX = 50, 500


class CardVersionOut(LazyModel):
    """A current or former document of a card."""

    version: int
    changed_at: datetime = Field(description="The time from which the card had this document.")
    source: str = Field(
        description="`owner`; `pull`: the registry fetched it from the agent's host; `tools`: the MCP server changed its tools."
    )
    card_hash: str = Field(
        description="SHA-256 in hex of the document as the owner or agent supplied it, in the form"
        " sorted-ascii-json/1."
    )

    @classmethod
    def of(cls, version: CardVersion) -> Self:
        """The version as it is answered."""
        return cls(**{name: getattr(version, name) for name in cls.model_fields})


class CardVersionsOut(LazyModel):
    """The stored versions, newest first; the first one is the current document."""

    versions: list[CardVersionOut]


class CardVersionWithDataOut(CardVersionOut):
    """One version with its document as the owner or agent supplied it, without registry data."""

    card_data: dict[str, Any]


class VersionsQuery(LazyModel):
    """Versions to list: those of the card, all at once, or those of the code, by pages."""

    kind: Literal["card", "release"] = Field(
        default="card", description="`card`: documents of the card; `release`: versions of the code."
    )
    limit: int = Field(default=PAGE_DEFAULT, ge=1, le=PAGE_MAX, description="Of `release` alone.")
    next: str | None = Field(
        default=None,
        pattern=r"^rel-[0-9]{1,18}$",
        description="The cursor of the previous page of `release`.",
    )

    @property
    def before(self) -> int | None:
        """Position that the page follows."""
        return int(self.next.removeprefix("rel-")) if self.next else None


class CodeArtifactOut(LazyModel):
    """File of a version at another host; the registry never fetches it."""

    uri: str
    sha256: str


class CodeVersionOut(LazyModel):
    """Version of the code behind a DID, by its owner's word."""

    version_id: UUID
    agent_did: str
    version: str
    status: ReleaseStatus = Field(description="One version of an agent is `active` at most.")
    commit_hash: str | None
    release_notes: str | None
    artifacts: dict[str, CodeArtifactOut]
    is_stable: bool
    created_at: datetime
    activated_at: datetime | None

    @classmethod
    def of(cls, release: Release) -> Self:
        """The release as it is answered."""
        return cls(
            version_id=release.id,
            artifacts={
                name: CodeArtifactOut(uri=one.uri, sha256=one.sha256)
                for name, one in release.artifacts.items()
            },
            **{
                name: getattr(release, name)
                for name in cls.model_fields
                if name not in {"version_id", "artifacts"}
            },
        )


class CodeVersionsOut(LazyModel):
    """A page of the versions of the code, newest first."""

    versions: list[CodeVersionOut]
    next: str | None = Field(description="Send it as `next` for the following page; null on the last one.")

    @classmethod
    def of(cls, releases: Sequence[Release], limit: int) -> Self:
        """The page of `limit` releases; one more that was found shows that another page follows."""
        shown = releases[:limit]
        return cls(
            versions=[CodeVersionOut.of(release) for release in shown],
            next=f"rel-{shown[-1].position}" if len(releases) > limit else None,
        )
