"""The checks of `hansa doctor`: each looks at the facts and returns findings, each with its remedy."""

import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Literal
from urllib.parse import urlsplit

import msgspec

import hansa
from hansa.doors.diagnosis.durability import faults_of
from hansa.doors.diagnosis.facts import Facts
from hansa.foundation.plumbing.outgoing.workload_api import require_agent
from hansa.foundation.plumbing.settings import (
    BadSetting,
    applied_settings_file,
    exposure,
    misspelt_settings,
)
from hansa.foundation.plumbing.storage.migrate import (
    FORMER_CHAIN_END,
    LAST_COMMIT_OF_FORMER_CHAIN,
    is_before_baseline,
)
from hansa.foundation.plumbing.storage.poolers import remedy_for_dropped, sentence_on_dropped
from hansa.foundation.values.money import parse_amount

Severity = Literal["ok", "note", "warning", "problem"]

POSTGRES_MIN = 150000
DISK_PROBLEM_BYTES = 256 << 20
DISK_WARNING_BYTES = 2 << 30
CLOCK_WARNING_SECONDS = 2.0
QUEUE_WARNING_SECONDS = 600
AUDIT_MAX_AGE = timedelta(minutes=10)
CONNECT_SECONDS = 3.0
BACK_UP = "hansa db backup --out-dir DIR --keep 14"


class Finding(msgspec.Struct, frozen=True):
    """Finding of one check; `fix` is the remedy, empty where there is nothing to do."""

    severity: Severity
    subject: str
    message: str
    fix: str = ""


def check(facts: Facts) -> list[Finding]:
    """The findings of every check, in the order in which they are shown."""
    return [finding for inspect in CHECKS for finding in inspect(facts)]


def _versions(facts: Facts) -> Iterator[Finding]:
    for one in facts.processes:
        if one.version != hansa.__version__:
            yield Finding(
                "warning",
                "version",
                f"process {one.pid} runs version {one.version}, installed is {hansa.__version__}",
                "restart the registry",
            )
    if all(one.version == hansa.__version__ for one in facts.processes):
        yield Finding("ok", "version", f"hansa {hansa.__version__}")


def _settings(facts: Facts) -> Iterator[Finding]:
    file = facts.processes[0].settings_file if facts.processes else applied_settings_file()
    if exposed := exposure(file):
        yield Finding("warning", "settings", exposed, f"chmod 0640 {file}")
    misspelt = misspelt_settings()
    for name, meant in misspelt.items():
        yield Finding("warning", "settings", f"{name} is not a setting", f"rename it to {meant}")
    if facts.settings is None:
        [process, *_] = facts.processes
        yield Finding(
            "note",
            "settings",
            f"process {process.pid} does not state its settings; they were not examined",
            "restart the registry",
        )
    elif not misspelt:
        whose = f"of process {facts.processes[0].pid}" if facts.processes else "of this command"
        place = f" (settings file {file})" if file else ""
        yield Finding("ok", "settings", f"the settings {whose}{place} have allowed values")


def _governed(facts: Facts) -> Iterator[Finding]:
    for one in facts.database.governed:
        name, later = one.name.upper(), ""
        if one.scheduled is not None:
            later = f", {one.scheduled.value} from {one.scheduled.at.isoformat()} on, by governance"
        if one.source == "governance":
            yield Finding(
                "ok",
                "governance",
                f"{name} is {one.value}, by governance, whatever the environment states{later}",
            )
        else:
            yield Finding("ok", "governance", f"{name} is {one.value}, by the {one.source}{later}")


def _attacks(facts: Facts) -> Iterator[Finding]:
    if facts.settings is not None:
        yield Finding(
            "ok",
            "attacks",
            "`hansa simulate forging|pools|reputation` prints costs and gains under these settings",
        )


def _process(facts: Facts) -> Iterator[Finding]:
    if not facts.processes:
        yield Finding(
            "note", "process", "the registry is not running", f"hansa serve --data-dir {facts.data_dir}"
        )
        return
    for one in facts.processes:
        yield Finding("ok", "process", f"process {one.pid} serves {one.url} since {one.started_at}")
    if facts.answers is not None and not facts.answers.ready:
        yield Finding(
            "problem", "readiness", f"not ready: {facts.answers.trouble}", "read the log of the process"
        )
    else:
        yield Finding("ok", "readiness", "ready")


def _jobs(facts: Facts) -> Iterator[Finding]:
    for job in facts.answers.failing_jobs if facts.answers else ():
        yield Finding(
            "problem",
            "background",
            f"{job['name']} failed {job['failures']} times since {job['since']}: {job['error']}",
            "fix the cause; the full error is in the log of the process",
        )


