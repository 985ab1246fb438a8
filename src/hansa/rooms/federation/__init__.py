"""Federation: what this registry says under its own name, and whom it admits."""

from hansa.rooms.federation.blocklist import is_blocklisted, put_on_blocklist
from hansa.rooms.federation.charter import (
    KeyDoesNotOpen,
    KeyUnusable,
    RegistryKey,
    Signatory,
    SigningKey,
    all_keys,
    detached_signature,
    initialize_keys,
    published_keys,
    registry_id_of,
    replace_sealed_key,
    require_present_key,
    rotate_key,
)
from hansa.rooms.federation.descriptor import ROOM
from hansa.rooms.federation.workloads import (
    EnrolledService,
    ServiceCertificate,
    enrol_service,
    list_certificates,
    revoke_service,
    service_id_of,
)

__all__ = [
    "ROOM",
    "EnrolledService",
    "KeyDoesNotOpen",
    "KeyUnusable",
    "RegistryKey",
    "ServiceCertificate",
    "Signatory",
    "SigningKey",
    "all_keys",
    "detached_signature",
    "enrol_service",
    "initialize_keys",
    "is_blocklisted",
    "list_certificates",
    "published_keys",
    "put_on_blocklist",
    "registry_id_of",
    "replace_sealed_key",
    "require_present_key",
    "revoke_service",
    "rotate_key",
    "service_id_of",
]
