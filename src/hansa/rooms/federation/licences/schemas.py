"""Shapes of licence certificates."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictInt, ValidationError

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.jwk import NotAKey, jwk_of, public_key_of
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.paging import Page, Pagination
from hansa_verify import licence_hash

from .errors import CertificateRefused
from .operator_licence import OperatorLicence, plan_of
from .reading import FoundLicence
from .records import (
    CertificateFilter,
    CertificateRequest,
    IssuedCertificate,
    LocalLicence,
    State,
    Subject,
    Type,
    epoch,
)

REASON_MAX_CHARACTERS = 2000
CERTIFICATE_MAX_CHARACTERS = 16_384
TERM_MAX_DAYS = 3650

TrustDomain = Annotated[
    str,
    Field(
        min_length=3,
        max_length=253,
        pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$",
    ),
]


class GenesisIn(LazyModel):
    """Nothing: the genesis certificate follows from the registry's settings."""

    model_config = ConfigDict(extra="forbid")


class SubjectIn(LazyModel):
    """For whom the certificate is."""

    trust_domain: TrustDomain
    name: Annotated[str, Field(min_length=1, max_length=255)]
    url: Annotated[str, Field(min_length=1, max_length=500, pattern=r"^https?://\S+$")] | None = None
    spiffe: Annotated[str, Field(min_length=1, max_length=255, pattern=r"^spiffe://\S+$")] | None = None


class LicenceKeyIn(LazyModel):
    """The licence-signing key of a frame: an Ed25519 JWK."""

    model_config = ConfigDict(extra="allow")

    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    x: Annotated[str, Field(min_length=43, max_length=43)]


class CertificateIn(LazyModel):
    """A certificate to issue. The type follows from the issuer: the genesis issues frames, a frame operators."""

    sub: SubjectIn
    plan: Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[a-z0-9][a-z0-9-]*$")]
    key: LicenceKeyIn | None = Field(
        default=None, description="Required for a frame, absent for an operator."
    )
    days: Annotated[StrictInt, Field(ge=1, le=TERM_MAX_DAYS)] | None = Field(
        default=None, description="Absent: the plan's default. Null: perpetual, where the plan allows it."
    )

    def request(self) -> CertificateRequest:
        """Return the certificate request. Raises: CertificateRefused, where the key is unusable."""
        return CertificateRequest(
            subject=Subject(self.sub.trust_domain, self.sub.name, self.sub.url, self.sub.spiffe),
            plan=self.plan,
            public_key=None if self.key is None else _public_key(self.key),
            days=self.days,
            states_term="days" in self.model_fields_set,
        )


class CertificateChange(LazyModel):
    """Why certificates are suspended, reinstated or revoked; kept in the audit log."""

    reason: Annotated[str, Field(min_length=1, max_length=REASON_MAX_CHARACTERS)]


class InstallIn(LazyModel):
    """The certificate that the genesis issued to this registry, and its issuers up to the genesis."""

    certificate: Annotated[str, Field(min_length=1, max_length=CERTIFICATE_MAX_CHARACTERS)]
    chain: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=CERTIFICATE_MAX_CHARACTERS)]],
        Field(min_length=1, max_length=3),
    ]


class CertificateOut(LazyModel):
    """A certificate that was issued."""

    certificate: str = Field(description="Compact JWS of type licence+jws.")
    hash: str = Field(description="Licence hash: SHA-256 of the certificate in hexadecimal.")
    lid: str
    state: State

    @classmethod
    def of(cls, one: IssuedCertificate) -> "CertificateOut":
        return cls(certificate=one.certificate, hash=one.hash, lid=one.lid, state=one.state)


class ListedLicenceOut(CertificateOut):
    """A certificate with its row of the issued list; times are in seconds since the epoch."""

    type: Type
    sub_trust_domain: str
    sub_name: str
    plan: str
    iat: int
    exp: int | None = Field(description="Null: perpetual.")
    updated_at: int = Field(description="Time of the last change of state.")

    @classmethod
    def of(cls, one: IssuedCertificate) -> "ListedLicenceOut":
        return cls(**one.listed, certificate=one.certificate)


LicenceState = Literal[
    "active", "suspended", "revoked", "superseded", "expired", "unverified", "untrusted_root", "malformed"
]


class LicenceIssuer(LazyModel):
    """Who issued a certificate."""

    trust_domain: str
    name: str
    kid: str = Field(description="Thumbprint of the licence-signing key (RFC 7638).")


class FoundLicenceOut(LazyModel):
    """A certificate that this registry issued or holds; `iat`, `exp` and `updated_at` are in seconds since the epoch."""

    certificate: str = Field(description="Compact JWS of type licence+jws.")
    hash: str = Field(description="Licence hash: SHA-256 of the certificate in hexadecimal.")
    lid: str
    state: LicenceState
    type: Type
    issuer: LicenceIssuer
    sub_trust_domain: str
    sub_name: str
    plan: str
    iat: int
    exp: int | None = Field(description="Null: perpetual.")
    updated_at: int | None = Field(
        description="Time of the last change of state. Null for a certificate of another issuer."
    )
    as_of: datetime | None = Field(
        description="The time as of which the state is known: now for an issued certificate, that of the oldest list of the"
        " issuers for one that is held. Null before the lists were read."
    )

    @classmethod
    def of(cls, found: FoundLicence) -> "FoundLicenceOut":
        one = found.certificate
        payload, issuer = one.payload, one.payload["iss"]
        return cls.model_validate(
            {
                "certificate": one.text,
                "hash": one.hash,
                "lid": payload["lid"],
                "state": found.state,
                "type": one.kind,
                "issuer": {name: issuer[name] for name in ("trust_domain", "name", "kid")},
                "sub_trust_domain": payload["sub"]["trust_domain"],
                "sub_name": payload["sub"]["name"],
                "plan": payload["plan"],
                "iat": payload["iat"],
                "exp": payload["exp"],
                "updated_at": None if found.updated_at is None else epoch(found.updated_at),
                "as_of": found.as_of,
            }
        )


