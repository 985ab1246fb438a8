"""Facts of the operations room."""

from typing import ClassVar

from hansa.foundation.events.base import AgentEvent


class AgentVersionActivated(AgentEvent, frozen=True):
    """A version of the code behind a DID became the active one, by its owner's word."""

    version_id: str
    version: str
    commit_hash: str | None


class _DeploymentEvent(AgentEvent, frozen=True):
    is_private: ClassVar[bool] = True

    deployment_id: str
    version_id: str
    version: str
    url: str


class AgentDeployed(_DeploymentEvent, frozen=True):
    """An agent answers at the address `url` from now on, after it was checked there; its card states the address."""

    former_url: str


class AgentDeploymentFailed(_DeploymentEvent, frozen=True):
    """A deployment changed nothing; `reason` is a stable word."""

    reason: str
