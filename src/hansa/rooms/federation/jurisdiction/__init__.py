"""Jurisdiction: the acts that the operator declares regulated by its law, and the authorizations recorded for it."""

from .contracts import ATTESTED_CONTRACT, AttestedContract, ReadAttestedContract
from .errors import AuthorizationUnknown, EvidenceRefused, TooManyAuthorizations
from .gate import compliance_block, declared_profile
from .recording import live_authorizations, record_authorization, withdraw_authorization
from .records import Authorization
from .routes import jurisdiction_router
from .schemas import AuthorizationEvidenceIn, RegulatoryAuthorizationIn, RegulatoryAuthorizationOut

__all__ = [
    "ATTESTED_CONTRACT",
    "AttestedContract",
    "Authorization",
    "AuthorizationEvidenceIn",
    "AuthorizationUnknown",
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
    "withdraw_authorization",
]
