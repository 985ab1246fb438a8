"""Facts of federation. They are public: none says why, and none names a person."""

from typing import ClassVar, Literal

from hansa.foundation.events.base import REGISTRY_ACCOUNT, Event

LicenceKind = Literal["admission_key", "certificate"]
"""What a licence is: the key of an admitted registry, or a certificate that this registry issued."""


class FederationLicenseIssued(Event, frozen=True):
    """A registry was admitted and got a licence key, or a licence certificate was issued. The key is no part of the event."""

    aggregate_type: ClassVar[str] = "system_account"

    licence_id: str
    trust_domain: str
    kind: LicenceKind = "admission_key"

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT


class FederationLicenseSuspended(Event, frozen=True):
    """A licence key or certificate is invalid until it is reinstated."""

    aggregate_type: ClassVar[str] = "system_account"

    licence_id: str
    trust_domain: str
    kind: LicenceKind = "admission_key"

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT


class FederationLicenseReinstated(Event, frozen=True):
    """A suspended licence key or certificate is valid again."""

    aggregate_type: ClassVar[str] = "system_account"

    licence_id: str
    trust_domain: str
    kind: LicenceKind = "admission_key"

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT


class FederationLicenseRevoked(Event, frozen=True):
    """A licence key or certificate is invalid for good."""

    aggregate_type: ClassVar[str] = "system_account"

    licence_id: str
    trust_domain: str
    kind: LicenceKind = "admission_key"

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT


class RegistryFederated(Event, frozen=True):
    """Another registry is an active peer from now on: for the first time, resumed, or released from quarantine."""

    aggregate_type: ClassVar[str] = "system_account"

    registry_name: str
    trust_domain: str
    ledger_id: str

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT


class PeerRegistryDeactivated(Event, frozen=True):
    """Nothing new is exchanged with a peer: it was paused, or it is removed."""

    aggregate_type: ClassVar[str] = "system_account"

    registry_name: str
    trust_domain: str
    act: Literal["paused", "removed"]

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT


class RegistryQuarantined(Event, frozen=True):
    """A peer was put under quarantine: nothing is taken in from it or crossed with it until it is released."""

    aggregate_type: ClassVar[str] = "system_account"

    registry_name: str
    trust_domain: str

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT
