"""How payments of the journal end: settled, freed, or found to have ended at the registry."""

import time
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

import msgspec

from hansa_client import AsyncRegistry
from hansa_client.calls import NOT_READABLE, Call
from hansa_client.errors import BadRequest, HansaError, Invalid, Refusal
from hansa_client.pay.journal import Entry, Journal, Progress
from hansa_client.pay.primitives import async_result
from hansa_client.pay.wallet import WALLET, Authorization
from hansa_client.records.payments import AuthorizedToken, ListedToken

ENDED = {
    "settled": Progress.SETTLED,
    "released": Progress.RELEASED,
    "expired": Progress.EXPIRED,
    "failed": Progress.FAILED,
}
NOT_SENT = (Progress.PLANNED, Progress.UNDELIVERED)
"""Without the id of a token: it is recorded before the token is sent or settled."""
SERVER_ERRORS = 500
OPEN_REFUSALS = frozenset({401, 409, 429})
TOKENS_LISTED = 200
STATUSES = ("authorized", "consumed", "settling", *ENDED)
# Reasons of `/x402/verify` for an authorization: its nonce is used, or its time is over.
WALLET_ENDED = {
    "invalid_exact_evm_nonce_already_used": Progress.SETTLED,
    "invalid_exact_evm_payload_authorization_valid_before": Progress.EXPIRED,
}
# The registry keeps the answer of an authorization for 24 hours.
ANSWER_SECONDS = 23 * 3600.0


class Absent(StrEnum):
    """Why a token has no status."""

    UNKNOWN = "The registry has no such token. If nothing was paid, release the payment."
    NOT_LISTED = "The registry lists newer tokens only."


class AsyncEnding:
    """Ends entries. An entry that cannot be ended now stays open in the journal, which says why; nothing is raised for it."""

    def __init__(self, registry: AsyncRegistry, journal: Journal) -> None:
        self._registry = registry
        self._journal = journal

    async def settle(self, entry: Entry, token: AuthorizedToken, receipt: str | None = None) -> Progress:
        """Pay for delivered work; a token that the payee captures was captured before its answer came."""
        is_captured = entry.capture_by == "payee"
        progress = Progress.SETTLED if is_captured else Progress.DELIVERED
        # Written while the registry settles. After a kill in between, the registry states what is settled, and what is only recorded is
        # settled then.
        recorded = self._journal.move(entry.payment_id, progress, token_id=token.token_id, receipt=receipt)
        if not is_captured:
            delivered = replace(entry, progress=progress)
            progress = await self._settle(delivered, token, success=True, detail=None)
        await async_result(recorded)
        return progress

    async def free(self, entry: Entry, token: AuthorizedToken, detail: str) -> Progress:
        """Give up a token: nothing was delivered for it. One that its payee consumed is freed by the payee, or expires."""
        progress = Progress.UNDELIVERED
        await async_result(
            self._journal.move(entry.payment_id, progress, token_id=token.token_id, detail=detail)
        )
        return await self._settle(replace(entry, progress=progress), token, success=False, detail=detail)

    async def inspect(self, entry: Entry, *, is_given_up: bool = False) -> Progress:
        """Return the progress of an entry as the registry states it; an ended one is recorded as such.

        An expired token that the registry does not have leaves it open, because a registry may have forgotten a payment; with
        `is_given_up` it is released.
        """
        if entry.capture_by == WALLET:
            return await self._look_at_wallet(entry)
        try:
            status = await self._status_of(entry.token_id) if entry.token_id else Absent.UNKNOWN
        except HansaError as error:
            return await self.leave_open(entry, f"The registry does not say what became of it: {error}")
        if ended := ENDED.get(status):
            return await self._ended(entry, ended, None)
        is_over = entry.expires_at <= time.time()
        return await self._outlived(entry, status, is_given_up=is_given_up) if is_over else entry.progress

    async def _outlived(self, entry: Entry, status: str, *, is_given_up: bool) -> Progress:
        """The time of the token is over, and the registry does not list it as ended."""
        if entry.token_id is None and entry.progress in NOT_SENT:
            return await self._ended(entry, Progress.EXPIRED, "no token was sent")
        if status is Absent.UNKNOWN and is_given_up:
            detail = "released on request: the registry has no such token"
            return await self._ended(entry, Progress.RELEASED, detail)
        reason = status if isinstance(status, Absent) else f"The token is still {status}."
        return await self.leave_open(entry, reason)

    async def leave_open(self, entry: Entry, reason: str) -> Progress:
        """Record why an entry cannot be ended."""
        await async_result(self._journal.note(entry.payment_id, reason))
        return entry.progress

    async def may_authorize(self, entry: Entry) -> bool:
        """Return whether the registry returns the first token for the key of an entry, and it may still be usable.

        The registry keeps the answer of an authorization for a day; later the same key would make a second token.
        """
        if entry.expires_at > time.time():
            return True
        if entry.progress is Progress.SETTLED and time.time() - entry.created_at < ANSWER_SECONDS:
            return True
        await self.inspect(entry)
        return False

    async def _settle(
        self, entry: Entry, token: AuthorizedToken, *, success: bool, detail: str | None
    ) -> Progress:
        try:
            settlement = await self._registry.payments.settle(token.token, success=success)
        except Refusal as refusal:
            if refusal.status in OPEN_REFUSALS or refusal.status >= SERVER_ERRORS:
                return entry.progress
            # The token has ended with another outcome.
            return await self.inspect(replace(entry, token_id=token.token_id))
        except HansaError:
            return entry.progress
        ended = ENDED.get(settlement.status)
        return await self._ended(entry, ended, detail or settlement.reason) if ended else entry.progress

    async def _look_at_wallet(self, entry: Entry) -> Progress:
        """Inspect the nonce of an authorization; if it is used, this payment used it, because it was drawn for this payment."""
        kept = await async_result(self._journal.authorization(entry.payment_id))
        if kept is None:
            return entry.progress
        call = Call("POST", "/x402/verify", json=Authorization.read(kept).question(), is_idempotent=True)
        try:
            content = (await self._registry.fetch(call)).content
            reason = msgspec.json.decode(content, type=dict[str, Any]).get("invalidReason")
        except (HansaError, *NOT_READABLE) as error:
            return await self.leave_open(entry, f"The registry does not say what became of it: {error}")
        if ended := WALLET_ENDED.get(reason or ""):
            return await self._ended(entry, ended, None)
        if entry.expires_at > time.time():
            return entry.progress
        return await self.leave_open(entry, f"The registry records no end of it: {reason or 'still valid'}.")

    async def _status_of(self, token_id: str) -> str:
        """The status of a token, or why there is none. A registry that does not know the filter lists the newest tokens."""
        tokens = self._registry.payments.tokens
        try:
            listed = await tokens(token_id=token_id, limit=TOKENS_LISTED)
        except (BadRequest, Invalid):
            listed = await tokens(limit=TOKENS_LISTED)
        if found := _status_in(listed, token_id):
            return found
        if len(listed) < TOKENS_LISTED:
            return Absent.UNKNOWN
        for status in STATUSES:
            if found := _status_in(await tokens(status=status, limit=TOKENS_LISTED), token_id):
                return found
        return Absent.NOT_LISTED

    async def _ended(self, entry: Entry, progress: Progress, detail: str | None) -> Progress:
        await async_result(self._journal.move(entry.payment_id, progress, detail=detail))
        return progress


def _status_in(listed: Sequence[ListedToken], token_id: str) -> str | None:
    return next((token.status for token in listed if token.token_id == token_id), None)
