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
