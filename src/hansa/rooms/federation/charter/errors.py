"""Why the charter refuses."""

from hansa.foundation.values.errors import Conflict, Unavailable


class KeyDoesNotOpen(Unavailable):
    """The registry's signing key was sealed under another sealing key than this process has."""

    code = "SIGNING_KEY_SEALED"
    sentence = (
        "The registry's signing key does not open with the sealing key in DIR/keys:"
        " restore that file, or begin a new key with `hansa keys rotate`; when another process holds the keys, run"
        " `hansa keys export FILE` there and `hansa keys import FILE` here."
    )


class KeyUnusable(Conflict):
    """The key that was brought signed for this registry already, or is none that may."""

    code = "SIGNING_KEY_UNUSABLE"
    sentence = "That key cannot sign for the registry: it signed before. Bring one that never did."
