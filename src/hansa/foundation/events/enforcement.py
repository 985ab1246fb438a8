"""Facts of enforcement. They are public: none says why."""

from typing import ClassVar

from hansa.foundation.events.base import REGISTRY_ACCOUNT, AgentEvent, Event


class _AgentEnforcement(AgentEvent, frozen=True):
    soft: bool
    date: str


class AgentSuspended(_AgentEnforcement, frozen=True):
    """An agent may not act. `soft`: its workload identity and its ledger account are left alone."""


class AgentReinstated(_AgentEnforcement, frozen=True):
    """An agent may act again. `soft`: its workload identity and its ledger account are left as they are."""


class _DeveloperEnforcement(Event, frozen=True):
    aggregate_type: ClassVar[str] = "system_account"

    developer_id: int
    agents: int
    date: str

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT


class DeveloperSuspended(_DeveloperEnforcement, frozen=True):
    """A developer may create no agents, and none of `agents` may act; each of them has an event of its own as well."""


class DeveloperReinstated(_DeveloperEnforcement, frozen=True):
    """A developer's suspension is lifted, and with it what it did to `agents` of them."""
