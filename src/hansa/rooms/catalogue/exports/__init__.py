"""Export of this registry's own cards to peers: signed items, in the order of their changes."""

from .routes import router
from .serving import (
    EXPORT_VERSION,
    ITEM_TYPE,
    SIGNED,
    digest_of,
    digest_of_text,
    newest_act,
    page_digest,
    signed_part,
)
from .store import ranges_of_mirrors

__all__ = [
    "EXPORT_VERSION",
    "ITEM_TYPE",
    "SIGNED",
    "digest_of",
    "digest_of_text",
    "newest_act",
    "page_digest",
    "ranges_of_mirrors",
    "router",
    "signed_part",
]
