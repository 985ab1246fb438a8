"""Jurisdiction: the acts that the operator declares regulated by its law, and the authorizations recorded for it."""

from .contracts import ATTESTED_CONTRACT, AttestedContract, ReadAttestedContract
from .errors import (
    ActParked,
    AuthorizationsUnreadable,
    AuthorizationUnknown,
    EvidenceRefused,
    TooManyAuthorizations,
)
from .gate import compliance_block, declared_profile, require_cleared
from .recording import live_authorizations, record_authorization, withdraw_authorization
from .records import Authorization
from .routes import jurisdiction_router
from .schemas import AuthorizationEvidenceIn, RegulatoryAuthorizationIn, RegulatoryAuthorizationOut

__all__ = [
    "ATTESTED_CONTRACT",
    "ActParked",
    "AttestedContract",
    "Authorization",
    "AuthorizationEvidenceIn",
    "AuthorizationUnknown",
    "AuthorizationsUnreadable",
    "EvidenceRefused",
    "ReadAttestedContract",
    "RegulatoryAuthorizationIn",
    "RegulatoryAuthorizationOut",
    "TooManyAuthorizations",
    "compliance_block",
    "declared_profile",
    "jurisdiction_router",
    "live_authorizations",
    "record_authorization",
    "require_cleared",
    "withdraw_authorization",
]
