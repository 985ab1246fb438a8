"""Facts of enforcement. They are public: none says why."""

from typing import ClassVar

from hansa.foundation.events.base import REGISTRY_ACCOUNT, Event


class AgentSuspended(Event, frozen=True):
    """An agent may not act. `soft`: its workload identity and its ledger account are left alone."""

    aggregate_type: ClassVar[str] = "agent"

    did: str
    soft: bool
    date: str

    @property
    def aggregate_id(self) -> str:
        return self.did


class AgentReinstated(Event, frozen=True):
    """An agent may act again. `soft`: its workload identity and its ledger account are left as they are."""

    aggregate_type: ClassVar[str] = "agent"

    did: str
    soft: bool
    date: str

    @property
    def aggregate_id(self) -> str:
        return self.did


class DeveloperSuspended(Event, frozen=True):
    """A developer may create no agents, and none of `agents` may act; each of them is told of by itself as well."""

    aggregate_type: ClassVar[str] = "system_account"

    developer_id: int
    agents: int
    date: str

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT


class DeveloperReinstated(Event, frozen=True):
    """A developer's suspension is lifted, and with it what it did to `agents` of them."""

    aggregate_type: ClassVar[str] = "system_account"

    developer_id: int
    agents: int
    date: str

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT
