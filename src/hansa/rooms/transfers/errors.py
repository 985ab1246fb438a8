"""Why a transfer is refused beyond what the book refuses."""

from hansa.foundation.words.errors import Forbidden


class AccountRevoked(Forbidden):
    """The payee is an agent that was revoked: its account receives nothing any more."""

    code = "ACCOUNT_REVOKED"
    sentence = "A revoked agent receives nothing."
