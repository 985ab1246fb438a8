"""Calls to other hosts, each with a deadline for the whole of it and a cap on the size of the answer.

- Only public hosts are called, by https. Each call says who named its address: OUTGOING_ALLOW_HOSTS lists further hosts for
  addresses that the operator named, OUTGOING_ALLOW_USER_HOSTS those for addresses that users named.
- No redirect is followed: a status of 3xx is an answer like others. No proxy, cookie or password of the environment.
- One call to a host at a time, or as many as their limits allow; the others wait for their turn, outside their deadline.
- Never within a transaction: a call lasts as long as its host likes, up to the deadline.
"""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from time import monotonic

import httpcore2
import httpx2
import msgspec

import hansa
from hansa.foundation.plumbing.telemetry import metrics
from hansa.foundation.plumbing.telemetry.tracing import TRACE
from hansa.foundation.values.web_address import WebAddress, read_web_address, why_closed

from .dialling import GuardedBackend, Lookup
from .errors import (
    ERROR_REASONS,
    AddressRefused,
    AnswerTooLarge,
    AnswerUnreadable,
    CertificateRefused,
    HostBusy,
    HostUnreachable,
    OutgoingTimeout,
    OutgoingTrouble,
)
from .txt_records import SystemTxt, TxtLookup

TURN_SECONDS = 30.0
USER_AGENT = f"hansa/{hansa.__version__}"
metrics.begin(
    metrics.outgoing_total,
    (*ERROR_REASONS, *(f"{hundreds}xx" for hundreds in range(2, 6))),
)
CODINGS_TAKEN = frozenset({"", "identity", "gzip", "deflate"})


class NamedBy(Enum):
    """Origin of the address of a call, which decides the list of further hosts that it may reach.

    `OPERATOR`: settings, peers and the documents that registries publish of themselves. `USER`: webhooks, cards and services of agents.
    """

    OPERATOR = "operator"
    USER = "user"


class CallLimits(msgspec.Struct, frozen=True):
    """`seconds` for the whole call once it is its turn; `body_bytes` after decompression, 0: the body is not read.

    Of the calls with the same `at_once` so many go to one host at a time.
    """

    seconds: float = 10.0
    body_bytes: int = 2 * 1024 * 1024
    at_once: int = 1


