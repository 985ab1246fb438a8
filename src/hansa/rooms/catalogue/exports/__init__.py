"""Export of this registry's own cards to peers: signed items, in the order of their changes."""

from .items import EXPORT_VERSION, ITEM_TYPE, SIGNED, digest_of, digest_of_text, page_digest, signed_part
from .routes import router
from .serving import newest_act
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
