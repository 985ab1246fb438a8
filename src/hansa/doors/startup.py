"""Start of a process before anything is served: the database, its schema, the book, and the runtime."""

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import takewhile
from time import monotonic

import structlog

from hansa.doors.assembly import ASSEMBLY
from hansa.foundation.events import REGISTRY_ACCOUNT
from hansa.foundation.plumbing.keys.authority import IdentityAuthority
from hansa.foundation.plumbing.keys.key_files import VARIABLE_PREFIX, Keyring
from hansa.foundation.plumbing.keys.registry_identity import (
    local_identity,
    record_identity,
    require_adoptable,
    require_own,
)
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.keys.tokens import TokenIssuer
from hansa.foundation.plumbing.outgoing import Outgoing
from hansa.foundation.plumbing.outgoing.mail import mailbox
from hansa.foundation.plumbing.process.data_directory import (
    Belonging,
    record_belonging,
    require_founded,
    require_kind,
)
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import SECRET_SHORT_BELOW, Settings
from hansa.foundation.plumbing.storage.database import Database, Tx, address_of, require_reachable
from hansa.foundation.plumbing.storage.embedded import (
    DataDirectoryInUse,
    EmbeddedPostgres,
    EmbeddedPostgresNotRunning,
    NoRegistry,
    require_cluster,
    running_dsn,
)
from hansa.foundation.plumbing.storage.migrate import Migrated, has_schema, migrate, require_known_schema
from hansa.foundation.plumbing.storage.poolers import settings_not_in_effect
from hansa.foundation.plumbing.storage.positions import is_settled, settle_positions
from hansa.foundation.values.errors import Unavailable
from hansa.foundation.values.money import units
from hansa.rooms import auditor, catalogue, federation, journal, ledger, people

JOIN_SECONDS = 30.0
JOIN_PAUSE_SECONDS = 0.2

_log = structlog.get_logger()


@asynccontextmanager
async def prepared_database(settings: Settings, *, command: str = "") -> AsyncIterator[str]:
    """A database with the schema and the book of this version; yields its DSN.

    Starts the embedded server unless DATABASE_URL names another, and keeps it running: for a service, which waits a moment
    for a command that holds the data directory, or for `command`. Raises: DatabaseOfAnother, and the errors of opening it.
    """
    require_kind(settings)
    if settings.database_url is not None:
        await _prepare(settings.database_url, settings)
        yield settings.database_url
        return
    async with _embedded_server(settings, command) as dsn:
        await _prepare(dsn, settings)
        yield dsn


@asynccontextmanager
async def open_database(settings: Settings) -> AsyncIterator[str]:
    """The database alone, whatever is in it and whether it is in use or not; yields its DSN.

    Raises: NoRegistry, Unavailable, EmbeddedPostgresFailed.
    """
    if settings.database_url is not None:
        await require_reachable(settings.database_url)
        yield settings.database_url
        return
    try:
        running = running_dsn(settings.data_dir)
    except EmbeddedPostgresNotRunning:
        require_cluster(settings.data_dir)
        async with _embedded_server(settings, _this_command()) as dsn:
            yield dsn
    else:
        yield running


@asynccontextmanager
async def adoptable_database(settings: Settings) -> AsyncIterator[Database]:
    """One connection to the database of this trust domain, whatever its recorded keys are; its schema is up to date.

    Raises: NoRegistry, DatabaseOfAnother, and the errors of opening the database.
    """
    require_data_directory(settings)
    async with open_database(settings) as dsn:
        await bring_up_to_date(dsn, settings.database_variable)
        database = Database(dsn, pool_size=1)
        await database.open()
        try:
            await database.query(lambda tx: require_adoptable(tx, settings.trust_domain, settings.ledger_id))
            yield database
        finally:
            await database.close()


@asynccontextmanager
async def _embedded_server(settings: Settings, command: str) -> AsyncIterator[str]:
    server = EmbeddedPostgres(settings.data_dir, command=command)
    dsn = await server.start()
    watch = asyncio.create_task(server.watch())
    try:
        yield dsn
    finally:
        watch.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watch
        await server.stop()


