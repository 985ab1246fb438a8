"""The charter: the keys that stand for the registry."""

from .authorizing import authorizations_admin_router, record_in_card, withdraw_from_card
from .card_content import BORDER_FEE, NO_LICENCE
from .card_editing import CardEditor, edit_card, read_editable_version, set_icon
from .card_icon import ICON_MAX_BYTES, icon_admin_router, icon_router, rewritten_icon
from .card_paths import CARD_PATHS, CardPath
from .card_paths import Mark as CardMark
from .card_publication import (
    StockCardMark,
    SwapTerms,
    detached_signature,
    market_freshness,
    publish_card_with_fx,
    publish_card_with_licence,
    publish_card_with_stock_card,
)
from .card_reading import LAST_AUDIT, LastAudit, ReadLastAudit, read_card, read_operator
from .card_routes import card_admin_router, card_root_router, card_router
from .card_schema import card_schema
from .card_store import CardVersion
from .errors import CardUnsigned, KeyDoesNotOpen
from .records import RegistryKey, SigningKey
from .registry_keys import (
    all_keys,
    initialize_keys,
    published_keys,
    replace_sealed_key,
    require_present_key,
    rotate_as_administrator,
    rotate_key,
)
from .routes import admin_router, root_router, router
from .rules import GRACE, registry_id_of
from .schemas import RegistryCard, RegistryCardEdited
from .signatory import SEALED_REGISTRY_KEYS, SIGNATORY, Signatory, present_signing_key
from .well_known import well_known_router

__all__ = [
    "BORDER_FEE",
    "CARD_PATHS",
    "GRACE",
    "ICON_MAX_BYTES",
    "LAST_AUDIT",
    "NO_LICENCE",
    "SEALED_REGISTRY_KEYS",
    "SIGNATORY",
    "CardEditor",
    "CardMark",
    "CardPath",
    "CardUnsigned",
    "CardVersion",
    "KeyDoesNotOpen",
    "LastAudit",
    "ReadLastAudit",
    "RegistryCard",
    "RegistryCardEdited",
    "RegistryKey",
    "Signatory",
    "SigningKey",
    "StockCardMark",
    "SwapTerms",
    "admin_router",
    "all_keys",
    "authorizations_admin_router",
    "card_admin_router",
    "card_root_router",
    "card_router",
    "card_schema",
    "detached_signature",
    "edit_card",
    "icon_admin_router",
    "icon_router",
    "initialize_keys",
    "market_freshness",
    "present_signing_key",
    "publish_card_with_fx",
    "publish_card_with_licence",
    "publish_card_with_stock_card",
    "published_keys",
    "read_card",
    "read_editable_version",
    "read_operator",
    "record_in_card",
    "registry_id_of",
    "replace_sealed_key",
    "require_present_key",
    "rewritten_icon",
    "root_router",
    "rotate_as_administrator",
    "rotate_key",
    "router",
    "set_icon",
    "well_known_router",
    "withdraw_from_card",
]
