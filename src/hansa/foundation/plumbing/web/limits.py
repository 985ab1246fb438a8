"""Rate limits: sliding windows shared by all processes through the database.

- A strict limit (`Limit`) keeps the times of its last requests in one row and admits or refuses in one statement.
- Public reads (for each client) and writes (for each agent) are counted in the process against permits leased in blocks,
  so that most cost no statement (`LeasedLimit`).
- A client is an address: the right-most one not of a named proxy; IPv6 by its /64.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from ipaddress import IPv6Address, ip_address
from typing import Annotated

import msgspec
from fastapi import Depends, Request
from fastapi.requests import HTTPConnection

from hansa.foundation.plumbing.process.runtime import Slot, runtime_of
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.early_authentication import evaluated_once
from hansa.foundation.plumbing.web.problem_docs import refuses_with
from hansa.foundation.plumbing.web.trusted_proxies import is_proxy
from hansa.foundation.values.errors import TooManyRequests

WINDOW_SECONDS = 60
BLOCKS_PER_WINDOW = 60
CLIENTS_KEPT = 20_000
SUBNET_BITS, SITE_BITS = 64, 48
"""Of an IPv6 address: one network, and the networks that a provider assigns to one customer."""

_ADMIT = """
INSERT INTO plumbing_rate_limit AS l (bucket, admitted) VALUES ($1, ARRAY[clock_timestamp()])
ON CONFLICT (bucket) DO UPDATE SET admitted = CASE
  WHEN (SELECT count(*) FROM unnest(l.admitted) t WHERE t > clock_timestamp() - $3 * interval '1 second') < $2
  THEN ARRAY(SELECT t FROM unnest(l.admitted) t WHERE t > clock_timestamp() - $3 * interval '1 second')
       || clock_timestamp()
  ELSE l.admitted END,
  refused = (SELECT count(*) FROM unnest(l.admitted) t WHERE t > clock_timestamp() - $3 * interval '1 second') >= $2
RETURNING refused,
  ceil(extract(epoch FROM admitted[1] + $3 * interval '1 second' - clock_timestamp()))::int AS wait_seconds