def _database(facts: Facts) -> Iterator[Finding]:
    database = facts.database
    if not database.is_known:
        yield Finding(
            "note", "database", f"not examined: {database.trouble}", "name the settings file with --config"
        )
        return
    if database.version is None:
        is_stopped = database.kind == "embedded" and not facts.processes
        fix = "" if is_stopped else "start the database or correct DATABASE_URL"
        yield Finding(
            "note" if is_stopped else "problem", "database", f"not reachable: {database.trouble}", fix
        )
        return
    if database.version_number < POSTGRES_MIN:
        yield Finding(
            "problem",
            "database",
            f"PostgreSQL {database.version} is older than 15",
            "upgrade the server to PostgreSQL 15 or later",
        )
    else:
        yield Finding("ok", "database", f"PostgreSQL {database.version}, {database.kind}")
    yield from _durability(facts)
    yield from _schema(facts)
    if database.signing_key_trouble:
        yield Finding(
            "problem",
            "signing key",
            database.signing_key_trouble,
            "copy the keys of the registry that made this database into DIR/keys",
        )


def _durability(facts: Facts) -> Iterator[Finding]:
    database = facts.database
    if database.durability is not None:
        faults = list(faults_of(database.durability))
        for fault, remedy in faults:
            yield Finding("problem", "durability", fault, remedy)
        if not faults:
            yield Finding(
                "ok", "durability", "acknowledged operations are on the disks that they have to be on"
            )
    if database.settings_not_in_effect:
        yield Finding(
            "warning",
            "pooler",
            sentence_on_dropped(database.settings_not_in_effect),
            remedy_for_dropped(database.settings_not_in_effect),
        )


def _schema(facts: Facts) -> Iterator[Finding]:
    present, newest = facts.database.schema, facts.newest_schema
    if present is None:
        yield Finding(
            "problem", "schema", "the database contains no registry", "run hansa serve to create one"
        )
    elif present == newest:
        yield Finding("ok", "schema", f"the schema is {present}, as required by this version")
    # The number of a schema says nothing about its age: migrations may follow each other in another order.
    elif present in facts.known_schemas:
        yield Finding(
            "warning",
            "schema",
            f"the schema is {present}, this version needs {newest}",
            "start the registry; it migrates the schema",
        )
    elif is_before_baseline(present):
        yield Finding(
            "problem",
            "schema",
            f"the schema is {present}, which is older than {FORMER_CHAIN_END}; this version needs {newest}",
            f"start the registry once with commit {LAST_COMMIT_OF_FORMER_CHAIN} of Hansa, then with this version",
        )
    else:
        yield Finding(
            "problem",
            "schema",
            f"the schema is {present}, which this version does not know; it needs {newest}",
            "install the version of hansa that wrote it",
        )


def _queues(facts: Facts) -> Iterator[Finding]:
    for queue in facts.database.queues:
        age = queue.oldest_seconds or 0.0
        if queue.given_up:
            yield Finding(
                "warning",
                "queue",
                f"{queue.name}: {queue.given_up} events failed permanently",
                "see GET /api/v1/admin/reactors; after fixing the cause, retry them there",
            )
        elif queue.failures or age > QUEUE_WARNING_SECONDS:
            yield Finding(
                "warning",
                "queue",
                f"{queue.name}: {queue.waiting} waiting, oldest {age:.0f} s, {queue.failures} failures",
                "read the log of the process for the cause",
            )
        else:
            yield Finding("ok", "queue", f"{queue.name}: {queue.waiting} waiting")


def _audit(facts: Facts) -> Iterator[Finding]:
    audit = facts.answers.audit if facts.answers else None
    if audit is None:
        return
    cycle = audit["last_cycle"]
    if audit["status"] != "OK":
        yield Finding(
            "problem",
            "audit",
            f"the supply invariant is {audit['status']}, delta {audit['delta']}",
            "stop all transfers and compare the journal with the balances",
        )
    elif cycle and datetime.now(UTC) - datetime.fromisoformat(cycle["checked_at"]) > AUDIT_MAX_AGE:
        yield Finding(
            "problem",
            "audit",
            f"the last audit was at {cycle['checked_at']}",
            "read the log of the process: the audit runs every minute",
        )
    else:
        when = f"last audit at {cycle['checked_at']}" if cycle else "no audit has run yet"
        yield Finding("ok", "audit", f"the supply invariant is OK, {when}")


def _backup(facts: Facts) -> Iterator[Finding]:
    record, settings = facts.database.backup, facts.settings
    if record is None or settings is None:
        return
    hours_max = settings.backup_max_age_hours
    is_old = hours_max > 0 and record.age_seconds > hours_max * 3600
    if record.last_failed:
        message = f"the backup of {record.failed_at:%Y-%m-%d %H:%M} UTC failed: {record.failure}"
        yield Finding("warning", "backup", message, f"remove the cause, then {BACK_UP}")
    elif record.taken_at is None:
        message = "no backup was taken"
        yield Finding("warning" if is_old else "note", "backup", message, f"{BACK_UP}, each night")
    elif is_old:
        message = (
            f"the newest backup is of {record.taken_at:%Y-%m-%d %H:%M} UTC, more than {hours_max} hours ago"
        )
        yield Finding("warning", "backup", message, f"{BACK_UP}, each night")
    else:
        yield Finding("ok", "backup", f"the newest backup is of {record.taken_at:%Y-%m-%d %H:%M} UTC")


