"""The kit in front of any ASGI application.

- The work runs in a task of its own: a client that goes away does not interrupt it, and finds the stored answer later.
- An ordinary answer is sent once it is stored and, where the service captures, paid. A stream is passed on as it comes
  and collected at its end; one that could not be collected is cut, so that the client repeats the call.
- The body of a request is read before it is known to be paid only where the price depends on it, or a payment came
  with it.
- A web socket has no calls that could be paid one by one: at an address with a price it is refused.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from .call_payment import CallPayment, Send
from .challenge import presented_in
from .http_answers import Message, Recorder
from .paid_calls import PaidCalls
from .refusals import Outcome, Refused
from .requests import HttpRequest, Pricing, Select, selecting

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

BODY_MAX_BYTES = 2 * 1024 * 1024
SCOPE_KEY = "hansa.payment"
POLICY_VIOLATION = 1008


class PaidApp:
    """An ASGI application of which some requests are paid."""

    def __init__(self, app: Any, service: PaidCalls, pricing: "Pricing | Select | None") -> None:
        self._app, self._service, self._select = app, service, selecting(pricing)
        self._reads_body = callable(pricing)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket" and self._select(_request_of({**scope, "method": "GET"})):
            await _refuse_socket(receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = _request_of(scope)
        is_read = self._reads_body or presented_in(request.headers) is not None
        body = await _body_of(receive) if is_read else b""
        if body is None:
            too_large = Refused(
                413, "BODY_TOO_LARGE", f"A body has at most {BODY_MAX_BYTES} bytes.", Outcome.FAILED
            )
            await CallPayment(self._service, request, send).refuse(too_large)
            return
        payment = CallPayment(self._service, request.with_body(body), send)
        if priced := self._select(payment.request):
            await payment.demand(priced)
            if not payment.working:
                await payment.send_decision()
                return
        call = asyncio.create_task(self._work(scope, receive, payment, is_read=is_read))
        self._service.keep_running(call)
        try:
            await asyncio.shield(call)
        except asyncio.CancelledError:
            # The client went away: paid work goes on.
            if not payment.is_demanded:
                call.cancel()
            raise

    async def _work(self, scope: Scope, receive: Receive, payment: CallPayment, *, is_read: bool) -> None:
        recorder = Recorder(self._service.answer_max_bytes, lambda: payment.is_demanded, payment.pass_on)
        sent_body = False

        async def received() -> Message:
            nonlocal sent_body
            if is_read and not sent_body:
                sent_body = True
                return {"type": "http.request", "body": payment.request.body, "more_body": False}
            if payment.working:
                # Paid work is not notified that its client went away.
                await recorder.ended.wait()
                return {"type": "http.disconnect"}
            return await receive()

        try:
            await self._app({**scope, SCOPE_KEY: payment}, received, recorder.take)
        except Exception:
            if payment.working is None:
                raise
            log.exception("the work for a paid call failed")
            recorder.fail()
        except asyncio.CancelledError:
            if payment.working:
                await payment.working.abandon()
            raise
        await payment.conclude(recorder)

    async def _lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def heard() -> Message:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await self._service.start()
            return message

        async def answered(message: Message) -> None:
            if message["type"].startswith("lifespan.shutdown"):
                await self._service.stop()
            await send(message)

        await self._app(scope, heard, answered)


async def _refuse_socket(receive: Receive, send: Send) -> None:
    await receive()
    await send(
        {"type": "websocket.close", "code": POLICY_VIOLATION, "reason": "This address is paid by call."}
    )


async def _body_of(receive: Receive) -> bytes | None:
    """The whole body; None when it is too large, or the client went away while sending it."""
    chunks: list[bytes] = []
    length = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunks.append(message.get("body", b""))
        length += len(chunks[-1])
        if length > BODY_MAX_BYTES:
            return None
        if not message.get("more_body", False):
            return b"".join(chunks)


def _request_of(scope: Scope) -> HttpRequest:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    path = scope["path"]
    host = headers.get("host", "")
    return HttpRequest(
        method=scope["method"],
        path=path,
        query=scope.get("query_string", b"").decode("latin-1"),
        url=f"{scope.get('scheme', 'http')}://{host}{path}",
        headers=headers,
        body=b"",
        root_path=scope.get("root_path", ""),
        raw_path=scope["raw_path"].partition(b"?")[0].decode("latin-1") if scope.get("raw_path") else None,
    )
