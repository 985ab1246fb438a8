"""Facts of federation. They are public: none says why, and none names a person."""

from typing import ClassVar

from hansa.foundation.events.base import REGISTRY_ACCOUNT, Event


class FederationLicenseIssued(Event, frozen=True):
    """A registry was admitted: it got a licence key. The key is no part of the event."""

    aggregate_type: ClassVar[str] = "system_account"

    licence_id: str
    trust_domain: str

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT


class FederationLicenseSuspended(Event, frozen=True):
    """A licence key opens nothing until it is reinstated."""

    aggregate_type: ClassVar[str] = "system_account"

    licence_id: str
    trust_domain: str

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT


class FederationLicenseReinstated(Event, frozen=True):
    """A suspended licence key opens again what it opened."""

    aggregate_type: ClassVar[str] = "system_account"

    licence_id: str
    trust_domain: str

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT


class FederationLicenseRevoked(Event, frozen=True):
    """A licence key opens nothing any more."""

    aggregate_type: ClassVar[str] = "system_account"

    licence_id: str
    trust_domain: str

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT
