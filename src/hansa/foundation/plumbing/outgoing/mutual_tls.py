"""Calls over mutual TLS to hosts whose identity is known beforehand: one connection pool for each of them.

- The host is judged by the roots of its own trust domain and by its exact SPIFFE id; its host name proves nothing.
- The address guard, the deadline and the cap on the answer are those of every other call.
- After some calls in a row that failed, none is made for a pause that doubles. A slow or dead host
  does not delay calls to others: each host has its own connections.
- A GET whose connection ends without an answer is sent once more, over another connection.
- A pool is left for a new one when the host's roots, its address or the own certificate changed, and after an hour.
"""

import ssl
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from tempfile import NamedTemporaryFile
from time import monotonic

import httpcore2
import httpx2
import msgspec
from cryptography import x509

from hansa.foundation.plumbing.keys.authority import Svid
from hansa.foundation.plumbing.keys.trust_bundle import uris_of
from hansa.foundation.plumbing.telemetry import metrics
from hansa.foundation.values.web_address import read_web_address, why_closed

from .calls import USER_AGENT, Answer, Call, CallLimits, GuardedTransport, exchange
from .dialling import GuardedBackend, Lookup
from .errors import AddressRefused, AnswerUnreadable, CertificateRefused, CircuitOpen, OutgoingTrouble

CONNECTIONS_MAX = 8
IDLE_SECONDS = 60.0
POOL_SECONDS = 3600.0
LEFT_SECONDS = 300.0
FAILURES_BEFORE_PAUSE = 5
PAUSE_SECONDS = 1.0
PAUSE_MAX_SECONDS = 60.0


@dataclass(frozen=True)
class MutualEnd:
    """The other end: where it is, who it has to be, and the roots in PEM that prove it."""

    base_url: str
    spiffe_id: str
    roots_pem: str = field(repr=False)


class _Circuit(msgspec.Struct):
    """How the calls to one host went: `failures` in a row, and until when none is made."""

    failures: int = 0
    closed_until: float = 0.0

    def require_closed(self) -> None:
        now = monotonic()
        if now < self.closed_until:
            raise CircuitOpen
        if self.failures >= FAILURES_BEFORE_PAUSE:
            # One call tries the host; those beside it are still refused.
            self.closed_until = now + self._pause()

    def failed(self) -> None:
        self.failures += 1
        if self.failures >= FAILURES_BEFORE_PAUSE:
            self.closed_until = monotonic() + self._pause()

    def succeeded(self) -> None:
        self.failures, self.closed_until = 0, 0.0

    def _pause(self) -> float:
        doublings = max(0, self.failures - FAILURES_BEFORE_PAUSE)
        return float(min(PAUSE_MAX_SECONDS, PAUSE_SECONDS * 2 ** min(doublings, 16)))


class _Pool(msgspec.Struct, frozen=True):
    end: MutualEnd
    own: Svid
    client: httpx2.AsyncClient
    since: float

    def serves(self, end: MutualEnd, own: Svid) -> bool:
        return (self.end, self.own) == (end, own) and monotonic() < self.since + POOL_SECONDS


