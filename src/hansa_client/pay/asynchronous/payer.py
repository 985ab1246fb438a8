"""Pays one HTTP request: decides on the offer, authorizes, sends, repeats until the outcome is known, settles."""

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import httpx2
import msgspec

from hansa_client import AsyncRegistry
from hansa_client.bounded import async_read_within
from hansa_client.calls import NOT_READABLE
from hansa_client.errors import HansaError, Refusal
from hansa_client.pay.budget import Budget
from hansa_client.pay.errors import (
    OfferDeclined,
    PaymentFailed,
    PaymentRefused,
    PaymentUnresolved,
)
from hansa_client.pay.journal import Begun, Entry, Intent, Journal, Progress
from hansa_client.pay.offer import Offer, read_offer, require_agreement
from hansa_client.pay.options import RESERVED, PayOptions, fingerprint_of, options_of, token_kind
from hansa_client.pay.outcome import PAYMENT_REQUIRED, Reading, pause_before_repeat, read_outcome
from hansa_client.pay.primitives import AsyncSend, AsyncStream, async_result
from hansa_client.pay.wallet import WALLET, WalletSigner
from hansa_client.primitives import async_sleep
from hansa_client.receipts import RECEIPT_HEADER, ReceiptInvalid, StreamDigest, digest_of, read_receipt
from hansa_client.records.payments import AuthorizedToken
from hansa_client.retries import UNSENT

from .cards import AsyncSignedCards
from .ending import AsyncEnding
from .wallet_payer import AsyncWalletPayer

RESERVE_NOT_POSSIBLE = "RESERVE_NOT_POSSIBLE"
"""Code with which a registry refuses to reserve units for a payee of another one."""

log = logging.getLogger(__name__)

STREAM = "text/event-stream"
PATIENCE_SECONDS = 60.0
# By how much the clocks of this machine and of the registry may differ.
CLOCK_SECONDS = 60
DEMANDED_MAX = 1000
OFFER_MAX_BYTES = 1024 * 1024
OFFER_SECONDS = 30.0
AS_ON_CARD = Offer("", Decimal(0), None)


@dataclass(frozen=True)
class PaidCall:
    """A call that is sent with a token."""

    entry: Entry
    token: AuthorizedToken
    request_digest: str