def _disk(facts: Facts) -> Iterator[Finding]:
    free = shutil.disk_usage(facts.data_dir).free
    shown = f"{free / (1 << 30):.1f} GiB free for {facts.data_dir}"
    if free < DISK_WARNING_BYTES:
        severity: Severity = "problem" if free < DISK_PROBLEM_BYTES else "warning"
        yield Finding(severity, "disk", shown, "free disk space, or move the data directory to a larger disk")
    else:
        yield Finding("ok", "disk", shown)


def _permissions(facts: Facts) -> Iterator[Finding]:
    keys = facts.data_dir / "keys"
    private = [keys, *keys.glob("*"), *(facts.data_dir / "outbox").glob("*")]
    open_ones = [path for path in private if path.exists() and path.stat().st_mode & 0o077]
    for path in open_ones:
        yield Finding(
            "problem",
            "permissions",
            f"{path} can be read by other accounts ({stat.filemode(path.stat().st_mode)})",
            f"chmod go= {path}",
        )
    if facts.data_dir.stat().st_mode & 0o022:
        yield Finding(
            "problem",
            "permissions",
            f"other accounts can write to {facts.data_dir}",
            f"chmod go-w {facts.data_dir}",
        )
    elif not open_ones:
        yield Finding("ok", "permissions", "keys and data are not accessible to other accounts")


def _clock(facts: Facts) -> Iterator[Finding]:
    difference = facts.database.clock_difference_seconds
    if facts.database.version is None:
        return
    if abs(difference) > CLOCK_WARNING_SECONDS:
        yield Finding(
            "warning",
            "clock",
            f"the clock of the database differs by {difference:+.1f} s",
            "synchronise the clocks of both machines (NTP)",
        )
    else:
        yield Finding("ok", "clock", "the clocks of this machine and the database agree")


def _federation(facts: Facts) -> Iterator[Finding]:
    if facts.settings is None:
        return
    port = facts.settings.federation_port
    if port is None:
        yield Finding("ok", "federation", "no federation listener (FEDERATION_PORT is not set)")
        return
    if not facts.processes:
        return
    host = urlsplit(facts.processes[0].url).hostname or facts.settings.host
    try:
        socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        yield Finding(
            "problem",
            "federation",
            f"nothing listens on {host}:{port}: {error.strerror or error}",
            "restart the registry with the same FEDERATION_PORT",
        )
    else:
        yield Finding("ok", "federation", f"the federation listener answers on {host}:{port}")


def _identity(facts: Facts) -> Iterator[Finding]:
    """Check the certifier of this registry; whether a certificate came is a job of the serving process (`_jobs`)."""
    if facts.settings is None or not facts.settings.uses_workload_api:
        return
    try:
        require_agent(facts.settings.workload_socket)
    except BadSetting as error:
        yield Finding("problem", "identity", str(error), "start the SPIRE agent, or correct the setting")
    else:
        yield Finding("ok", "identity", f"SPIRE certifies, by {facts.settings.workload_socket}")


def _peer_modes(facts: Facts) -> Iterator[Finding]:
    """Note the modes that only observe peers, although there is evidence to act on."""
    if facts.settings is None:
        return
    members = facts.database.trust_of_peers
    measured = [state for state in members if state != "unmeasured"]
    if measured and facts.settings.peer_trust_mode == "observe":
        yield Finding(
            "note",
            "peer trust",
            f"there is evidence on {len(measured)} peers, and peer trust only observes",
            "set PEER_TRUST_MODE=enforce",
        )
    if members and facts.settings.enforcement_propagation_mode == "shadow":
        yield Finding(
            "note",
            "peers",
            "suspensions at peers are counted, and their agents are shown all the same",
            "set ENFORCEMENT_PROPAGATION_MODE=enforce",
        )


def _grants(facts: Facts) -> Iterator[Finding]:
    settings = facts.settings
    if settings is None:
        return
    grants = settings.genesis_grant_enabled and parse_amount(settings.genesis_grant_amount) > 0
    if grants and not settings.email_verification_required and not settings.beta_invite_required:
        yield Finding(
            "warning",
            "grants",
            f"genesis grants of {settings.genesis_grant_amount} {settings.settlement_currency} go to developers whose e-mail address"
            " is not verified",
            "set EMAIL_VERIFICATION_REQUIRED=true and SMTP_URL, or BETA_INVITE_REQUIRED=true, or GENESIS_GRANT_ENABLED=false",
        )
    else:
        yield Finding("ok", "grants", "no genesis grant goes to an unverified e-mail address")


CHECKS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    _versions,
    _settings,
    _governed,
    _grants,
    _attacks,
    _process,
    _jobs,
    _database,
    _queues,
    _audit,
    _backup,
    _disk,
    _permissions,
    _clock,
    _federation,
    _identity,
    _peer_modes,
)
