"""The charter: the keys that stand for the registry."""

from .errors import KeyDoesNotOpen, KeyUnusable
from .found import initialize_keys, replace_sealed_key, require_present_key
from .reading import all_keys, published_keys
from .records import RegistryKey, SigningKey
from .rotate import rotate_key
from .routes import admin_router, root_router, router
from .rules import registry_id_of
from .signatory import Signatory
from .signing import detached_signature

__all__ = [
    "KeyDoesNotOpen",
    "KeyUnusable",
    "RegistryKey",
    "Signatory",
    "SigningKey",
    "admin_router",
    "all_keys",
    "detached_signature",
    "initialize_keys",
    "published_keys",
    "registry_id_of",
    "replace_sealed_key",
    "require_present_key",
    "root_router",
    "rotate_key",
    "router",
]
