"""Shapes of deployments."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import AfterValidator, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.visible_text import plain
from hansa.foundation.values.web_address import URL_MAX_CHARACTERS

from .records import Deployment, DeploymentRequest, DeploymentStatus

NOTE_MAX = 500
PAGE_DEFAULT, PAGE_MAX = 50, 500


class DeploymentIn(RequestBody):
    """A version of the code, and the address at which it runs."""

    version_id: UUID
    url: Annotated[str, Field(max_length=URL_MAX_CHARACTERS)] | None = Field(
        default=None,
        description="Address of the interface; absent: the present one, which is checked and stays.",
    )
    note: Annotated[str, Field(max_length=NOTE_MAX), AfterValidator(plain)] | None = None

    def deployment(self) -> DeploymentRequest:
        """The deployment that this request asks for."""
        return DeploymentRequest(self.version_id, self.url, self.note)


class DeploymentOut(LazyModel):
    """Move of an agent to an address, with the version of its code there."""

    deployment_id: UUID
    agent_did: str
    version_id: UUID
    version: str
    url: str
    former_url: str | None = Field(description="The address before; null until the deployment is active.")
    note: str | None
    status: DeploymentStatus
    reason: str | None = Field(description="A stable word that says why the deployment failed.")
    detail: str | None = Field(description="The same as a sentence.")
    rolls_back: UUID | None = Field(description="The deployment that this one took back.")
    created_at: datetime
    ended_at: datetime | None = Field(description="The time at which it became active or failed.")

    @classmethod
    def of(cls, deployment: Deployment) -> Self:
        """The deployment as it is answered."""
        named = {"deployment_id": deployment.id, "version_id": deployment.release_id}
        others = {name: getattr(deployment, name) for name in cls.model_fields if name not in named}
        return cls(**named, **others)


class DeploymentsQuery(LazyModel):
    """Page of deployments."""

    limit: int = Field(default=PAGE_DEFAULT, ge=1, le=PAGE_MAX)
    next: str | None = Field(
        default=None, pattern=r"^dep-[0-9]{1,18}$", description="The cursor of the previous page."
    )

    @property
    def before(self) -> int | None:
        """Position that the page follows."""
        return int(self.next.removeprefix("dep-")) if self.next else None


class DeploymentsOut(LazyModel):
    """A page of deployments, newest first."""

    deployments: list[DeploymentOut]
    next: str | None = Field(description="Send it as `next` for the following page; null on the last one.")

    @classmethod
    def of(cls, deployments: Sequence[Deployment], limit: int) -> Self:
        """The page of `limit` deployments; one more that was found shows that another page follows."""
        shown = deployments[:limit]
        return cls(
            deployments=[DeploymentOut.of(one) for one in shown],
            next=f"dep-{shown[-1].position}" if len(deployments) > limit else None,
        )
