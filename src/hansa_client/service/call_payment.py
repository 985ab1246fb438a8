"""The payment of one request over HTTP, from its headers to the response."""

import logging
from collections.abc import Awaitable, Callable
from decimal import Decimal

from hansa_client.errors import HansaError
from hansa_client.receipts import RECEIPT_HEADER, stream_comment

from . import refusals
from .admission import Stored, Working
from .challenge import Challenge, payment_headers, presented_in, refusal_as_http, x402_failure
from .http_answers import HttpAnswer, Message, Recorder
from .paid_calls import PaidCalls
from .refusals import Outcome, Refused
from .requests import HttpRequest, Priced, order_of

log = logging.getLogger(__name__)

Send = Callable[[Message], Awaitable[None]]


class StreamCut(Exception):
    """A stream ended without being stored and collected; the server closes the connection."""


class CallPayment:
    """The payment of one request over HTTP."""

    def __init__(self, service: PaidCalls, request: HttpRequest, send: Send) -> None:
        self.request = request
        self.working: Working | None = None
        """Set while the application does the paid work."""
        self._service, self._send = service, send
        self._decision: Stored | Refused | None = None
        self._challenge: Challenge | None = None
        self._priced: Priced | None = None
        self._presented = presented_in(request.headers)

    @property
    def is_demanded(self) -> bool:
        """Return whether this request was found to be paid."""
        return self.working is not None or self._decision is not None

    async def demand(self, priced: Priced) -> Working | Stored | Refused:
        """Admit the request at this price, once."""
        if decided := self.working or self._decision:
            return decided
        self._priced = priced
        try:
            terms = await self._service.terms(priced.price)
            self._challenge = await self._service.challenge(terms, self.request.url)
            decision = await self._service.admit(self._presented, terms, priced.order)
        except HansaError as error:
            log.warning("the registry of this service does not answer: %s", error)
            decision = refusals.issuer_unavailable()
        if isinstance(decision, Working):
            self.working = decision
        else:
            self._decision = decision
        return decision

    async def demand_price(self, price: Decimal | None) -> Working | Stored | Refused:
        """Admit the request at the price of its route; None is the price of the service."""
        return await self.demand(Priced(price, order_of(self.request)))

    async def pass_on(self, message: Message) -> None:
        """Send the application's message as it comes: of a request that is not paid, or of the stream of one that is."""
        if self._decision is None:
            await self._send(message)

    async def conclude(self, recorder: Recorder) -> None:
        """Send the decision, or store and collect the recorded answer and send it."""
        if self._decision is not None:
            await self.send_decision()
            return
        if self.working is None:
            return
        answer = recorder.answer()
        limit = self._service.answer_max_bytes
        if recorder.is_too_large:
            status, headers, body = refusal_as_http(refusals.answer_too_large(limit), self._stated())
            answer = HttpAnswer.of(status, headers, body)
        outcome = Outcome.DELIVERED if recorder.is_complete and self._is_delivered(answer) else Outcome.FAILED
        receipt = None
        if outcome is Outcome.DELIVERED:
            receipt = self._service.receipt_of(self.working.facts.token_id, self.request.body, answer.body)
        if receipt is not None:
            answer = answer.with_headers([(RECEIPT_HEADER, receipt)])
        self._decision = await self.working.finish(answer.packed(), outcome, receipt)
        if not recorder.was_passed_on:
            await self.send_decision()
        elif isinstance(self._decision, Refused) or outcome is Outcome.FAILED:
            raise StreamCut("the stream of a paid call was not stored and collected")
        else:
            # A comment begins at the start of a line.
            has_comment = receipt is not None and recorder.is_of_events and answer.body.endswith(b"\n")
            last = stream_comment(receipt) if receipt and has_comment else b""
            await self._send({"type": "http.response.body", "body": last, "more_body": False})

    def _is_delivered(self, answer: HttpAnswer) -> bool:
        assert self._priced
        return answer.is_success and not self._priced.is_failure(answer.body)

    async def send_decision(self) -> None:
        """Send the stored answer, or the refusal."""
        if isinstance(self._decision, Refused):
            await self.refuse(self._decision)
        elif self._decision is not None:
            stored = self._decision
            answer = HttpAnswer.unpacked(stored.content)
            more = payment_headers(stored.outcome, stored.facts, stored.settlement_tx_id, self._stated())
            await self._send_whole(answer.with_headers(more))

    async def refuse(self, refused: Refused) -> None:
        """Send a refusal."""
        status, headers, body = refusal_as_http(refused, self._challenge)
        by_x402 = self._presented is not None and self._presented.by_x402
        if by_x402 and refused.is_challenge and self._challenge and self._challenge.x402:
            headers.append(x402_failure(refused, self._challenge.x402))
        await self._send_whole(HttpAnswer.of(status, headers, body))

    async def _send_whole(self, answer: HttpAnswer) -> None:
        for message in answer.messages():
            await self._send(message)

    def _stated(self) -> Challenge:
        assert self._challenge
        return self._challenge
