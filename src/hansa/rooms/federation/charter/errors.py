"""Why the charter refuses."""

from hansa.foundation.values.errors import Conflict, Unavailable


class KeyDoesNotOpen(Unavailable):
    """The registry's signing key was encrypted with a different sealing key than this process has."""

    code = "SIGNING_KEY_SEALED"
    sentence = (
        "The registry's signing key does not open with the sealing key in DIR/keys:"
        " restore that file, or begin a new key with `hansa keys rotate`; when another process holds the keys, run"
        " `hansa keys export FILE` there and `hansa keys import FILE` here."
    )


class KeyUnusable(Conflict):
    """The supplied key already signed for this registry, or is not a valid signing key."""

    code = "SIGNING_KEY_UNUSABLE"
    sentence = "This key cannot be used: it signed for the registry before. Supply a new key."