def _this_command() -> str:
    """The command that runs here as somebody typed it, without options and values: `hansa db backup`."""
    words = takewhile(re.compile(r"[a-z][a-z-]*").fullmatch, sys.argv[1:3])
    return " ".join(["hansa", *words])


@asynccontextmanager
async def joined_database(settings: Settings) -> AsyncIterator[str]:
    """The database that the registry uses, whether it serves or rests; yields its DSN.

    An embedded server that rests is started for the moment; one that is just being started is waited for.

    Raises: NoRegistry, Unavailable when there is no registry to join, and the errors of opening the registry.
    """
    if settings.database_url is not None:
        await _require_schema(settings.database_url)
        await migrate(settings.database_url)
        yield settings.database_url
        return
    async with AsyncExitStack() as stack:
        yield await _join_embedded(settings, stack)


def require_data_directory(settings: Settings) -> None:
    """Raises: NoRegistry, unless a registry keeps its keys in the data directory or is given them."""
    if settings.database_url is None:
        require_cluster(settings.data_dir)
    elif not (settings.data_dir / "keys").is_dir() and not any(
        name.startswith(VARIABLE_PREFIX) for name in os.environ
    ):
        raise NoRegistry(settings.data_dir)


async def _require_schema(dsn: str) -> None:
    await require_reachable(dsn, "DATABASE_URL")
    if not await has_schema(dsn):
        raise Unavailable(
            f"no registry in the database at {address_of(dsn)}; run `hansa serve` to create one"
        )


async def _join_embedded(settings: Settings, stack: AsyncExitStack) -> str:
    deadline = monotonic() + JOIN_SECONDS
    while True:
        try:
            dsn = running_dsn(settings.data_dir)
            await bring_up_to_date(dsn)
        except EmbeddedPostgresNotRunning:
            require_cluster(settings.data_dir)
            try:
                return await stack.enter_async_context(prepared_database(settings, command=_this_command()))
            except DataDirectoryInUse:
                if monotonic() > deadline:
                    raise
        except Unavailable:
            if monotonic() > deadline:
                raise
        else:
            return dsn
        await asyncio.sleep(JOIN_PAUSE_SECONDS)


@asynccontextmanager
async def open_runtime(settings: Settings, dsn: str) -> AsyncIterator[Runtime]:
    """Open the runtime of one serving process, on a database that is ready."""
    database = Database(dsn, pool_size=settings.database_pool_size)
    await database.open()
    try:
        yield runtime_on(database, settings)
    finally:
        await database.close()


def runtime_on(database: Database, settings: Settings) -> Runtime:
    """The state of one process that uses this open database. Raises: BadKey."""
    return Runtime(
        settings=settings.for_another_process(),
        database=database,
        tokens=TokenIssuer(Keyring(settings.data_dir), settings.trust_domain),
        mail=mailbox(settings.smtp_url, settings.mail_from, settings.data_dir),
        outgoing=Outgoing(settings.outgoing_allow_hosts, settings.outgoing_allow_user_hosts),
        internal_key=_internal_key(settings),
        seal=Seal(Keyring(settings.data_dir)),
        authority=identity_authority(settings),
        slots=ASSEMBLY.slots(),
    )


async def require_signing_key(settings: Settings, dsn: str) -> None:
    """Raises: KeyDoesNotOpen, when this process could serve but not sign."""
    database = Database(dsn, pool_size=1)
    await database.open()
    try:
        seal = Seal(Keyring(settings.data_dir))
        await database.query(lambda tx: federation.require_present_key(tx, seal))
    finally:
        await database.close()


async def has_administrator(dsn: str) -> bool:
    """Return whether anybody administers the registry."""
    database = Database(dsn, pool_size=1)
    await database.open()
    try:
        return await database.query(people.has_administrator)
    finally:
        await database.close()


