"""Licence certificates as they are kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import asdict

Type = Literal["genesis", "frame", "operator"]
State = Literal["active", "suspended", "revoked", "superseded", "expired"]


def epoch(instant: datetime) -> int:
    """Whole seconds since the epoch."""
    return int(instant.timestamp())


class IssuedCertificate(msgspec.Struct, frozen=True):
    """A certificate that this registry issued. `expired`: active, but past its end."""

    lid: str
    hash: str
    certificate: str
    type: Type
    sub_trust_domain: str
    sub_name: str
    plan: str
    issued_at: datetime
    expires_at: datetime | None
    state: State
    updated_at: datetime

    @property
    def listed(self) -> dict[str, Any]:
        """Its entry in the issued list; times are in seconds since the epoch."""
        return {
            "hash": self.hash,
            "lid": self.lid,
            "type": self.type,
            "sub_trust_domain": self.sub_trust_domain,
            "sub_name": self.sub_name,
            "plan": self.plan,
            "iat": epoch(self.issued_at),
            "exp": None if self.expires_at is None else epoch(self.expires_at),
            "state": self.state,
            "updated_at": epoch(self.updated_at),
        }


class CertificateFilter(msgspec.Struct, frozen=True):
    """Filter of certificates, newest first; a member that is None does not restrict. `sub` is a trust domain or a name."""

    state: State | None = None
    type: Type | None = None
    sub: str | None = None
    limit: int = 100
    offset: int = 0


class NetworkCertificate(msgspec.Struct, frozen=True):
    """The certificate by which this registry belongs to a network, and those of its issuers up to the genesis."""

    certificate: str
    hash: str
    chain: tuple[str, ...]


class Delivered(msgspec.Struct, frozen=True):
    """A certificate as another registry delivers it, with those of its issuers."""

    certificate: str
    chain: Sequence[str]


class LocalLicence(msgspec.Struct, frozen=True):
    """Licence that this registry shows; `state` is that of an issued certificate, or `unverified`, `untrusted_root`."""

    network: NetworkCertificate
    state: str


@dataclass(frozen=True)
class LicensingKey:
    """The licence-signing key, ready to sign."""

    kid: str
    public_key: bytes
    private: Ed25519PrivateKey = field(repr=False)


class Subject(msgspec.Struct, frozen=True):
    """For whom a certificate is asked."""

    trust_domain: str
    name: str
    url: str | None = None
    spiffe: str | None = None

    @property
    def members(self) -> dict[str, str]:
        """The member `sub`; absent optionals are omitted."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class CertificateRequest(msgspec.Struct, frozen=True):
    """A certificate that an administrator asks for; without a stated term the plan's default holds."""

    subject: Subject
    plan: str
    public_key: bytes | None
    days: int | None
    states_term: bool


class CertificateAct(msgspec.Struct, frozen=True):
    """An act on the subject of the certificate `lid`, and why."""

    lid: str
    act: Literal["suspend", "reinstate", "revoke"]
    reason: str | None


class ListState(msgspec.Struct, frozen=True):
    """The list as it was signed last; `now` is the database's time in seconds since the epoch."""

    list: str | None
    generated_at: int
    is_due: bool
    has_certificates: bool
    now: int


class HeldOperatorLicence(msgspec.Struct, frozen=True):
    """The certificate as it is evaluated here; `reason` is empty while it is active, `frame` the issuer's trust domain."""

    certificate: str
    hash: str
    state: str
    reason: str
    plan: str
    frame: str
    expires_at: datetime | None

    @property
    def block(self) -> dict[str, object]:
        """The block `federation.licence.operator` of the registry card."""
        return {
            "hash": self.hash,
            "state": self.state,
            "reason": self.reason or None,
            "plan": self.plan,
            "frame": self.frame,
            "expires_at": None if self.expires_at is None else self.expires_at.isoformat(),
        }
