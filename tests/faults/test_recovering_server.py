"""A server that recovers is refused before its first statement, and used once it writes."""

import asyncpg
import pytest

from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.values.errors import Unavailable
from tests.faults.standby import leader_and_standby, until, value_of

COMMIT_THAT_WAITS = "SELECT pg_logical_emit_message(true, 'hansa', '')"


async def test_no_statement_meets_a_server_that_recovers_and_a_promoted_standby_is_used():
    async with leader_and_standby() as pair:
        # The error of such a session has no class by which it could be known.
        with pytest.raises(asyncpg.InternalServerError, match="during recovery"):
            await value_of(pair.standby, COMMIT_THAT_WAITS)
        # Setting of each server of a cluster with synchronous replication: the first statement of a connection would be that one.
        standby = await asyncpg.connect(pair.standby)
        await standby.execute("ALTER SYSTEM SET synchronous_standby_names = 'none'")
        await standby.execute("SELECT pg_reload_conf()")
        await standby.close()
        await until(
            lambda: value_of(pair.standby, "SELECT current_setting('synchronous_standby_names') = 'none'")
        )
        database = Database(pair.standby)
        try:
            for _ in range(3):
                with pytest.raises(Unavailable, match="the server is read-only"):
                    await database.open()
                with pytest.raises(Unavailable, match="does not accept writes"):
                    await database.query_again(lambda tx: tx.fetchval("SELECT 1"))
            await value_of(pair.standby, "ALTER SYSTEM RESET synchronous_standby_names")
            await pair.fail_over()
            await value_of(pair.standby, "SELECT pg_reload_conf()")

            async def is_used() -> bool:
                try:
                    await database.open()
                except Unavailable:
                    return False
                return True

            await until(is_used)
            assert await database.transaction(lambda tx: tx.fetchval("SELECT pg_is_in_recovery()")) is False
        finally:
            await database.close()
