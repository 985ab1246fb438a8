"""Shapes of workload identities in answers."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from hansa.foundation.plumbing.keys.authority import IdentityAuthority
from hansa.foundation.values.lazy_model import LazyModel

from .rules import SVID_LIFETIME, EndedIdentity, Enrolment


class SvidOut(LazyModel):
    """A certificate for mutual TLS. The key is shown only once."""

    svid_pem: str = Field(description="The certificate; its one URI is the SPIFFE id.")
    key_pem: str = Field(description="Its private key, PKCS#8, P-256.")
    bundle_pem: str = Field(description="The certificates to trust in this trust domain.")
    ttl_seconds: int
    expires_at: datetime
    spiffe_id: str


class EnableMtlsOut(LazyModel):
    """The agent is enrolled. Renew before the certificate expires."""

    delivery: Literal["inline", "workload_api"] = Field(
        description="`workload_api`: the agent receives its certificate from the SPIRE agent on its machine."
    )
    status: Literal["enrolled"] = "enrolled"
    spiffe_id: str
    svid: SvidOut | None = Field(description="null with `workload_api`.")

    @classmethod
    def of(cls, authority: IdentityAuthority | None, enrolment: Enrolment) -> "EnableMtlsOut":
        """A new certificate for an enrolled agent, with its key; none where no authority of the registry issues it."""
        if authority is None:
            return cls(delivery="workload_api", spiffe_id=enrolment.spiffe_id, svid=None)
        svid = authority.issue(enrolment.spiffe_id, now=enrolment.issued_at, lifetime=SVID_LIFETIME)
        shown = SvidOut(
            svid_pem=svid.certificate_pem,
            key_pem=svid.key_pem,
            bundle_pem=svid.bundle_pem,
            ttl_seconds=int(SVID_LIFETIME.total_seconds()),
            expires_at=svid.expires_at,
            spiffe_id=svid.spiffe_id,
        )
        return cls(delivery="inline", spiffe_id=svid.spiffe_id, svid=shown)


class DisableMtlsOut(LazyModel):
    """The result for the identity."""

    status: Literal["disabled", "not_enrolled"]


class MtlsStatusOut(LazyModel):
    """The agent's workload identity. Only an administrator can restore a `revoked` one."""

    status: str = Field(description="`not_enrolled`, `enrolled`, `disabled` or `revoked`.")
    enabled: bool
    issuer: Literal["embedded", "spire", "none"] = Field(description="The issuer of certificates.")
    trust_domain: str
    spiffe_id: str | None
    enrolled_at: datetime | None
    certificate_issued_at: datetime | None = Field(
        description="The newest certificate; null where SPIRE issues them."
    )
    certificate_expires_at: datetime | None
    revoked_at: datetime | None

    @classmethod
    def of(
        cls, enrolment: Enrolment | None, *, trust_domain: str, issuer: Literal["embedded", "spire", "none"]
    ) -> "MtlsStatusOut":
        """The identity as it is answered, or that there is none."""
        issued = None if issuer == "spire" else enrolment
        return cls(
            status=enrolment.status if enrolment else "not_enrolled",
            enabled=enrolment is not None and enrolment.status == "enrolled",
            issuer=issuer,
            trust_domain=trust_domain,
            spiffe_id=enrolment.spiffe_id if enrolment else None,
            enrolled_at=enrolment.enrolled_at if enrolment else None,
            certificate_issued_at=issued.issued_at if issued else None,
            certificate_expires_at=issued.expires_at if issued else None,
            revoked_at=enrolment.ended_at if enrolment else None,
        )


class RevokedIdentity(LazyModel):
    """A revoked identity; its certificates are invalid even before they expire."""

    spiffe_id: str
    revoked_at: datetime


class RevokedIdentitiesOut(LazyModel):
    """The identities of this trust domain whose certificates must be refused."""

    revoked: list[RevokedIdentity]

    @classmethod
    def of(cls, ended: list[EndedIdentity]) -> "RevokedIdentitiesOut":
        """The list as it is answered."""
        return cls(
            revoked=[RevokedIdentity(spiffe_id=one.spiffe_id, revoked_at=one.revoked_at) for one in ended]
        )
