"""Facts about a registry: its processes, their answers, its database and its queues."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from hansa.doors.assembly import ASSEMBLY
from hansa.doors.diagnosis.durability import Durability, read_durability
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.jobs import mail_queue
from hansa.foundation.plumbing.keys.key_files import BadKey, Keyring
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.process.data_directory import belonging, kind_of
from hansa.foundation.plumbing.process.process_files import ServingProcess, serving_processes
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.backup_record import BackupRecord, read_backup_record
from hansa.foundation.plumbing.storage.database import Database, Tx, require_reachable
from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgresFailed, running_dsn
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.storage.migrate import known_schemas, newest_schema, present_schema
from hansa.foundation.plumbing.storage.poolers import settings_not_in_effect
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.rooms import federation, journal, notifications

ANSWER_SECONDS = 10.0
REACH_SECONDS = 5.0
INTERNAL_KEY = "internal-api-key"


class Queue(msgspec.Struct, frozen=True):
    """Work that waits. `failures` counts tries that failed, `given_up` the entries that need the operator."""

    name: str
    waiting: int
    oldest_seconds: float | None = None
    failures: int = 0
    given_up: int = 0


class Answers(msgspec.Struct, frozen=True):
    """Answers of the HTTP API; `trouble` is the reason why there are none. `failing_jobs` are as `/readyz` names them."""

    ready: bool
    trouble: str | None
    audit: dict[str, Any] | None
    failing_jobs: Sequence[dict[str, Any]] = ()


class DatabaseFacts(msgspec.Struct, frozen=True):
    """The database in use; without a `version` it was not reached, and `trouble` says why.

    `settings_not_in_effect` are those of a connection that a pooler dropped. `trust_of_peers` has the state of peer trust of each peer.
    """

    kind: str
    trouble: str | None = None
    is_known: bool = True
    version: str | None = None
    version_number: int = 0
    schema: str | None = None
    clock_difference_seconds: float = 0.0
    signing_key_trouble: str | None = None
    durability: Durability | None = None
    settings_not_in_effect: Mapping[str, str] = {}
    queues: Sequence[Queue] = ()
    trust_of_peers: Sequence[str] = ()
    backup: BackupRecord | None = None
    governed: Sequence[parameters.Parameter] = ()
    """Settings that governance has changed, or changes at a later moment."""


class Facts(msgspec.Struct, frozen=True):
    """Everything that was found out. `newest_schema` and `known_schemas` are those of the installed version.

    `settings` are those of the running process, else those of the command; None where the process does not state its own.
    """

    settings: Settings | None
    data_dir: Path
    processes: Sequence[ServingProcess]
    answers: Answers | None
    database: DatabaseFacts
    newest_schema: str
    known_schemas: frozenset[str]


async def gather_facts(settings: Settings, data_dir: Path) -> Facts:
    """Look at the registry of this data directory."""
    processes = serving_processes(data_dir)
    answers = await _ask(processes[0].url, _internal_key(settings)) if processes else None
    database = await _look_at_database(settings)
    return Facts(
        _settings_in_use(settings, processes),
        data_dir,
        processes,
        answers,
        database,
        newest_schema(),
        known_schemas(),
    )


def _settings_in_use(settings: Settings, processes: Sequence[ServingProcess]) -> Settings | None:
    if not processes:
        return settings
    recorded = processes[0].settings
    if recorded is None:
        return None
    known = {name: value for name, value in recorded.items() if name in Settings.model_fields}
    return settings.model_copy(update={**known, "data_dir": settings.data_dir})


def _internal_key(settings: Settings) -> str | None:
    """The key with which `/readyz` names failing jobs where METRICS_TOKEN is set; None where it cannot be read."""
    if settings.internal_api_key is not None:
        return settings.internal_api_key
    try:
        found = Keyring(settings.data_dir).find(INTERNAL_KEY, INTERNAL_KEY)
    except BadKey:
        return None
    return found[1].decode("ascii", "replace").strip() if found else None


async def _ask(url: str, internal_key: str | None) -> Answers:
    headers = {} if internal_key is None else {"X-Internal-Key": internal_key}
    try:
        async with httpx2.AsyncClient(base_url=url, timeout=ANSWER_SECONDS, trust_env=False) as http:
            readiness = await http.get("/readyz", headers=headers)
            supply = await http.get("/api/v1/public/supply-invariant")
    except httpx2.HTTPError as failure:
        return Answers(ready=False, trouble=f"{url} does not respond: {type(failure).__name__}", audit=None)
    reason = None if readiness.is_success else _detail(readiness)
    failing = readiness.json().get("failing_jobs", []) if readiness.is_success else []
    return Answers(readiness.is_success, reason, supply.json() if supply.is_success else None, failing)


def _detail(answer: httpx2.Response) -> str:
    try:
        return str(answer.json().get("detail", answer.status_code))
    except ValueError:
        return f"/readyz returned {answer.status_code}"


async def _look_at_database(settings: Settings) -> DatabaseFacts:
    record = belonging(settings.data_dir)
    kind = record.database if record else kind_of(settings)
    if kind == "external" and settings.database_url is None:
        return DatabaseFacts(kind, trouble="DATABASE_URL is not known to this command", is_known=False)
    try:
        dsn = settings.database_url or running_dsn(settings.data_dir)
        await require_reachable(dsn)
        return await _read_database(kind, dsn, settings)
    except EmbeddedPostgresFailed as error:
        return DatabaseFacts(kind, trouble=str(error))
    except Refused as error:
        return DatabaseFacts(kind, trouble=error.detail)


async def _read_database(kind: str, dsn: str, settings: Settings) -> DatabaseFacts:
    schema = await present_schema(dsn)
    database = Database(dsn, pool_size=1)
    await database.open()
    try:
        before = datetime.now(UTC)
        row = await database.query(
            lambda tx: tx.fetchrow(
                "SELECT current_setting('server_version') AS version, clock_timestamp() AS now,"
                " current_setting('server_version_num')::int AS number"
            )
        )
        assert row is not None
        middle = before + (datetime.now(UTC) - before) / 2
        is_current = schema == newest_schema()
        return DatabaseFacts(
            kind,
            version=row["version"].split()[0],
            version_number=row["number"],
            schema=schema,
            clock_difference_seconds=(row["now"] - middle).total_seconds(),
            signing_key_trouble=await _signing_key_trouble(database, settings) if is_current else None,
            durability=await database.query(read_durability),
            settings_not_in_effect=await database.query(settings_not_in_effect),
            queues=await database.query(read_queues) if is_current else (),
            trust_of_peers=await database.query(_trust_of_peers) if is_current else (),
            backup=await database.query(read_backup_record) if is_current else None,
            governed=await database.query(lambda tx: read_governed(tx, settings)) if is_current else (),
        )
    finally:
        await database.close()


async def read_queues(tx: Tx) -> list[Queue]:
    """The mail, the deliveries of webhooks and the events of reactors that wait."""
    mail, webhooks, reactors = await read_together(
        tx,
        mail_queue.waiting_mail,
        notifications.waiting_deliveries,
        lambda tx: journal.read_reactors(tx, ASSEMBLY.reactors),
    )
    return [
        Queue("mail", mail.count, mail.oldest_seconds),
        Queue("webhooks", webhooks.count, webhooks.oldest_seconds),
        *(
            Queue(
                f"reactor {one.reactor.name}",
                one.events_waiting,
                failures=one.failures,
                given_up=one.set_aside_count,
            )
            for one in reactors
        ),
    ]


async def read_governed(tx: Tx, settings: Settings) -> list[parameters.Parameter]:
    """The settings that governance has changed, or changes at a later moment."""
    found = await parameters.current(tx, settings)
    return [one for one in found if one.source == "governance" or one.scheduled is not None]


async def read_governed_if_reached(settings: Settings) -> list[parameters.Parameter] | None:
    """Read them like `read_governed`; None where the database cannot be reached or has another schema."""
    try:
        async with asyncio.timeout(REACH_SECONDS):
            dsn = settings.database_url or running_dsn(settings.data_dir)
            await require_reachable(dsn)
            if await present_schema(dsn) != newest_schema():
                return None
            database = Database(dsn, pool_size=1)
            await database.open()
            try:
                return await database.query(lambda tx: read_governed(tx, settings))
            finally:
                await database.close()
    except (EmbeddedPostgresFailed, Refused, TimeoutError):
        return None


async def _trust_of_peers(tx: Tx) -> list[str]:
    return [peer.trust_state for peer in await federation.peers(tx) if peer.is_member]


async def _signing_key_trouble(database: Database, settings: Settings) -> str | None:
    keys = settings.data_dir / "keys"
    if not keys.is_dir():
        return f"{keys} is missing"
    try:
        seal = Seal(Keyring(settings.data_dir))
        await database.query(lambda tx: federation.require_present_key(tx, seal))
    except BadKey as error:
        return str(error)
    except Unavailable as error:
        return error.detail
    return None
