"""Cache of the tokens that a process verified: their settlement need not look them up.

Only members of a token that never change are relied on. Whether it is still open is judged in the commit that settles it.
"""

from hansa.foundation.plumbing.process.runtime import Slot

from .rules import Token

# About 5 MB; beyond it the oldest are looked up again.
KNOWN_MAX = 5000


class VerifiedTokenCache:
    """Tokens by their hash, each until it is settled."""

    def __init__(self, most: int = KNOWN_MAX) -> None:
        self._most = most
        self._tokens: dict[bytes, Token] = {}

    def note(self, token_sha256: bytes, token: Token) -> None:
        """Keep a token as it was read."""
        if len(self._tokens) >= self._most and token_sha256 not in self._tokens:
            del self._tokens[next(iter(self._tokens))]
        self._tokens[token_sha256] = token

    def take(self, token_sha256: bytes) -> Token | None:
        """Remove a token from the cache and return it; the next request reads the row of the database."""
        return self._tokens.pop(token_sha256, None)


VERIFIED_TOKENS: Slot[VerifiedTokenCache] = Slot(
    "commerce: tokens that this process verified", build=lambda _: VerifiedTokenCache()
)
