"""Answer to an authorization, and its stored form under the Idempotency-Key: sealed under that key as well.

An authorization that gathered with transfers keeps the receipt of its order, with the token sealed; one that was judged by
itself keeps the whole answer, sealed.
"""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.web.idempotency import Repeatable
from hansa.foundation.plumbing.web.sealed_answers import opened_answer, sealed_answer
from hansa.rooms import ledger

from .authorize import AuthorizeOrder
from .extensions import AUTHORIZE
from .schemas import AuthorizeOut

SEALED_FOR = "payment authorization"


@dataclass(frozen=True)
class AuthorizeAnswer:
    """Makes the answers to one authorize request; `request` is None without an Idempotency-Key."""

    order: AuthorizeOrder
    settings: Settings
    seal: Seal = field(repr=False)
    request: Repeatable | None

    def shown(self, secret: str, token_id: UUID, expires_at: datetime) -> str:
        """The answer with this token."""
        return AuthorizeOut.json_of(self.order, secret, token_id, expires_at, self.settings)

    def sealed(self, kept: str) -> str:
        """Seal a stored answer under the key of the request."""
        assert self.request is not None, "an answer is kept under a key"
        return sealed_answer(self.seal, self.request.key, kept, SEALED_FOR)

    def repeated(self, kept: str) -> str:
        """Restore the first answer from its stored form. Raises: StoredAnswerUnreadable."""
        if not ledger.is_of_receipts(kept):
            return self._opened(kept)
        return self.repeated_receipt(ledger.stored_receipts(kept)[0])

    def repeated_receipt(self, receipt: ledger.Receipt) -> str:
        """Restore the first answer, as `repeated` does, from the stored receipt. Raises: StoredAnswerUnreadable."""
        written = AUTHORIZE.outcome_of(receipt)
        assert written.sealed is not None, "the token is kept with a receipt that is kept"
        secret, token_id = self._opened(written.sealed).split()
        return self.shown(secret, UUID(token_id), written.expires_at)

    def _opened(self, sealed: str) -> str:
        assert self.request is not None, "an answer is kept under a key"
        return opened_answer(self.seal, self.request.key, sealed, SEALED_FOR)