"""


class Limit(msgspec.Struct, frozen=True):
    """At most `count` requests in any `seconds`, for each key of the limit called `name`."""

    name: str
    count: int
    seconds: int = 60


async def admit(database: Database, limit: Limit, key: str) -> None:
    """Count one request. Raises: TooManyRequests."""
    wait = await _wait_of(database, limit, key)
    if wait is not None:
        raise _refusal(limit.count, limit.seconds, wait)


async def _wait_of(database: Database, limit: Limit, key: str) -> int | None:
    """Count one request; None when it is admitted, else in how many seconds the next one would be."""
    row = await database.transaction(
        lambda tx: tx.fetchrow(_ADMIT, f"{limit.name}:{key}", limit.count, float(limit.seconds))
    )
    assert row is not None
    return max(1, row["wait_seconds"]) if row["refused"] else None


def limited(limit: Limit) -> Callable[[Request], Awaitable[None]]:
    """A dependency that holds a route to `limit` for each client address."""

    @refuses_with(TooManyRequests)
    @evaluated_once
    async def within_limit(request: Request) -> None:
        await admit(runtime_of(request).database, limit, client_address(request))

    return within_limit


class LeasedLimit:
    """At most `per_minute` requests for each key, counted by this process in blocks leased from the shared bucket.

    0 admits all. Buckets of different names do not meet. Fewer `blocks` in a minute cost fewer statements; a block that is not used
    up counts in the minute after as well.
    """

    def __init__(
        self, database: Database, name: str, per_minute: int, *, blocks: int = BLOCKS_PER_WINDOW
    ) -> None:
        self._database = database
        self._name = name
        self._per_minute = per_minute
        self._block = max(1, per_minute // blocks)
        self._leases: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._renewals: dict[str, asyncio.Task[None]] = {}

    async def admit(self, client: str) -> None:
        """Count one request. Raises: TooManyRequests."""
        if self._per_minute == 0:
            return
        while not self._take(client):
            # Of many that find no permit one alone leases a block for all.
            renewal = self._renewals.get(client)
            if renewal is None:
                renewal = self._renewals[client] = asyncio.create_task(self._renew(client))
            await asyncio.shield(renewal)

    def _take(self, client: str) -> bool:
        left, until = self._leases.get(client, (0, 0.0))
        if left == 0 or until < time.monotonic():
            return False
        self._leases[client] = (left - 1, until)
        self._leases.move_to_end(client)
        return True

    async def _renew(self, client: str) -> None:
        blocks = max(1, self._per_minute // self._block)
        try:
            wait = await _wait_of(self._database, Limit(self._name, blocks, WINDOW_SECONDS), client)
            if wait is not None:
                raise _refusal(self._per_minute, WINDOW_SECONDS, wait)
            self._leases[client] = (self._block, time.monotonic() + WINDOW_SECONDS)
            if len(self._leases) > CLIENTS_KEPT:
                self._leases.popitem(last=False)
        finally:
            del self._renewals[client]


READ_LIMIT: Slot[LeasedLimit] = Slot(
    "limits: public reads",
    build=lambda runtime: LeasedLimit(runtime.database, "reads", runtime.settings.rate_limit_reads),
)
WRITE_LIMIT: Slot[LeasedLimit] = Slot(
    "limits: writes of agents",
    build=lambda runtime: LeasedLimit(runtime.database, "writes", runtime.settings.rate_limit_writes),
)


@refuses_with(TooManyRequests)
@evaluated_once
async def within_read_limit(request: Request) -> None:
    """A dependency that holds a public read to RATE_LIMIT_READS."""
    await READ_LIMIT.of(runtime_of(request)).admit(client_address(request))


WriteLimit = Annotated[LeasedLimit, Depends(WRITE_LIMIT.given)]
"""RATE_LIMIT_WRITES: a route that moves units counts each request of an agent against it, by its DID."""


def client_address(request: HTTPConnection) -> str:
    """The address that limits count: a header counts only from a named proxy."""
    return network_of(_address_of(request))


def client_site(request: HTTPConnection) -> str:
    """Return the address, like `client_address`, against acts that one client could repeat from many addresses: an IPv6 address stands for its /48."""
    return network_of(_address_of(request), SITE_BITS)


def _address_of(request: HTTPConnection) -> str:
    proxies = runtime_of(request).settings.trusted_proxies
    address = request.client.host if request.client else "unknown"
    hops = [hop.strip() for value in request.headers.getlist("x-forwarded-for") for hop in value.split(",")]
    while hops and is_proxy(address, proxies):
        address = hops.pop()
    return address


def network_of(address: str, ipv6_bits: int = SUBNET_BITS) -> str:
    """The network that counts as one client: an IPv4 address, or the leading bits of an IPv6 address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped:
            return str(parsed.ipv4_mapped)
        other_bits = 128 - ipv6_bits
        return f"{IPv6Address(int(parsed) >> other_bits << other_bits)}/{ipv6_bits}"
    return str(parsed)


def _refusal(count: int, seconds: int, wait: int) -> TooManyRequests:
    headers = {
        "RateLimit-Limit": str(count),
        "RateLimit-Remaining": "0",
        "RateLimit-Reset": str(wait),
        "RateLimit-Policy": f"{count};w={seconds}",
    }
    return TooManyRequests(
        f"More than {count} requests in {seconds} seconds; retry after {wait} seconds.",
        retry_after=wait,
        headers=headers,
    )


async def forget_idle_buckets(tx: Tx) -> None:
    """Delete buckets that no window reaches any more."""
    await tx.execute(
        "DELETE FROM plumbing_rate_limit WHERE admitted[cardinality(admitted)] < now() - interval '1 day'"
    )