class ChangedOut(ListedLicenceOut):
    """The certificate after the act."""

    changed: list[str] = Field(
        description="The lid of every certificate of the subject that the act changed."
    )

    @classmethod
    def changed_to(cls, one: IssuedCertificate, changed: list[str]) -> "ChangedOut":
        return cls(**one.listed, certificate=one.certificate, changed=changed)


class CertificatesQuery(LazyModel):
    """A page of certificates."""

    state: State | None = None
    type: Type | None = None
    sub: Annotated[str, Field(min_length=1, max_length=255)] | None = Field(
        default=None, description="Trust domain or name of the subject."
    )
    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=10**9)

    def criteria(self) -> CertificateFilter:
        """Return the filter of the query."""
        return CertificateFilter(self.state, self.type, self.sub, self.limit, self.offset)


class CertificatesPage(Page[ListedLicenceOut]):
    """Certificates, newest first."""

    @classmethod
    def of(cls, found: list[IssuedCertificate], total: int, query: CertificatesQuery) -> "CertificatesPage":
        return cls(
            items=[ListedLicenceOut.of(one) for one in found],
            pagination=Pagination.of(total=total, limit=query.limit, offset=query.offset),
        )


class OwnLicenceOut(LazyModel):
    """The certificate that this registry holds."""

    certificate: str
    chain: list[str] = Field(description="The certificates of its issuers, the genesis last.")
    hash: str
    state: LicenceState = Field(
        description="`unverified`: this registry trusts no root (FEDERATION_ROOT_HASH)."
    )

    @classmethod
    def of(cls, own: LocalLicence) -> "OwnLicenceOut":
        network = own.network
        return cls(
            certificate=network.certificate, chain=list(network.chain), hash=network.hash, state=own.state
        )


class OperatorCertificateOut(LazyModel):
    """The certificate of the operator that asks."""

    certificate: str
    hash: str
    state: Literal["active", "suspended", "revoked", "superseded", "expired"]
    issued_now: bool = Field(description="Whether this request had it issued.")


class FrameNetworkOut(OwnLicenceOut):
    """The network certificate of the frame, and how it was judged last by the issuers' lists."""

    reason: str | None = Field(description="Null before it was judged.")
    checked_at: datetime | None


class RootOut(LazyModel):
    """The genesis certificate of the network; the operator verifies it by its own pin."""

    certificate: str
    hash: str


class OperatorPolicyOut(LazyModel):
    """The terms of certificates that are issued automatically."""

    plan: str
    days: int | None = Field(description="Null is perpetual.")


class OperatorLicenceOut(LazyModel):
    """What a frame knows of the licence of an operator. Blocks are null where there is nothing."""

    operator: OperatorCertificateOut | None
    network: FrameNetworkOut | None
    root: RootOut | None
    policy: OperatorPolicyOut
    frame_trust_domain: str

    @classmethod
    def of(cls, found: OperatorLicence, settings: Settings) -> "OperatorLicenceOut":
        """The answer to the operator."""
        issued, network, root = found.operator, found.network, found.root
        return cls(
            operator=issued
            and OperatorCertificateOut(
                certificate=issued.certificate,
                hash=issued.hash,
                state=issued.state,
                issued_now=found.issued_now,
            ),
            network=network
            and FrameNetworkOut(
                **OwnLicenceOut.of(network.own).model_dump(),
                reason=network.reason,
                checked_at=network.checked_at,
            ),
            root=root and RootOut(certificate=root, hash=licence_hash(root)),
            policy=OperatorPolicyOut(plan=plan_of(settings), days=settings.operator_term_days),
            frame_trust_domain=settings.trust_domain,
        )


class IssuedListOut(LazyModel):
    """The signed list of all certificates that this registry issued."""

    list: str = Field(description="Compact JWS of type licence-list+jws.")


class LicensingJwk(LazyModel):
    """The public licence-signing key of this registry."""

    kty: Literal["OKP"] = "OKP"
    crv: Literal["Ed25519"] = "Ed25519"
    x: str
    kid: str = Field(description="Thumbprint of the key (RFC 7638).")
    use: Literal["sig"] = "sig"
    alg: Literal["EdDSA"] = "EdDSA"

    @classmethod
    def of(cls, kid: str, public_key: bytes) -> "LicensingJwk":
        return cls(x=jwk_of(public_key)["x"], kid=kid)


def certificate_request(members: Mapping[str, object]) -> CertificateRequest:
    """A request given as the members of the HTTP body. Raises: CertificateRefused."""
    try:
        return CertificateIn.model_validate(members).request()
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise CertificateRefused(f"{name}: {first['msg']}.", field=name) from None


def _public_key(jwk: LicenceKeyIn) -> bytes:
    try:
        return public_key_of(jwk.model_dump())
    except NotAKey as error:
        raise CertificateRefused(f"key is no usable Ed25519 key: {error}.", field="key") from None
