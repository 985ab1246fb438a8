"""Jurisdiction: the acts that the operator declares regulated by its law, and the authorizations recorded for it."""

from .contracts import ATTESTED_CONTRACT, AttestedContract, ReadAttestedContract
from .errors import AuthorizationUnknown, EvidenceRefused, TooManyAuthorizations
from .gate import compliance_block
from .recording import record_authorization, withdraw_authorization
from .routes import jurisdiction_router
from .schemas import RegulatoryAuthorizationIn, RegulatoryAuthorizationOut

__all__ = [
    "ATTESTED_CONTRACT",
    "AttestedContract",
    "AuthorizationUnknown",
    "EvidenceRefused",
    "ReadAttestedContract",
    "RegulatoryAuthorizationIn",
    "RegulatoryAuthorizationOut",
    "TooManyAuthorizations",
    "compliance_block",
    "jurisdiction_router",
    "record_authorization",
    "withdraw_authorization",
]
