"""A registry under test: the real application in process, on a real database, with builders for the objects of tests."""

import asyncio
import email
import itertools
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from email.message import EmailMessage
from email.policy import default as mail_policy
from pathlib import Path
from secrets import randbelow
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
import httpx2
from fastapi import FastAPI
from msgspec.structs import replace

from hansa.doors.assembly import ASSEMBLY
from hansa.doors.http.app import build_app
from hansa.doors.serving.listeners import listen
from hansa.doors.serving.serve import server_of
from hansa.doors.startup import prepared_database, runtime_on
from hansa.foundation.plumbing.keys.authority import Svid
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings, read_settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.migrate import migrate
from hansa.rooms import federation
from hansa.rooms.catalogue.search import SEARCHER
from hansa.rooms.journal.feed import LIVE_FEED
from tests.actors import create_agent, register, register_administrator
from tests.running_jobs import run_due
from tests.unknown_paths import HOOKS

PASSWORD = "Correct-Horse-7-Battery"
TEMPLATE = "hansa_test_template"

StartRegistry = Callable[..., Awaitable["TestRegistry"]]


class DatabaseFarm:
    """Fresh migrated databases, cloned from a template."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._made: list[str] = []
        self._template = f"{TEMPLATE}_{uuid4().hex[:8]}"

    async def prepare(self, *, has_schema: bool = False) -> None:
        """Make the template, of the database that the DSN names where that holds the schema and nothing else."""
        if has_schema:
            source = name_of(self._dsn)
            await self._run(f'CREATE DATABASE "{self._template}" TEMPLATE "{source}" STRATEGY file_copy')
            return
        await self._run(f'CREATE DATABASE "{self._template}"')
        await migrate(self._named(self._template))

    async def fresh(self, dsn: str | None = None) -> str:
        """A database with the schema and nothing in it; its address is `dsn`, or one made up."""
        return await self.copy(self._named(self._template), dsn or self.unused())

    async def copy(self, original: str, dsn: str) -> str:
        """A copy of a database that nobody is connected to, under the address `dsn`."""
        name, template = name_of(dsn), name_of(original)
        await self._run(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')
        self._made.append(name)
        return dsn

    def unused(self) -> str:
        """The address of a database that is still to be made."""
        return self._named(f"hansa_test_{uuid4().hex[:12]}")

    async def drop(self, dsn: str) -> None:
        """Let a database go before the whole farm does; its pages in memory are never written to disk."""
        self._made.remove(name_of(dsn))
        await self._run(f'DROP DATABASE "{name_of(dsn)}" WITH (FORCE)')

    async def clear(self) -> None:
        for name in [*self._made, self._template]:
            await self._run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def _named(self, name: str) -> str:
        return urlunsplit(urlsplit(self._dsn)._replace(path="/" + name))

    async def _run(self, statement: str) -> None:
        connection = await asyncpg.connect(self._dsn)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


def name_of(dsn: str) -> str:
    """The name of the database that is meant."""
    return urlsplit(dsn).path.removeprefix("/")


async def care_for_no_crash(dsn: str) -> None:
    """Let the server of this run leave writing to the kernel; tests of crashes bring servers of their own."""
    connection = await asyncpg.connect(dsn)
    try:
        for setting in ("fsync", "full_page_writes"):
            await connection.execute(f"ALTER SYSTEM SET {setting} = off")
        await connection.execute("SELECT pg_reload_conf()")
    finally:
        await connection.close()


@dataclass(frozen=True)
class TestDeveloper:
    """A registered developer with a token."""

    __test__ = False

    registry: "TestRegistry"
    email: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", **self.registry.elsewhere()}

    async def api_key(self, *scopes: str) -> "TestDeveloper":
        """The same developer, who shows an API key with these scopes, or with every one."""
        body = {"key_name": "For tests", "scopes": list(scopes) or None}
        answer = await self.registry.post("/auth/api-keys", json=body, headers=self.headers)
        assert answer.status_code == 200, answer.text
        return TestDeveloper(self.registry, self.email, answer.json()["plain_api_key"])

    async def bootstrap_token(self) -> str:
        answer = await self.registry.post("/onboard/bootstrap/request-token", json={}, headers=self.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()["bootstrap_token"]

    async def agent(self, **card: Any) -> "TestAgent":
        """Create an agent, with a token."""
        created, token = await create_agent(self.registry.runtime, self.token, card_of(**card))
        return TestAgent(self.registry, created["agent_did"], token, created)


@dataclass(frozen=True)
class TestAgent:
    """An agent with a token."""

    __test__ = False

    registry: "TestRegistry"
    did: str
    token: str
    created: dict[str, Any]

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    async def balance(self) -> str:
        answer = await self.registry.get("/teg/balance", headers=self.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()["balance"]

    async def transfer(
        self, payee: "TestAgent | str", amount: object, *, key: str | None = None, **more: Any
    ) -> httpx2.Response:
        headers = {**self.headers, **({"Idempotency-Key": key} if key else {})}
        receiver = payee if isinstance(payee, str) else payee.did
        body = {"receiver_agent_id": receiver, "amount": amount, **more}
        return await self.registry.post("/teg/transfer", json=body, headers=headers)


class TestRegistry:
    """One running registry."""

    __test__ = False

    def __init__(self, runtime: Runtime, app: FastAPI, http: httpx2.AsyncClient) -> None:
        self.runtime = runtime
        self.app = app
        self.http = http
        self._numbers = itertools.count(1)

    @property
    def settings(self) -> Settings:
        return self.runtime.settings

    @property
    def database(self) -> Database:
        return self.runtime.database

    async def get(self, path: str, **request: Any) -> httpx2.Response:
        return await self.http.get("/api/v1" + path, **request)

    async def post(self, path: str, **request: Any) -> httpx2.Response:
        return await self.http.post("/api/v1" + path, **request)

    def elsewhere(self) -> dict[str, str]:
        """A header that makes the request come from an address of its own, past the limits per address."""
        return {"X-Forwarded-For": address_elsewhere()}

    async def transactions_ended(self) -> None:
        """Wait for the end of all transactions now open on the server, which hold back readings by change.

        Tests of another process have theirs there, where DATABASE_URL gives one server to all.
        """
        bounds = "SELECT {}(pg_current_snapshot())::text::bigint"

        async def bound(name: str) -> int:
            return await self.database.query(lambda tx: tx.fetchval(bounds.format(name)))

        begun = await bound("pg_snapshot_xmax")
        async with asyncio.timeout(60):
            while await bound("pg_snapshot_xmin") < begun:
                pass

    async def outbox(self) -> list[EmailMessage]:
        """The mails sent so far, oldest first, once the background has had its turn."""
        for turn in ASSEMBLY.rounds:
            # Visits to the hosts of agents write to nobody.
            if not turn.name.startswith("catalogue: "):
                await turn.work(self.runtime)
        queued = [kind for kind in ASSEMBLY.jobs if kind.every_seconds is None]
        # The uppermost room first: what it writes is sent by the mail queue of the foundation.
        await run_due(self.runtime, *reversed(queued))
        files = sorted((self.settings.data_dir / "outbox").glob("*.eml"))
        return [email.message_from_bytes(file.read_bytes(), policy=mail_policy) for file in files]

    async def developer(self, name: str | None = None) -> TestDeveloper:
        """Register a developer and log in."""
        number = next(self._numbers)
        email = f"developer{number}@example.org"
        token = await register(
            self.runtime,
            name=name or f"Developer {number}",
            email=email,
            password=PASSWORD,
            address=address_elsewhere(),
        )
        return TestDeveloper(self, email, token)

    async def administrator(self, *areas: str) -> TestDeveloper:
        """An administrator of these areas, made by the operator, logged in."""
        email = f"administrator{next(self._numbers)}@example.org"
        token = await register_administrator(
            self.runtime, *areas, email=email, password=PASSWORD, address=address_elsewhere()
        )
        return TestDeveloper(self, email, token)

    @property
    def internal(self) -> dict[str, str]:
        """The header of a service of the operator's own."""
        return {"X-Internal-Key": self.runtime.internal_key}

    async def admitted(self, trust_domain: str, **more: Any) -> dict[str, str]:
        """The header of another registry, which an administrator admitted."""
        administrator = await self.administrator("admin_federation")
        body = {"trust_domain": trust_domain, **more}
        answer = await self.post("/admin/federation/licence-keys", json=body, headers=administrator.headers)
        assert answer.status_code == 201, answer.text
        return {"X-Federation-License": answer.json()["licence_key"]}

    async def service(self, name: str, lifetime: timedelta = timedelta(days=1)) -> Svid:
        """The certificate of a service that the operator enrolled."""
        authority, trust_domain = self.runtime.authority, self.settings.trust_domain
        assert authority
        enrolled = await self.database.transaction(
            lambda tx: federation.enrol_service(
                tx, authority, name=name, trust_domain=trust_domain, lifetime=lifetime
            )
        )
        return enrolled.svid

    def forwarding(self, svid: Svid) -> dict[str, str]:
        """The header of a proxy that forwards this certificate as nginx does; tests come from a named proxy."""
        return {"X-SSL-Client-Cert": quote(svid.certificate_pem, safe="")}

    async def agent(self, **card: Any) -> TestAgent:
        """An agent of a developer of its own: it holds the genesis grant."""
        return await (await self.developer()).agent(**card)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """The same application on a socket, with its live feed; yields `host:port`."""
        listener = listen("127.0.0.1", 0)
        server = server_of(self.app)
        async with LIVE_FEED.of(self.runtime).following():
            task = asyncio.create_task(server.serve(sockets=[listener]))
            while not server.started:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            yield "{}:{}".format(*listener.getsockname())
            server.should_exit = True
            await task

    async def indexed(self) -> None:
        """Everything that is committed can be found by a search from now on."""
        await SEARCHER.of(self.runtime).catch_up()

    async def supply(self) -> dict[str, Any]:
        answer = await self.get("/public/supply-invariant")
        assert answer.status_code == 200, answer.text
        return answer.json()


