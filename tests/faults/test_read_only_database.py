"""A database that does not write is a 503, and the registry serves again soon after the database does."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from tests.registry import TestAgent, TestRegistry, name_of

COME_TO_PASS_SECONDS = 60
END_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


async def in_the_database(registry: TestRegistry, *statements: str) -> None:
    await execute(registry.database.dsn, *statements)


async def execute(dsn: str, *statements: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(COME_TO_PASS_SECONDS):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def setting_of(registry: TestRegistry, change: str) -> str:
    return f'ALTER DATABASE "{name_of(registry.database.dsn)}" {change}'


async def pay(payer: TestAgent, payee: TestAgent, key: str) -> int:
    return (await payer.transfer(payee, "1", key=key)).status_code


@pytest.mark.parametrize("are_connections_ended", [True, False])
async def test_a_read_only_database_is_a_503_and_service_resumes_by_itself(
    registry: TestRegistry, *, are_connections_ended: bool
):
    payer, payee = await registry.agent(), await registry.agent()
    await asyncio.gather(*(payer.balance() for _ in range(8)))
    await in_the_database(registry, setting_of(registry, "SET default_transaction_read_only = on"))
    if are_connections_ended:
        await in_the_database(registry, END_OTHERS)
    else:
        await make_sessions_read_only(registry)
    answers = [await pay(payer, payee, f"order-{number}") for number in range(20)]
    assert set(answers) == {503}
    assert (await registry.http.get("/readyz")).status_code == 503
    await in_the_database(
        registry,
        "SET default_transaction_read_only = off",
        setting_of(registry, "RESET default_transaction_read_only"),
    )

    async def is_served() -> bool:
        return await pay(payer, payee, "order-0") == 200

    await until(is_served)
    assert [await pay(payer, payee, f"order-{number}") for number in range(20)] == [200] * 20


async def make_sessions_read_only(registry: TestRegistry) -> None:
    """Make all sessions read-only at once, like a server that becomes a standby."""
    pool = registry.database._pool
    assert pool is not None
    connections = [await pool.acquire() for _ in range(pool.get_size())]
    for connection in connections:
        await connection.execute("SET default_transaction_read_only = on")
    for connection in connections:
        await pool.release(connection)


async def test_an_outage_leaves_no_traceback_in_the_log(
    registry: TestRegistry, caplog: pytest.LogCaptureFixture
):
    payer, payee = await registry.agent(), await registry.agent()
    caplog.set_level(logging.DEBUG)
    another = urlunsplit(urlsplit(registry.database.dsn)._replace(path="/postgres"))
    ends = END_OTHERS.replace("current_database()", f"'{name_of(registry.database.dsn)}'")
    await execute(another, setting_of(registry, "ALLOW_CONNECTIONS false"), ends)
    assert {await pay(payer, payee, f"order-{number}") for number in range(20)} == {503}
    await asyncio.sleep(2)
    await execute(another, setting_of(registry, "ALLOW_CONNECTIONS true"))

    async def is_served() -> bool:
        return await pay(payer, payee, "order-0") == 200

    await until(is_served)
    assert [record for record in caplog.records if record.exc_info] == []