async def dropped_settings(dsn: str) -> dict[str, str]:
    """The settings of connections that a pooler drops, each with the value in effect."""
    database = Database(dsn, pool_size=1)
    await database.open()
    try:
        return await database.query(settings_not_in_effect)
    finally:
        await database.close()


async def bring_up_to_date(dsn: str, variable: str = "") -> Migrated:
    """Bring the schema to this version; `variable` names the setting that says where the database is.

    Returns the migrations and SQL files applied.

    Raises: Unavailable when the database cannot be reached, or its schema not be changed.
    """
    await require_reachable(dsn, variable)
    return await migrate(dsn)


def make_missing_keys(settings: Settings) -> None:
    """Every key is there and usable after this. Raises: BadKey, before any process serves."""
    TokenIssuer(Keyring(settings.data_dir), settings.trust_domain)
    _warn_of_a_short_key(_internal_key(settings))
    Seal(Keyring(settings.data_dir))
    identity_authority(settings)


async def require_own_database(settings: Settings, dsn: str) -> None:
    """Raises: DatabaseOfAnother, BadKey, Unavailable. Makes no key and changes nothing."""
    await require_reachable(dsn, settings.database_variable)
    database = Database(dsn, pool_size=1)
    await database.open()
    try:
        own = local_identity(settings)
        if await database.query(lambda tx: require_own(tx, own)) is None:
            require_founded(settings, address_of(dsn))
    finally:
        await database.close()
    await require_known_schema(dsn)


async def _prepare(dsn: str, settings: Settings) -> None:
    await require_own_database(settings, dsn)
    make_missing_keys(settings)
    await bring_up_to_date(dsn, settings.database_variable)
    database = Database(dsn, pool_size=2)
    await database.open()
    try:
        fail_closed = settings.event_emitter_fail_closed
        await database.transaction(_settle_positions)
        registry_did = f"did:{settings.did_method}:{REGISTRY_ACCOUNT}"
        await database.transaction(
            lambda tx: journal.settle_policies(tx, fail_closed=fail_closed, registry_did=registry_did)
        )
        await database.transaction(lambda tx: journal.settle_reactors(tx, ASSEMBLY.reactors))
        await database.transaction(journal.keep_partitions_ahead)
        await database.transaction(lambda tx: _found(tx, settings))
    finally:
        await database.close()
    record_belonging(settings.data_dir, Belonging.of(settings))


async def _found(tx: Tx, settings: Settings) -> None:
    """The registry's identity, its book and its signing keys: all of them in one commit, each once."""
    await record_identity(tx, local_identity(settings))
    await ledger.initialize_ledger(tx, ledger.Book.of(settings), units(settings.founding_supply))
    seal = Seal(Keyring(settings.data_dir))
    await federation.initialize_keys(tx, settings, seal)
    # A database without a recorded identity belongs to the process whose sealing key opens what it holds.
    await federation.require_present_key(tx, seal)
    await federation.initialize_licensing_key(tx, seal)
    await federation.publish_card(tx, settings, seal)
    await auditor.initialize_auditor(tx, settings.ledger_id, seal)


async def _settle_positions(tx: Tx) -> None:
    if not await is_settled(tx):
        newest = max(await journal.newest_position(tx), await catalogue.newest_position(tx))
        await settle_positions(tx, newest)


def _internal_key(settings: Settings) -> str:
    return settings.internal_api_key or Keyring(settings.data_dir).secret("internal-api-key")


def _warn_of_a_short_key(internal_key: str) -> None:
    if len(internal_key) < SECRET_SHORT_BELOW:
        _log.warning(
            "INTERNAL_API_KEY is short: use at least 32 random characters", characters=len(internal_key)
        )


def identity_authority(settings: Settings) -> IdentityAuthority | None:
    """Return the issuer of workload identities, or None where no service issues them. Raises: BadKey."""
    if not settings.issues_identities:
        return None
    return IdentityAuthority(Keyring(settings.data_dir), settings.trust_domain)
