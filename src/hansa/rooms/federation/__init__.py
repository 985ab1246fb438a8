"""Federation: what this registry says under its own name, and whom it admits."""

from hansa.rooms.federation.admission import check_licence
from hansa.rooms.federation.admission import router as admission_router
from hansa.rooms.federation.charter import (
    KeyDoesNotOpen,
    KeyUnusable,
    RegistryKey,
    Signatory,
    SigningKey,
    admin_router,
    detached_signature,
    initialize_keys,
    registry_id_of,
    replace_sealed_key,
    require_present_key,
    root_router,
    rotate_key,
    router,
)
from hansa.rooms.federation.workloads import (
    EnrolledService,
    ServiceCertificate,
    check_service,
    enrol_service,
    list_certificates,
    revoke_service,
    service_id_of,
)

__all__ = [
    "EnrolledService",
    "KeyDoesNotOpen",
    "KeyUnusable",
    "RegistryKey",
    "ServiceCertificate",
    "Signatory",
    "SigningKey",
    "admin_router",
    "admission_router",
    "check_licence",
    "check_service",
    "detached_signature",
    "enrol_service",
    "initialize_keys",
    "list_certificates",
    "registry_id_of",
    "replace_sealed_key",
    "require_present_key",
    "revoke_service",
    "root_router",
    "rotate_key",
    "router",
    "service_id_of",
]