class AsyncPayer:
    """Parts that the requests of one client share."""

    def __init__(
        self,
        registry: AsyncRegistry,
        journal: Journal,
        budget: Budget,
        patience_seconds: float = PATIENCE_SECONDS,
        wallet: WalletSigner | None = None,
    ) -> None:
        self._registry = registry
        self._journal = journal
        self._budget = budget
        self._patience_seconds = patience_seconds
        self._cards = AsyncSignedCards(registry)
        self._demanded: dict[str, Offer] = {}
        """Offers by payee, of services that refused a payment by the terms of the card alone."""
        self._ending = AsyncEnding(registry, journal)
        self._wallet = (
            AsyncWalletPayer(registry, journal, self._ending, wallet, patience_seconds) if wallet else None
        )

    async def send(self, request: httpx2.Request, send: AsyncSend) -> httpx2.Response:
        """The response to a request, paid where it has to be.

        Raises: OfferDeclined, BudgetExceeded, PaymentFailed, PaymentRefused, PaymentUnresolved, PaymentInProgress.
        """
        options = options_of(request.extensions)
        if not options.is_paid:
            return await send(request)
        await request.aread()
        # A wallet pays what the service requires of one; for that it is asked first.
        is_known = options.payee is not None and self._wallet is None
        offer = await self._offer_on_card(options.payee) if options.payee and is_known else None
        if offer is None:
            response = await send(request)
            if response.status_code != PAYMENT_REQUIRED:
                return response
            await async_read_within(response, OFFER_MAX_BYTES, OFFER_SECONDS)
            paid = await self._paid_by_wallet(response, request, options, send)
            if paid is not None:
                return paid
            offer = read_offer(_problem(response))
            if offer is None:
                return response
        await self._require_acceptable(offer, request, options)
        try:
            return await self._begun(offer, request, options, send)
        except PaymentRefused as refused:
            # The card does not say how a service is paid: its refusal does.
            stated = read_offer(refused.problem) if is_known and options.capture_by is None else None
            if stated is None or (stated.capture_by, stated.is_reserved) == (
                offer.capture_by,
                offer.is_reserved,
            ):
                raise
        if len(self._demanded) >= DEMANDED_MAX:
            self._demanded.clear()
        self._demanded[stated.payee] = replace(stated, issuers=())
        await self._require_acceptable(stated, request, options)
        return await self._begun(stated, request, options, send)

    async def _begun(
        self, offer: Offer, request: httpx2.Request, options: PayOptions, send: AsyncSend
    ) -> httpx2.Response:
        try:
            return await self._attempted(offer, request, options, send)
        except PaymentFailed as failed:
            is_stated = options.capture_by is not None or "caller" not in offer.capture_by
            if is_stated or not _is_reserve_refused(failed):
                raise
        # Nothing can be reserved for a payee of another registry: its service may take a token that its caller settles.
        unreserved = replace(offer, capture_by=("caller",), is_reserved=False)
        return await self._attempted(unreserved, request, options, send)

    async def _attempted(
        self, offer: Offer, request: httpx2.Request, options: PayOptions, send: AsyncSend
    ) -> httpx2.Response:
        begun = await async_result(self._journal.begin(self._intent(request, offer, options), self._budget))
        return await self._paid(begun, offer, request, send)

    async def _paid_by_wallet(
        self, required: httpx2.Response, request: httpx2.Request, options: PayOptions, send: AsyncSend
    ) -> httpx2.Response | None:
        """The response to a request that a wallet paid; None where there is no wallet, or nothing is required of it."""
        stated = await self._wallet.offer(required, options.payee) if self._wallet else None
        if self._wallet is None or stated is None:
            return None
        await self._require_acceptable(stated.offer, request, options)
        intent = replace(
            self._intent(request, stated.offer, options),
            payer=self._wallet.wallet.address,
            capture_by=WALLET,
            ttl_seconds=stated.window_seconds + CLOCK_SECONDS,
            authorization=self._wallet.authorization(stated).text(),
        )
        begun = await async_result(self._journal.begin(intent, self._budget))
        return await self._wallet.paid(begun, request, send)

    async def _offer_on_card(self, payee: str) -> Offer | None:
        terms = await self._cards.terms(payee)
        if terms.price is None:
            return None
        return replace(
            self._demanded.get(payee, AS_ON_CARD), payee=payee, amount=terms.price, currency=terms.currency
        )

    async def _require_acceptable(self, offer: Offer, request: httpx2.Request, options: PayOptions) -> None:
        if options.payee not in {None, offer.payee}:
            raise OfferDeclined(f"The service names the payee {offer.payee}, not {options.payee}.")
        url = str(request.url)
        try:
            require_agreement(offer, await self._cards.terms(offer.payee), url)
        except OfferDeclined:
            # The card may have changed since it was read.
            require_agreement(offer, await self._cards.terms(offer.payee, is_fresh=True), url)
        self._budget.require_call(offer.amount, options.max_amount)

    def _intent(self, request: httpx2.Request, offer: Offer, options: PayOptions) -> Intent:
        preferred = options.capture_by or ("payee" if "payee" in offer.capture_by else "caller")
        return Intent(
            fingerprint=fingerprint_of(request),
            call_id=options.call_id,
            method=request.method,
            url=str(request.url).partition("?")[0],
            payee=offer.payee,
            registry=self._registry.url,
            payer=self._registry.agent_client_id,
            amount=offer.amount,
            currency=offer.currency,
            capture_by=RESERVED if preferred == "caller" and offer.is_reserved else preferred,
            ttl_seconds=options.ttl_seconds,
        )

    async def _paid(
        self, begun: Begun, offer: Offer, request: httpx2.Request, send: AsyncSend
    ) -> httpx2.Response:
        entry = begun.entry
        try:
            token = await self._authorized(begun)
            await self._require_agreed(token, entry, offer)
            await async_result(self._journal.move(entry.payment_id, Progress.SENT, token_id=token.token_id))
            return await self._answered(begun, token, request, send)
        except PaymentUnresolved as unresolved:
            await async_result(self._journal.interrupt(entry.payment_id, str(unresolved)))
            raise

    async def _authorized(self, begun: Begun) -> AuthorizedToken:
        """The token of an entry: a new one, or the one that an earlier attempt was given."""
        entry = begun.entry
        if begun.is_continued and not await self._ending.may_authorize(entry):
            raise PaymentUnresolved("The token of an earlier attempt has expired.", entry.payment_id)
        try:
            return await self._registry.payments.authorize(
                entry.payee,
                entry.amount,
                ttl_seconds=entry.ttl_seconds,
                key=entry.payment_id,
                **token_kind(entry.capture_by),
            )
        except Refusal as refusal:
            # A refusal of a first attempt leaves no token. One of a later attempt does not show whether the first had one.
            if begun.is_continued:
                raise PaymentUnresolved(str(refusal), entry.payment_id) from refusal
            await async_result(self._journal.move(entry.payment_id, Progress.FAILED, detail=refusal.code))
            raise PaymentFailed(str(refusal)) from refusal
        except HansaError as error:
            raise PaymentUnresolved(str(error), entry.payment_id) from error

    async def _require_agreed(self, token: AuthorizedToken, entry: Entry, offer: Offer) -> None:
        """Require a token for the requested payment, whose issuer the service accepts. Raises: OfferDeclined, after freeing it."""
        own = {token.issuer.rstrip("/"), self._registry.url}
        if offer.issuers and not own & {issuer.rstrip("/") for issuer in offer.issuers}:
            sentence = f"The service accepts tokens of {', '.join(offer.issuers)} only."
        elif offer.currency is not None and token.currency != offer.currency:
            sentence = f"The service is paid in {offer.currency}, this registry pays in {token.currency}."
        elif (token.amount, token.target_agent_did) != (entry.amount, entry.payee):
            sentence = "The registry issued a token for another payment."
        else:
            return
        await self._ending.free(entry, token, sentence)
        raise OfferDeclined(sentence)

    async def _answered(
        self, begun: Begun, token: AuthorizedToken, request: httpx2.Request, send: AsyncSend
    ) -> httpx2.Response:
        """Send with the token until the outcome is known."""
        entry, may_have_arrived = begun.entry, begun.is_continued
        header = token.issuer_header or "X-Payment-Issuer"
        waited, attempt, reason = 0.0, 0, ""
        while True:
            pause = pause_before_repeat({}, attempt)
            try:
                response = await send(_with_payment(request, token.token, header, token.issuer))
                if (
                    response.headers.get("content-type", "").startswith(STREAM)
                    and response.status_code < PAYMENT_REQUIRED
                ):
                    return self._streamed(request, response, entry, token)
                await async_read_within(response)
            except (httpx2.TransportError, httpx2.DecodingError) as error:
                reason = f"No answer: {type(error).__name__}."
                may_have_arrived = may_have_arrived or not isinstance(error, UNSENT)
            else:
                may_have_arrived = True
                reading = read_outcome(response.status_code, response.headers)
                if reading is not Reading.UNKNOWN:
                    call = PaidCall(entry, token, digest_of(request.content))
                    return await self._concluded(reading, response, call)
                reason = f"The service answered with status {response.status_code}."
                pause = pause_before_repeat(response.headers, attempt)
            waited, attempt = waited + pause, attempt + 1
            if waited > self._patience_seconds:
                if not may_have_arrived:
                    await self._free_unsent(entry, token, reason)
                raise PaymentUnresolved(reason, entry.payment_id)
            await async_sleep(pause)

    async def _free_unsent(self, entry: Entry, token: AuthorizedToken, reason: str) -> None:
        """No attempt reached the service. Raises: PaymentFailed, once the token is freed."""
        if await self._ending.free(entry, token, reason) is Progress.RELEASED:
            raise PaymentFailed(f"The service was not reached, and nothing was paid. {reason}")

    async def _concluded(
        self, reading: Reading, response: httpx2.Response, call: PaidCall
    ) -> httpx2.Response:
        entry, token = call.entry, call.token
        if reading is Reading.DELIVERED:
            receipt = _receipt(call, response.headers.get(RECEIPT_HEADER), digest_of(response.content))
            await self._ending.settle(entry, token, receipt)
            return response
        await self._ending.free(entry, token, f"status {response.status_code}")
        if reading is Reading.REFUSED:
            problem = _problem(response)
            detail = str(problem.get("detail") or "The service refused the payment.")
            raise PaymentRefused(detail, response.status_code, problem)
        return response

    def _streamed(
        self, request: httpx2.Request, response: httpx2.Response, entry: Entry, token: AuthorizedToken
    ) -> httpx2.Response:
        stream = response.stream
        assert isinstance(stream, AsyncStream)
        call = PaidCall(entry, token, digest_of(request.content))
        response.stream = AsyncPaidStream(stream, self._journal, self._ending, call)
        return response


