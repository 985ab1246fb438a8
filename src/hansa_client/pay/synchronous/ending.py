# Generated from hansa_client/pay/asynchronous/ending.py by `python -m tests.house.synchronous`.
"""How payments of the journal end: settled, freed, or found to have ended at the registry."""

import time

import msgspec

from hansa_client import Registry
from hansa_client.calls import Call
from hansa_client.errors import HansaError, Refusal
from hansa_client.pay.journal import Entry, Journal, Progress
from hansa_client.pay.primitives import result
from hansa_client.pay.wallet import WALLET, Authorization

ENDED = {
    "settled": Progress.SETTLED,
    "released": Progress.RELEASED,
    "expired": Progress.EXPIRED,
    "failed": Progress.FAILED,
}
SERVER_ERRORS = 500
OPEN_REFUSALS = frozenset({401, 409, 429})
TOKENS_LISTED = 200
# Reasons of `/x402/verify` for an authorization: its nonce is used, or its time is over.
WALLET_ENDED = {
    "invalid_exact_evm_nonce_already_used": Progress.SETTLED,
    "invalid_exact_evm_payload_authorization_valid_before": Progress.EXPIRED,
}
# The registry keeps the answer of an authorization for 24 hours.
ANSWER_SECONDS = 23 * 3600.0


class Ending:
    """Ends entries. What cannot be ended now stays open in the journal; nothing is raised for it."""

    def __init__(self, registry: Registry, journal: Journal) -> None:
        self._registry = registry
        self._journal = journal

    def settle(self, entry: Entry, token: str, receipt: str | None = None) -> Progress:
        """Pay for what was delivered; a token that the payee captures was captured before its answer came."""
        is_captured = entry.capture_by == "payee"
        progress = Progress.SETTLED if is_captured else Progress.DELIVERED
        result(self._journal.move(entry.payment_id, progress, receipt=receipt))
        if is_captured:
            return progress
        return self._settle(entry, token, success=True, detail=None)

    def free(self, entry: Entry, token: str, detail: str) -> Progress:
        """Give up a token: nothing was delivered for it. One that its payee consumed is freed by the payee, or expires."""
        result(self._journal.move(entry.payment_id, Progress.UNDELIVERED, detail=detail))
        return self._settle(entry, token, success=False, detail=detail)

    def look(self, entry: Entry) -> Progress:
        """What the registry says of an entry whose token is known; an ended one is recorded as such."""
        if entry.capture_by == WALLET:
            return self._look_at_wallet(entry)
        try:
            status = self._status_of(entry)
        except HansaError:
            return entry.progress
        if status is None:
            # No token is listed: none was made, or it lies beyond the list; after its expiry none can be used.
            return entry.progress if entry.expires_at > time.time() else self._gone(entry)
        ended = ENDED.get(status)
        return self._ended(entry, ended, None) if ended else entry.progress

    def may_authorize(self, entry: Entry) -> bool:
        """Whether the registry returns the first token for the key of an entry, and it may still be usable.

        The registry keeps the answer of an authorization for a day; later the same key would make a second token.
        """
        if entry.expires_at > time.time():
            return True
        if entry.progress is Progress.SETTLED and time.time() - entry.created_at < ANSWER_SECONDS:
            return True
        self.look(entry)
        return False

    def _settle(self, entry: Entry, token: str, *, success: bool, detail: str | None) -> Progress:
        try:
            settlement = self._registry.payments.settle(token, success=success)
        except Refusal as refusal:
            if refusal.status in OPEN_REFUSALS or refusal.status >= SERVER_ERRORS:
                return entry.progress
            # The token has ended with another outcome.
            return self.look(entry)
        except HansaError:
            return entry.progress
        ended = ENDED.get(settlement.status)
        return self._ended(entry, ended, detail or settlement.reason) if ended else entry.progress

    def _look_at_wallet(self, entry: Entry) -> Progress:
        """Whether the nonce of an authorization is used; it is by nobody else, because it was drawn for this payment."""
        kept = result(self._journal.authorization(entry.payment_id))
        if kept is None:
            return entry.progress
        call = Call("POST", "/x402/verify", json=Authorization.read(kept).question(), is_idempotent=True)
        try:
            answer = msgspec.json.decode((self._registry.fetch(call)).content)
        except (HansaError, msgspec.DecodeError):
            return entry.progress
        ended = WALLET_ENDED.get(answer.get("invalidReason"))
        return self._ended(entry, ended, None) if ended else entry.progress

    def _status_of(self, entry: Entry) -> str | None:
        if entry.token_id is None:
            return None
        for status in (
            None,
            "settled",
            "released",
            "expired",
            "failed",
            "consumed",
            "authorized",
            "settling",
        ):
            listed = self._registry.payments.tokens(status=status, limit=TOKENS_LISTED)
            for token in listed:
                if token.token_id == entry.token_id:
                    return token.status
            if len(listed) < TOKENS_LISTED and status is None:
                return None
        return None

    def _gone(self, entry: Entry) -> Progress:
        """An expired token that the registry does not list; one that may have been settled stays open."""
        if entry.progress is Progress.PLANNED:
            return self._ended(entry, Progress.EXPIRED, "no token was sent")
        return entry.progress

    def _ended(self, entry: Entry, progress: Progress, detail: str | None) -> Progress:
        result(self._journal.move(entry.payment_id, progress, detail=detail))
        return progress
