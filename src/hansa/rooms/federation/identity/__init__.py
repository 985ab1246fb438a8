"""The identity that this registry shows over mutual TLS; the certificates that a frame issues and an operator receives."""

from .certifying import OPERATOR_LIFETIME, IssuedLeaf, certify
from .errors import CertificatesRefused, FederationOff, IdentityMissing, NotEnrolled
from .local import (
    LOCAL_IDENTITY,
    SEALED_IDENTITY_KEYS,
    SEALED_REQUESTED_KEYS,
    LocalIdentity,
    Requested,
    identity_followed,
    local_identity,
    prepare_requests,
    receive_certificates,
)
from .requests import KINDS, REQUEST_MAX_CHARACTERS, CertificateRequest, identities_of, read_requests
from .schemas import OperatorRenewalIn, OperatorRenewalOut, OperatorSvidOut
from .store import is_renewal_due, own_roots, set_own_roots

__all__ = [
    "KINDS",
    "LOCAL_IDENTITY",
    "OPERATOR_LIFETIME",
    "REQUEST_MAX_CHARACTERS",
    "SEALED_IDENTITY_KEYS",
    "SEALED_REQUESTED_KEYS",
    "CertificateRequest",
    "CertificatesRefused",
    "FederationOff",
    "IdentityMissing",
    "IssuedLeaf",
    "LocalIdentity",
    "NotEnrolled",
    "OperatorRenewalIn",
    "OperatorRenewalOut",
    "OperatorSvidOut",
    "Requested",
    "certify",
    "identities_of",
    "identity_followed",
    "is_renewal_due",
    "local_identity",
    "own_roots",
    "prepare_requests",
    "read_requests",
    "receive_certificates",
    "set_own_roots",
]
