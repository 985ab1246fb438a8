"""Servers of a connection string: a cluster has several hosts, and one of them writes.

- A server that does not write is refused, whatever `target_session_attrs` the string has.
- The host that wrote last is tried first. The next host is tried as well when nothing answers for `HEAD_START_SECONDS`: a
  host that hangs or is switched off delays a connection by little.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import asyncpg
from asyncpg.connect_utils import SessionAttribute

if TYPE_CHECKING:
    Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

ACQUIRE_SECONDS = 5.0
HEAD_START_SECONDS = 0.5
WRITABLE = SessionAttribute.read_write

_ordered: dict[str, list[str]] = {}
"""The hosts of each connection string used by this process, in the order in which they are tried."""


def one_for_each_host(dsn: str) -> list[str]:
    """Connection strings with one host each, in the order of `dsn`; one without a list of hosts as it is."""
    parts = urlsplit(dsn)
    user, at, hosts = parts.netloc.rpartition("@")
    if "," in hosts:
        return [parts._replace(netloc=f"{user}{at}{host}").geturl() for host in hosts.split(",")]
    query = dict(parse_qsl(parts.query))
    if hosts or "," not in query.get("host", ""):
        return [dsn]
    listed = query["host"].split(",")
    ports = query.get("port", "5432").split(",")
    if len(ports) == 1:
        ports *= len(listed)
    if len(ports) != len(listed):
        # Refused by the driver, in its words.
        return [dsn]
    return [
        f"{dsn.partition('?')[0]}?{urlencode({**query, 'host': host, 'port': port}, quote_via=quote, safe='/')}"
        for host, port in zip(listed, ports, strict=True)
    ]


def for_programs(dsn: str) -> str:
    """The connection string for programs of PostgreSQL, which take the first host that answers unless it says otherwise."""
    if len(one_for_each_host(dsn)) == 1 or "target_session_attrs=" in dsn:
        return dsn
    return f"{dsn}{'&' if '?' in dsn else '?'}target_session_attrs={WRITABLE.value}"


def writer_of(dsn: str) -> str:
    """The connection string of the host that wrote last, else of the first one."""
    return _ordered.get(dsn, one_for_each_host(dsn))[0]


async def connect_to_writer(dsn: str, **options: Any) -> "tuple[Connection, str]":
    """Connect to the host that writes; returns its connection string as well. `options` are those of `asyncpg.connect`.

    Raises: its errors, after `ACQUIRE_SECONDS` TimeoutError.
    """
    waiting = _ordered.setdefault(dsn, one_for_each_host(dsn)).copy()
    attempts: dict[asyncio.Task[Connection], str] = {}
    failures: list[BaseException] = []
    try:
        async with asyncio.timeout(ACQUIRE_SECONDS):
            while waiting or attempts:
                if waiting:
                    host = waiting.pop(0)
                    attempts[asyncio.create_task(_attempt(host, options))] = host
                head_start = HEAD_START_SECONDS if waiting else None
                ended, _ = await asyncio.wait(
                    attempts, timeout=head_start, return_when=asyncio.FIRST_COMPLETED
                )
                for attempt in ended:
                    host = attempts.pop(attempt)
                    if (error := attempt.exception()) is None:
                        prefer(dsn, host)
                        return attempt.result(), host
                    failures.append(error)
    finally:
        for attempt in attempts:
            attempt.add_done_callback(_end)
            attempt.cancel()
    raise _most_specific(failures)


def prefer(dsn: str, host: str) -> None:
    """Try this host first from now on."""
    _ordered[dsn].sort(key=lambda one: one != host)


def avoid(dsn: str, host: str) -> None:
    """Try this host last from now on: it took the connection and does not commit."""
    _ordered[dsn].sort(key=lambda one: one == host)


async def _attempt(host: str, options: dict[str, Any]) -> "Connection":
    connection: Connection = await asyncpg.connect(
        host, timeout=ACQUIRE_SECONDS, target_session_attrs=WRITABLE, **options
    )
    return connection


def _end(attempt: "asyncio.Task[Connection]") -> None:
    """Close the connection of an attempt that came to its end after another one."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().terminate()


def _most_specific(failures: Sequence[BaseException]) -> BaseException:
    """The failure that says most: a refusal of a server, then a server that does not write, then no connection."""

    def rank(failure: BaseException) -> int:
        if isinstance(failure, asyncpg.TargetServerAttributeNotMatched):
            return 1
        return 0 if isinstance(failure, asyncpg.PostgresError) else 2

    return min(failures, key=rank)
