"""Shapes of bundles. The content of a bundle is judged as the body of a request: registries sign what their users wrote."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, ConfigDict, Field, StrictBool

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.timestamps import ISO_ONLY
from hansa.foundation.values.visible_text import plain
from hansa.rooms.agents import CreateAgentOut, SpendPolicyIn
from hansa.rooms.operations.releases import CodeVersionIn

from .rules import KIND, PIPELINES_MAX, RELEASES_MAX

ROLES_MAX = 32


class BundleContent(RequestBody):
    """Members of a bundle, without its signature."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["agent.bundle.v1"]
    did: Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)]
    card: dict[str, Any]
    roles: Annotated[list[Annotated[str, Field(max_length=64)]], Field(max_length=ROLES_MAX)]
    spend_policy: SpendPolicyIn | None
    releases: Annotated[list[CodeVersionIn], Field(max_length=RELEASES_MAX)]
    pipelines: Annotated[list[dict[str, Any]], Field(max_length=PIPELINES_MAX)]
    exported_at: Annotated[AwareDatetime, ISO_ONLY]


class ExportOut(LazyModel):
    """The bundle of an agent with the signature of the registry."""

    bundle_id: UUID = Field(
        description="Under this id agents of the owner fork the bundle; the newest 20 of a developer are stored."
    )
    bundle: dict[str, Any] = Field(
        description="Verify it offline by `hansa verify bundle`; its signature covers every member.",
        examples=[{"kind": KIND, "did": "did:hansa:hansa.local:1f3c1a58-7c0a-4d2f-9d2b-0b1f7a1d9d11"}],
    )


class BundleImportIn(RequestBody):
    """A bundle, as it was exported here or at a peer."""

    bundle: dict[str, Any] = Field(
        examples=[{"kind": KIND, "did": "did:hansa:hansa.local:1f3c1a58-7c0a-4d2f-9d2b-0b1f7a1d9d11"}]
    )
    dry_run: StrictBool = Field(
        default=False, description="true: nothing is created, the answer says what would be."
    )


class BundleForkIn(RequestBody):
    """A new agent of a stored bundle."""

    name: Annotated[str, Field(min_length=3, max_length=100), AfterValidator(plain)]
    description: Annotated[str, Field(min_length=1, max_length=5000), AfterValidator(plain)] | None = None
    royalty_bps: Annotated[int, Field(strict=True, ge=0, le=0, description="No royalty is paid.")] = 0


class ImportedAgentOut(CreateAgentOut):
    """A new agent. `client_secret` and `private_key_pem` are shown only once. Its card is unlisted."""

    warnings: list[str] = Field(description="Members of the bundle that the agent has otherwise or not.")


class BundlePreviewOut(LazyModel):
    """Result of a dry run; nothing was created."""

    dry_run: Literal[True] = True
    agent_card_name: str
    imported_from: dict[str, str]
    warnings: list[str] = Field(
        description="Members of the bundle that the agent would have otherwise or not."
    )