class MutualCalls:
    """The calls of one process; `allowed` holds `host:port` pairs."""

    def __init__(self, allowed: Collection[str] = (), *, lookup: Lookup | None = None) -> None:
        self._allowed = frozenset(allowed)
        self._backend = GuardedBackend(self._allowed, lookup)
        self._pools: dict[int, _Pool] = {}
        self._circuits: dict[int, _Circuit] = {}
        self._left: list[_Pool] = []
        """Replaced pools, on which calls may still be under way."""

    async def send(
        self,
        peer: int,
        end: MutualEnd,
        own: Svid,
        call: Call,
        limits: CallLimits,
    ) -> Answer:
        """Make a call whose `url` is a path at the other end; `peer` is the id of its connections and failures.

        Raises: OutgoingTrouble, whose subclasses say which error.
        """
        circuit = self._circuits.setdefault(peer, _Circuit())
        try:
            self._require_open(end.base_url)
            circuit.require_closed()
            client = await self._client(peer, end, own)
            answer = await _exchange_with_retry(client, replace(call, url=end.base_url + call.url), limits)
        except OutgoingTrouble as error:
            metrics.outgoing_total.labels(error.reason).inc()
            if not isinstance(error, AddressRefused | CircuitOpen):
                circuit.failed()
            raise
        circuit.succeeded()
        metrics.outgoing_total.labels(f"{answer.status // 100}xx").inc()
        return answer

    async def forget(self, peer: int) -> None:
        """Close the connections to a peer and forget how calls to it went."""
        self._circuits.pop(peer, None)
        pool = self._pools.pop(peer, None)
        if pool is not None:
            await pool.client.aclose()

    async def close(self) -> None:
        """Close every connection."""
        for peer in list(self._pools):
            await self.forget(peer)
        left, self._left = self._left, []
        for pool in left:
            await pool.client.aclose()

    def _require_open(self, base_url: str) -> None:
        address = read_web_address(base_url)
        if address is None or address.scheme != "https":
            raise AddressRefused("not_a_web_address" if address is None else "plain_http")
        if closed := why_closed(address, self._allowed):
            raise AddressRefused(closed)

    async def _client(self, peer: int, end: MutualEnd, own: Svid) -> httpx2.AsyncClient:
        pool = self._pools.get(peer)
        if pool is not None and pool.serves(end, own):
            return pool.client
        client = httpx2.AsyncClient(
            transport=GuardedTransport(
                _PinnedBackend(self._backend, end.spiffe_id),
                _context(end, own),
                connections_max=CONNECTIONS_MAX,
                idle_seconds=IDLE_SECONDS,
            ),
            trust_env=False,
            follow_redirects=False,
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"},
        )
        self._pools[peer] = _Pool(end, own, client, monotonic())
        if pool is not None:
            await self._leave(pool, end)
        return client

    async def _leave(self, pool: _Pool, end: MutualEnd) -> None:
        if pool.end != end:
            # What proved the other end until now may prove it no longer: nothing more is sent there.
            await pool.client.aclose()
            return
        self._left.append(pool)
        ended = [left for left in self._left if monotonic() > left.since + POOL_SECONDS + LEFT_SECONDS]
        self._left = [left for left in self._left if left not in ended]
        for left in ended:
            await left.client.aclose()


async def _exchange_with_retry(client: httpx2.AsyncClient, call: Call, limits: CallLimits) -> Answer:
    try:
        return await exchange(client, call, limits)
    except AnswerUnreadable:
        # The host may end a kept connection just when it is used. A GET changes nothing, so it is sent again over another one.
        if call.method != "GET":
            raise
        return await exchange(client, call, limits)


def _context(end: MutualEnd, own: Svid) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # The SPIFFE id says who the host is; it is compared after the handshake.
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_verify_locations(cadata=end.roots_pem)
    show_certificate(context, own)
    return context


def show_certificate(context: ssl.SSLContext, own: Svid) -> None:
    """Show this certificate from the next handshake on."""
    # The library reads certificates from files alone; this one is gone when it has.
    with NamedTemporaryFile(prefix="identity-", suffix=".pem") as file:
        file.write(f"{own.key_pem}{own.certificate_pem}".encode())
        file.flush()
        context.load_cert_chain(file.name)


class _PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Connections on which a handshake counts only if the other end shows one SPIFFE id."""

    def __init__(self, backend: httpcore2.AsyncNetworkBackend, spiffe_id: str) -> None:
        self._backend = backend
        self._spiffe_id = spiffe_id

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        stream = await self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        return _PinnedStream(stream, self._spiffe_id)


class _PinnedStream(httpcore2.AsyncNetworkStream):
    def __init__(self, stream: httpcore2.AsyncNetworkStream, spiffe_id: str) -> None:
        self._stream = stream
        self._spiffe_id = spiffe_id

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        shown = stream.get_extra_info("ssl_object").getpeercert(binary_form=True)
        if uris_of(x509.load_der_x509_certificate(shown)) != [self._spiffe_id]:
            await stream.aclose()
            raise CertificateRefused
        return stream

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)
