"""Federation: what this registry says under its own name, and to whom."""

from hansa.rooms.federation.charter import (
    KeyDoesNotOpen,
    KeyUnusable,
    RegistryKey,
    Signatory,
    SigningKey,
    detached_signature,
    found_keys,
    require_present_key,
    root_router,
    rotate_key,
    router,
)

__all__ = [
    "KeyDoesNotOpen",
    "KeyUnusable",
    "RegistryKey",
    "Signatory",
    "SigningKey",
    "detached_signature",
    "found_keys",
    "require_present_key",
    "root_router",
    "rotate_key",
    "router",
]
