"""Pays one HTTP request by the signature of a wallet, as clients of x402 do."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from hansa_client import AsyncRegistry
from hansa_client.bounded import async_read_within
from hansa_client.calls import Call, read_answer
from hansa_client.pay.errors import AnswerLost, PaymentRefused, PaymentUnresolved
from hansa_client.pay.journal import Begun, Entry, Journal, Progress
from hansa_client.pay.outcome import PAYMENT_REQUIRED, Reading, pause_before_repeat, read_outcome
from hansa_client.pay.primitives import AsyncSend, async_result
from hansa_client.pay.wallet import (
    PAYMENT_HEADER,
    REQUIRED_HEADER,
    RESPONSE_HEADER,
    Authorization,
    WalletNetwork,
    WalletOffer,
    WalletSigner,
    decoded,
    encoded,
    read_wallet_offer,
)
from hansa_client.primitives import async_sleep

from .ending import AsyncEnding

STREAM = "text/event-stream"
PENDING = "settlement_pending"


@dataclass(frozen=True)
class AsyncWalletPayer:
    """Signs with one wallet, and sends until the outcome is known."""

    registry: AsyncRegistry
    journal: Journal
    ending: AsyncEnding
    wallet: WalletSigner
    patience_seconds: float

    async def offer(self, response: httpx2.Response, payee: str | None) -> WalletOffer | None:
        """Return the offer that a 402 makes to a wallet of this registry; None where it makes none.

        Raises: OfferDeclined, HansaError.
        """
        if REQUIRED_HEADER not in response.headers:
            return None
        call = Call("GET", "/x402/supported")
        answer = await self.registry.fetch(call)
        network = WalletNetwork.of(read_answer(answer.content, dict[str, Any], call))
        return read_wallet_offer(response.headers, network, payee)

    def authorization(self, offer: WalletOffer) -> Authorization:
        """A new authorization, not signed yet."""
        return Authorization.of(offer, self.wallet.address, int(time.time()))

    async def paid(self, begun: Begun, request: httpx2.Request, send: AsyncSend) -> httpx2.Response:
        """The response to a request that bears the payment.

        Raises: PaymentRefused, PaymentUnresolved, AnswerLost.
        """
        entry = begun.entry
        try:
            assert begun.authorization is not None
            authorization = Authorization.read(begun.authorization)
            if begun.is_continued:
                await self._require_usable(entry)
            payment = await self._signed(begun, authorization)
            await async_result(self.journal.move(entry.payment_id, Progress.SENT))
            return await self._answered(entry, _with_payment(request, payment), send)
        except PaymentUnresolved as unresolved:
            await async_result(self.journal.interrupt(entry.payment_id, str(unresolved)))
            raise

    async def _require_usable(self, entry: Entry) -> None:
        """Raises: PaymentUnresolved where the authorization of an earlier attempt has expired."""
        if entry.expires_at <= time.time() and entry.progress is not Progress.SETTLED:
            await self.ending.inspect(entry)
            raise PaymentUnresolved("The authorization of an earlier attempt has expired.", entry.payment_id)

    async def _signed(self, begun: Begun, authorization: Authorization) -> str:
        try:
            return encoded(authorization.signed_by(self.wallet))
        except BaseException:
            if not begun.is_continued:
                await async_result(
                    self.journal.move(begun.entry.payment_id, Progress.FAILED, detail="not signed")
                )
            raise

    async def _answered(self, entry: Entry, request: httpx2.Request, send: AsyncSend) -> httpx2.Response:
        """Send until the outcome is known; each time the same payment, which is settled once."""
        waited, attempt, reason = 0.0, 0, ""
        while True:
            pause = pause_before_repeat({}, attempt)
            try:
                response = await send(request)
                if not response.headers.get("content-type", "").startswith(STREAM):
                    await async_read_within(response)
            except (httpx2.TransportError, httpx2.DecodingError) as error:
                reason = f"No answer: {type(error).__name__}."
            else:
                reading = read_outcome(response.status_code, response.headers)
                if reading is not Reading.UNKNOWN and _error_of(response) != PENDING:
                    return await self._concluded(reading, response, entry)
                reason = f"The service answered with status {response.status_code}."
                pause = pause_before_repeat(response.headers, attempt)
            waited, attempt = waited + pause, attempt + 1
            if waited > self.patience_seconds:
                raise PaymentUnresolved(reason, entry.payment_id)
            await async_sleep(pause)

    async def _concluded(self, reading: Reading, response: httpx2.Response, entry: Entry) -> httpx2.Response:
        """Conclude a payment. A signed authorization cannot be taken back: an unsettled one stays open until it expires."""
        progress = await self._progress(response, entry)
        if progress not in {Progress.SETTLED, Progress.EXPIRED}:
            is_delivered = reading is Reading.DELIVERED
            await async_result(
                self.journal.move(
                    entry.payment_id, Progress.DELIVERED if is_delivered else Progress.UNDELIVERED
                )
            )
            await async_result(
                self.journal.interrupt(entry.payment_id, f"Not settled; status {response.status_code}.")
            )
        if reading is Reading.REFUSED and progress is Progress.SETTLED:
            raise AnswerLost(f"The payment {entry.payment_id} is settled, and its answer was lost.")
        if reading is Reading.REFUSED:
            error = _error_of(response) or "The service refused the payment."
            raise PaymentRefused(error, response.status_code, _members(response))
        return response

    async def _progress(self, response: httpx2.Response, entry: Entry) -> Progress:
        if _settlement(response).get("success") is not True:
            return await self.ending.inspect(entry)
        await async_result(self.journal.move(entry.payment_id, Progress.SETTLED))
        return Progress.SETTLED


def _with_payment(request: httpx2.Request, payment: str) -> httpx2.Request:
    headers = httpx2.Headers(request.headers)
    headers[PAYMENT_HEADER] = payment
    return httpx2.Request(
        request.method,
        request.url,
        headers=headers,
        content=request.content,
        extensions=dict(request.extensions),
    )


def _settlement(response: httpx2.Response) -> Mapping[str, Any]:
    return decoded(response.headers.get(RESPONSE_HEADER))


def _members(response: httpx2.Response) -> Mapping[str, Any]:
    return _settlement(response) or decoded(response.headers.get(REQUIRED_HEADER))


def _error_of(response: httpx2.Response) -> str | None:
    """Why a service did not take a payment."""
    if response.status_code != PAYMENT_REQUIRED:
        return None
    members = _members(response)
    stated = members.get("errorReason") or members.get("error")
    return stated if isinstance(stated, str) else None