class AsyncPaidStream(AsyncStream):
    """The stream of a paid call: settled when it has ended whole, left open when it has not."""

    def __init__(self, stream: AsyncStream, journal: Journal, ending: AsyncEnding, call: PaidCall) -> None:
        self._stream, self._journal, self._ending, self._call = stream, journal, ending, call
        self._is_whole = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        digest = StreamDigest()
        async for chunk in self._stream:
            if passed := digest.take(chunk):
                yield passed
        rest, receipt, answer_digest = digest.end()
        if rest:
            yield rest
        self._is_whole = True
        kept = _receipt(self._call, receipt, answer_digest)
        await self._ending.settle(self._call.entry, self._call.token, kept)

    async def aclose(self) -> None:
        """Close the connection; make the same call again to continue a stream that was cut."""
        await self._stream.aclose()
        if not self._is_whole:
            await async_result(self._journal.interrupt(self._call.entry.payment_id, "The stream was cut."))


def _receipt(call: PaidCall, text: str | None, answer_digest: str) -> str | None:
    """The receipt of this answer; one that is about another call is worth nothing, and the answer is paid all the same."""
    if text is None:
        return None
    try:
        read_receipt(text).require_digests(call.token.token_id, call.request_digest, answer_digest)
    except ReceiptInvalid as error:
        log.warning("the delivery receipt of payment %s is not kept: %s", call.entry.payment_id, error)
        return None
    return text


def _with_payment(request: httpx2.Request, token: str, issuer_header: str, issuer: str) -> httpx2.Request:
    # A delivery receipt has the digest of the answer's bytes as they are sent.
    stated = {"X-Payment-Token": token, "Accept-Encoding": "identity", issuer_header: issuer}
    added = [(name.encode("ascii"), value.encode("ascii")) for name, value in stated.items()]
    replaced = {name.lower() for name, _ in added}
    kept = [header for header in request.headers.raw if header[0].lower() not in replaced]
    return httpx2.Request(
        request.method,
        request.url,
        headers=[*kept, *added],
        content=request.content,
        extensions=dict(request.extensions),
    )


def _problem(response: httpx2.Response) -> dict[str, Any]:
    try:
        problem = msgspec.json.decode(response.content)
    except NOT_READABLE:
        return {}
    return problem if isinstance(problem, dict) else {}


def _is_reserve_refused(failed: PaymentFailed) -> bool:
    return isinstance(failed.__cause__, Refusal) and failed.__cause__.code == RESERVE_NOT_POSSIBLE
