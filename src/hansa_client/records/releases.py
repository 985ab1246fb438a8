"""Answers about versions of code, deployments and bundles."""

from datetime import datetime
from typing import Any

from .agents import NewAgent
from .record import Record


class CodeArtifact(Record, frozen=True):
    """File of a version at another host."""

    uri: str
    sha256: str


class CodeVersion(Record, frozen=True):
    """A version of the code behind a DID; `status` is `draft`, `active` or `retired`."""

    version_id: str
    agent_did: str
    version: str
    status: str
    commit_hash: str | None
    release_notes: str | None
    artifacts: dict[str, CodeArtifact]
    is_stable: bool
    created_at: datetime
    activated_at: datetime | None


class CodeVersions(Record, frozen=True):
    """A page of versions, newest first; `next` leads to the page after it."""

    versions: list[CodeVersion]
    next: str | None


class Deployment(Record, frozen=True):
    """Move of an agent to an address; `status` is `pending`, `verifying`, `active`, `failed` or `superseded`."""

    deployment_id: str
    agent_did: str
    version_id: str
    version: str
    url: str
    former_url: str | None
    note: str | None
    status: str
    reason: str | None
    detail: str | None
    rolls_back: str | None
    created_at: datetime
    ended_at: datetime | None

    @property
    def has_ended(self) -> bool:
        """It is checked no more."""
        return self.ended_at is not None


class Deployments(Record, frozen=True):
    """A page of deployments, newest first; `next` leads to the page after it."""

    deployments: list[Deployment]
    next: str | None


class ExportedAgent(Record, frozen=True):
    """A bundle with the signature of its registry, and the id under which it is stored."""

    bundle_id: str
    bundle: dict[str, Any]


class ImportedAgent(NewAgent, frozen=True, kw_only=True):
    """A new agent of a bundle; `warnings` name members that it has otherwise or not."""

    warnings: list[str]


class ImportPreview(Record, frozen=True):
    """Result of a dry run; nothing was created."""

    dry_run: bool
    agent_card_name: str
    imported_from: dict[str, str]
    warnings: list[str]
