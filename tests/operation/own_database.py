"""An empty database of a role that is no superuser, as an operator gives it to a registry."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg

PASSWORD = "Plain-Harbour-17"


@asynccontextmanager
async def own_database(server: str) -> AsyncIterator[str]:
    """The DSN of such a database, which is dropped afterwards; `server` is the DSN of a superuser."""
    name = f"owned_{uuid4().hex[:8]}"
    connection = await asyncpg.connect(server)
    await connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
    await connection.execute(f"CREATE DATABASE {name} OWNER {name}")
    parts = urlsplit(server)
    host = parts.netloc.rpartition("@")[2]
    try:
        yield urlunsplit(parts._replace(netloc=f"{name}:{PASSWORD}@{host}", path=f"/{name}"))
    finally:
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        await connection.execute(f"DROP ROLE {name}")
        await connection.close()
