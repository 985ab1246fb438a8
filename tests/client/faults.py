"""A network that loses requests and answers, between a client and a real registry."""

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx2

from hansa_client.trust import trusted_authorities


@dataclass
class Faults:
    """Faults of a transport. `plans` hold those of the next requests to a path; empty: none.

    `answer lost`, `request lost`, a status such as `503`, or an answer in place of the registry's: one of `ANSWERS`.
    """

    plans: dict[str, deque[str]] = field(default_factory=lambda: defaultdict(deque))
    sent: list[httpx2.Request] = field(default_factory=list)

    def next(self, path: str, *plan: str) -> None:
        self.plans[path].extend(plan)

    def keys(self, path: str) -> list[str | None]:
        """The Idempotency-Key of each request that was sent to a path."""
        return [request.headers.get("Idempotency-Key") for request in self.sent if request.url.path == path]

    def asynchronous(self) -> httpx2.AsyncBaseTransport:
        return _Asynchronous(self)

    def synchronous(self) -> httpx2.BaseTransport:
        return _Synchronous(self)

    def before(self, request: httpx2.Request) -> str:
        self.sent.append(request)
        plan = self.plans[request.url.path]
        fault = plan.popleft() if plan else ""
        if fault == "request lost":
            raise httpx2.ConnectError("the connection was refused", request=request)
        return fault

    def after(self, request: httpx2.Request, response: httpx2.Response, fault: str) -> httpx2.Response:
        if fault == "answer lost":
            raise httpx2.ReadError("the connection was closed", request=request)
        if fault in ANSWERS:
            return ANSWERS[fault](request)
        return httpx2.Response(int(fault), request=request) if fault else response


# What a proxy or another service at the address of a registry may answer.
ANSWERS: dict[str, Callable[[httpx2.Request], httpx2.Response]] = {
    "a page": lambda request: httpx2.Response(
        200, request=request, html="<html>Log in to the network</html>"
    ),
    "half a document": lambda request: httpx2.Response(200, request=request, content=b'{"balance": "1'),
    "broken encoding": lambda request: httpx2.Response(
        200,
        request=request,
        headers={"Content-Encoding": "gzip"},
        stream=httpx2.ByteStream(b"not compressed"),
    ),
    "a redirection": lambda request: httpx2.Response(
        301, request=request, headers={"Location": "https://registry.example/"}
    ),
    "a deep refusal": lambda request: httpx2.Response(400, request=request, content=b"[" * 200_000),
}


class _Asynchronous(httpx2.AsyncHTTPTransport):
    def __init__(self, faults: Faults) -> None:
        super().__init__(verify=trusted_authorities())
        self._faults = faults

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        fault = self._faults.before(request)
        response = await super().handle_async_request(request)
        if fault:
            await response.aread()
            await response.aclose()
        return self._faults.after(request, response, fault)


class _Synchronous(httpx2.HTTPTransport):
    def __init__(self, faults: Faults) -> None:
        super().__init__(verify=trusted_authorities())
        self._faults = faults

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        fault = self._faults.before(request)
        response = super().handle_request(request)
        if fault:
            response.read()
            response.close()
        return self._faults.after(request, response, fault)
