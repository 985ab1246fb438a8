"""Why the charter refuses."""

from hansa.foundation.values.errors import Invalid, NotFound, Unavailable


class KeyDoesNotOpen(Unavailable):
    """The registry's signing key was encrypted with a different sealing key than this process has."""

    code = "SIGNING_KEY_SEALED"
    sentence = (
        "The registry's signing key does not open with the sealing key in DIR/keys:"
        " restore that file, or begin a new key with `hansa keys rotate`; when another process holds the keys, run"
        " `hansa keys export FILE` there and `hansa keys import FILE` here."
    )


class CardUnsigned(Unavailable):
    """The registry card is not signed yet."""

    code = "REGISTRY_CARD_UNSIGNED"
    sentence = "The registry card is not signed yet; retry shortly."


class CardVersionUnknown(NotFound):
    """The registry card has no such version."""

    code = "REGISTRY_CARD_VERSION_UNKNOWN"
    sentence = "The registry card has no version of this number."


class IconMissing(NotFound):
    """The operator has uploaded no icon."""

    code = "REGISTRY_ICON_MISSING"
    sentence = "The registry card has no icon."


class CardMemberInvalid(Invalid):
    """A member of the registry card has the wrong type, is outside its limits, or does not exist."""

    code = "REGISTRY_CARD_INVALID"


class CardBlockLocked(Invalid):
    """The member of the registry card is derived by the registry and cannot be written."""

    code = "REGISTRY_CARD_BLOCK_LOCKED"
    remedy = "Send only the blocks that an operator writes: GET /admin/registry-card lists them."


class IconUnusable(Invalid):
    """The icon is not a PNG or JPEG image."""

    code = "REGISTRY_ICON_INVALID"
    remedy = "Send a PNG or JPEG image of at most 500 KB and 1024 by 1024 pixels as the member `file`."