def address_elsewhere() -> str:
    """An address that no other request comes from."""
    # Hypothesis seeds the generator of `random` anew for each history.
    return f"203.{randbelow(256)}.{randbelow(256)}.{randbelow(256)}"


def card_of(name: str = "Translator", **more: Any) -> dict[str, Any]:
    """A small A2A 1.0 card."""
    return {
        "name": name,
        "description": f"{name}: an agent for tests.",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": "https://agent.example.org/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": False},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "main", "name": name, "description": f"What {name} does.", "tags": ["test"]}],
        **more,
    }


def another_process(runtime: Runtime) -> Runtime:
    """Return the runtime of another process on the same database."""
    return replace(runtime, slots=ASSEMBLY.slots(), settings=runtime.settings.for_another_process())


def settings_of(dsn: str, directory: Path, **overrides: object) -> Settings:
    """The usual settings of tests; 127.0.0.1 is a trusted proxy so that tests can come from other addresses."""
    # Tests create more agents in an hour than a registry grants units to.
    unlimited = {"genesis_grants_per_address": 1_000_000, "genesis_grants_per_hour": 1_000_000}
    given = {"trusted_proxies": ["127.0.0.1"], "database_pool_size": 8, **unlimited, **overrides}
    own = {"database_url": dsn, "data_dir": directory}
    # What reading a file finds may change.
    if any(isinstance(value, Path) for value in given.values()):
        return read_settings(**own, **given)
    # The variable of pytest has another value in each phase of each test.
    environment = sorted(item for item in os.environ.items() if item[0] != "PYTEST_CURRENT_TEST")
    known = repr((sorted(given.items()), environment))
    if known not in _read:
        _read[known] = read_settings(**own, **given)
    return _read[known].model_copy(update=own)


