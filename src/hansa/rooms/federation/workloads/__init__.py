"""The operator's own services: the certificates by which they are known over mutual TLS."""

from .enrol import (
    EnrolledService,
    check_service,
    enrol_service,
    list_certificates,
    revoke_service,
    service_id_of,
)
from .records import ServiceCertificate
from .store import first_to_end

__all__ = [
    "EnrolledService",
    "ServiceCertificate",
    "check_service",
    "enrol_service",
    "first_to_end",
    "list_certificates",
    "revoke_service",
    "service_id_of",
]