@dataclass(frozen=True)
class Answer:
    """Answer of a host, whatever its status. Names in `headers` are lower-case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True)
class Call:
    """One request. `url` is absolute, or a path where the other end is known."""

    method: str
    url: str
    body: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class Outgoing:
    """The calls of one process.

    `of_operator` and `of_users` hold `host:port` pairs, by the origin of an address; `lookup`, `trust` and `texts` are the
    system's by default.
    """

    def __init__(
        self,
        of_operator: Collection[str] = (),
        of_users: Collection[str] = (),
        *,
        lookup: Lookup | None = None,
        trust: ssl.SSLContext | None = None,
        texts: TxtLookup | None = None,
    ) -> None:
        self.texts: TxtLookup = texts or SystemTxt()
        """The TXT records of a domain. Raises: OutgoingTrouble."""
        self._allowed = {NamedBy.OPERATOR: frozenset(of_operator), NamedBy.USER: frozenset(of_users)}
        self._backends = {origin: GuardedBackend(hosts, lookup) for origin, hosts in self._allowed.items()}
        self._given_trust = trust
        self._turns: dict[tuple[str, int], asyncio.Semaphore] = {}
        self._waiting: Counter[tuple[str, int]] = Counter()

    async def get(
        self,
        url: str,
        *,
        named_by: NamedBy,
        headers: Mapping[str, str] | None = None,
        limits: CallLimits = CallLimits(),
    ) -> Answer:
        """Raises: OutgoingTrouble."""
        return await self.send("GET", url, named_by=named_by, headers=headers, limits=limits)

    async def post(
        self,
        url: str,
        body: bytes,
        *,
        named_by: NamedBy,
        headers: Mapping[str, str] | None = None,
        limits: CallLimits = CallLimits(),
    ) -> Answer:
        """Raises: OutgoingTrouble."""
        return await self.send("POST", url, body, named_by=named_by, headers=headers, limits=limits)

    async def send(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        *,
        named_by: NamedBy,
        headers: Mapping[str, str] | None = None,
        limits: CallLimits = CallLimits(),
    ) -> Answer:
        """Call `url` and take its answer in. Raises: OutgoingTrouble, whose subclasses say which error."""
        try:
            address = self._require_open(url, named_by)
            async with self._turn_of(address.place, limits.at_once):
                call = Call(method, address.url, body, headers or {})
                async with self._client(named_by, limits.seconds) as client:
                    answer = await exchange(client, call, limits)
        except OutgoingTrouble as error:
            metrics.outgoing_total.labels(error.reason).inc()
            raise
        metrics.outgoing_total.labels(f"{answer.status // 100}xx").inc()
        return answer

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return self._given_trust or httpx2.create_ssl_context(trust_env=False)

    def _require_open(self, url: str, named_by: NamedBy) -> WebAddress:
        address = read_web_address(url)
        if address is None:
            raise AddressRefused("not_a_web_address")
        if closed := why_closed(address, self._allowed[named_by]):
            raise AddressRefused(closed)
        return address

    @asynccontextmanager
    async def _turn_of(self, host: str, at_once: int) -> AsyncIterator[None]:
        queue = (host, at_once)
        turn = self._turns.setdefault(queue, asyncio.Semaphore(at_once))
        self._waiting[queue] += 1
        try:
            try:
                async with asyncio.timeout(TURN_SECONDS):
                    await turn.acquire()
            except TimeoutError:
                raise HostBusy from None
            try:
                yield
            finally:
                turn.release()
        finally:
            self._waiting[queue] -= 1
            if not self._waiting[queue]:
                del self._waiting[queue], self._turns[queue]

    def _client(self, named_by: NamedBy, seconds: float) -> httpx2.AsyncClient:
        """A client for one call: cookies and connections end with it."""
        return httpx2.AsyncClient(
            transport=GuardedTransport(self._backends[named_by], self._trust),
            trust_env=False,
            follow_redirects=False,
            timeout=seconds,
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"},
        )


class GuardedTransport(httpx2.AsyncHTTPTransport):
    """Connections by the guarded backend alone."""

    def __init__(
        self,
        backend: httpcore2.AsyncNetworkBackend,
        trust: ssl.SSLContext,
        *,
        connections_max: int | None = None,
        idle_seconds: float | None = None,
    ) -> None:
        super().__init__(verify=trust, trust_env=False)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=trust,
            network_backend=backend,
            max_connections=connections_max,
            keepalive_expiry=idle_seconds,
        )


async def exchange(client: httpx2.AsyncClient, call: Call, limits: CallLimits) -> Answer:
    """One request and its answer, within the limits. Raises: OutgoingTrouble."""
    deadline = monotonic() + limits.seconds
    try:
        async with asyncio.timeout(limits.seconds):
            headers = dict(call.headers)
            if (trace := TRACE.get()) is not None:
                headers["traceparent"] = trace.traceparent
            request = client.build_request(call.method, call.url, content=call.body, headers=headers)
            answer = await client.send(request, stream=True)
            try:
                return await _taken_in(answer, limits.body_bytes)
            finally:
                await answer.aclose()
    except (TimeoutError, httpx2.TimeoutException):
        raise OutgoingTimeout from None
    except httpx2.ConnectError as error:
        raise _trouble_of(error) from None
    except (httpx2.ProtocolError, httpx2.DecodingError, httpx2.InvalidURL, UnicodeError):
        raise AnswerUnreadable from None
    except (httpx2.TransportError, OSError):
        raise (OutgoingTimeout if monotonic() >= deadline else HostUnreachable) from None


async def _taken_in(answer: httpx2.Response, most: int) -> Answer:
    body = bytearray()
    if most:
        # A coding that was not asked for, or several on top of each other, unpack to more than they are worth.
        if answer.headers.get("content-encoding", "").strip().lower() not in CODINGS_TAKEN:
            raise AnswerUnreadable
        async for piece in answer.aiter_bytes():
            body += piece
            if len(body) > most or answer.num_bytes_downloaded > most:
                raise AnswerTooLarge
    return Answer(
        answer.status_code, {name.lower(): value for name, value in answer.headers.items()}, bytes(body)
    )


def _trouble_of(error: httpx2.ConnectError) -> OutgoingTrouble:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return CertificateRefused()
        cause = cause.__cause__ or cause.__context__
    return HostUnreachable()