# Reading and judging all settings costs 4 ms, and thousands of tests start registries with the same ones.
_read: dict[str, Settings] = {}


@asynccontextmanager
async def open_registry(dsn: str, directory: Path, **overrides: object) -> AsyncIterator[TestRegistry]:
    """Open the application in process; missing tables and files are made, as at every start."""
    settings = settings_of(dsn, directory, **overrides)
    async with prepared_database(settings), open_prepared(settings, dsn) as registry:
        yield registry


@asynccontextmanager
async def open_prepared(settings: Settings, dsn: str) -> AsyncIterator[TestRegistry]:
    """The application in process, on a database and a data directory that are ready."""
    database = Database(dsn, pool_size=settings.database_pool_size)
    await database.open()
    try:
        async with on_database(settings, database) as registry:
            yield registry
    finally:
        await database.close()


@asynccontextmanager
async def on_database(settings: Settings, database: Database) -> AsyncIterator[TestRegistry]:
    """The application in process, on an open database and a data directory that are ready."""
    runtime = runtime_on(database, settings)
    app = build_app(runtime)
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://registry.test", event_hooks=HOOKS
    ) as http:
        try:
            yield TestRegistry(runtime, app, http)
        finally:
            await SEARCHER.of(runtime).close()


def text_of(mail: EmailMessage) -> str:
    """The plain text of a mail."""
    body = mail.get_body(("plain",))
    assert body is not None
    return body.get_content()


async def at_once(*requests: Awaitable[Any]) -> list[Any]:
    """Send all requests at the same moment."""
    return list(await asyncio.gather(*requests))
