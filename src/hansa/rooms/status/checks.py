"""Checks of the components of the registry, as this process finds them.

- A check reads; it repairs nothing. One that cannot be carried out finds its component failed, and the others go on.
- A result counts for some seconds, and concurrent readers share one round of checks: the public may ask as often as it likes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic

import structlog

from hansa.foundation.plumbing.jobs import mail_queue
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.process.write_probe import WRITE_PROBE
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_each
from hansa.foundation.plumbing.telemetry.job_health import Waiting
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import auditor, catalogue, federation, journal

from . import rules, store
from .records import COMPONENTS, Check, Component, State

GOOD_SECONDS = 5.0
MAIL_WAITS_SECONDS = 600.0
MEASURED_WITHIN_SECONDS = 300.0
BAD_TRUST = frozenset({"restricted", "suspended"})

Read = Callable[[Tx], Awaitable[Check]]

_log = structlog.get_logger()


class McpPresence:
    """Note of the door of MCP in one process: whether its tools are loaded."""

    def __init__(self) -> None:
        self.is_loaded = False


MCP_PRESENCE: Slot[McpPresence] = Slot("status: presence of the tools of MCP", build=lambda _: McpPresence())


class Checks:
    """The checks of one process."""

    def __init__(self, runtime: Runtime, good_seconds: float = GOOD_SECONDS) -> None:
        self._runtime = runtime
        self._good_seconds = good_seconds
        self._good_until = 0.0
        self._began = monotonic()
        self._found: Sequence[Check] = ()
        self._checking: asyncio.Task[Sequence[Check]] | None = None

    async def recent(self) -> Sequence[Check]:
        """The state of each component, in order, at most some seconds old. Raises nothing."""
        if monotonic() < self._good_until:
            return self._found
        return await self.now()

    async def now(self) -> Sequence[Check]:
        """The state of each component, in order; shared with those who ask meanwhile. Raises nothing."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check())
        # One reader going away does not end the checks for the others.
        return await asyncio.shield(self._checking)

    async def _check(self) -> Sequence[Check]:
        written = await self._written()
        if written.state == "failed":
            # Nothing that rests on the database can be found out.
            found = {name: Check(name, "failed", written.detail) for name in COMPONENTS}
        else:
            in_database = await self._read_all()
            found = {check.name: check for check in (written, *in_database, self._search(), self._mcp())}
        self._found = [found[name] for name in COMPONENTS]
        self._good_until = monotonic() + self._good_seconds
        return self._found

    async def _written(self) -> Check:
        try:
            await WRITE_PROBE.of(self._runtime).require()
        except Unavailable as error:
            return Check("database", "failed", error.detail)
        return Check("database", "ok", "Reads and writes are accepted.")

    async def _read_all(self) -> list[Check]:
        """The components whose state is in the database: in one statement, and each by itself where that fails."""
        ledger = await _found("ledger", self._ledger)
        reads: dict[Component, Read] = {
            "journal": _journal,
            "jobs": self._jobs,
            "mail": _mail,
            "federation": _federation,
            "auditor": self._auditor,
        }
        try:
            together = await self._runtime.database.query(lambda tx: read_each(tx, reads.values()))
        except Exception:  # noqa: BLE001
            # One of them cannot be examined; the others are.
            return [ledger, *[await _found(name, self._alone(read)) for name, read in reads.items()]]
        return [ledger, *together]

    def _alone(self, read: Read) -> Callable[[], Awaitable[Check]]:
        return lambda: self._runtime.database.query(read)

    async def _ledger(self) -> Check:
        watch = await auditor.watch_supply(self._runtime.database)
        if watch.is_ok:
            return Check("ledger", "ok", "The supply is in balance.")
        return Check("ledger", "failed", f"The supply invariant is {watch.status}.")

    async def _auditor(self, tx: Tx) -> Check:
        chain = await auditor.read_watch(tx, self._runtime.settings.ledger_id)
        if chain.is_watched:
            return Check("auditor", "ok", "The newest attestation is recent.")
        return Check("auditor", "degraded", "There is no recent attestation.")

    async def _jobs(self, tx: Tx) -> Check:
        late = await store.seconds_since_measured(tx)
        # A process that has just begun has not had the time to measure.
        if late > MEASURED_WITHIN_SECONDS and monotonic() - self._began > MEASURED_WITHIN_SECONDS:
            return Check(
                "jobs", "failed", f"Scheduled jobs do not run: the last measurement is {late:.0f} s old."
            )
        if failing := self._runtime.jobs.failing():
            names = ", ".join(f"{job.name} ({job.error})" for job in failing)
            return Check("jobs", "degraded", f"Failing in this process: {names}.")
        return Check("jobs", "ok", "Scheduled jobs succeed.")

    def _search(self) -> Check:
        if catalogue.SEARCHER.of(self._runtime).is_complete:
            return Check("search", "ok", "The search index is complete.")
        return Check("search", "degraded", "The search index is being built.")

    def _mcp(self) -> Check:
        if not self._runtime.settings.mcp_enabled:
            return Check("mcp", "off", "MCP_ENABLED is false.")
        if MCP_PRESENCE.of(self._runtime).is_loaded:
            return Check("mcp", "ok", "The tools are loaded.")
        return Check("mcp", "degraded", "The tools are being loaded.")


async def _found(name: Component, read: Callable[[], Awaitable[Check]]) -> Check:
    try:
        return await read()
    except Unavailable as error:
        return Check(name, "failed", error.detail)
    except Exception as error:  # noqa: BLE001
        # A component that cannot be examined is not one that works.
        _log.exception("check of a component failed", component=name)
        return Check(name, "failed", f"The check failed: {type(error).__name__}.")


async def _journal(tx: Tx) -> Check:
    set_aside = await journal.count_set_aside(tx)
    if set_aside:
        return Check("journal", "degraded", f"Reactors gave up on {set_aside} events.")
    return Check("journal", "ok", "Events are recorded, and reactors follow them.")


async def _mail(tx: Tx) -> Check:
    waiting: Waiting = await mail_queue.waiting_mail(tx)
    seconds = waiting.oldest_seconds or 0.0
    if seconds > MAIL_WAITS_SECONDS:
        return Check("mail", "degraded", f"{waiting.count} e-mails wait, the oldest for {seconds:.0f} s.")
    return Check("mail", "ok", "E-mails are accepted by the mail server.")


async def _federation(tx: Tx) -> Check:
    members = [peer for peer in await federation.peers(tx) if peer.is_member]
    bad = [
        peer.name
        for peer in members
        if peer.quarantined_at is not None or peer.trust_state in BAD_TRUST or peer.trouble is not None
    ]
    if bad:
        return Check("federation", "degraded", f"Trouble with {', '.join(bad)}.")
    if not members:
        return Check("federation", "off", "This registry has no peers.")
    return Check("federation", "ok", "Every peer is in order.")


def state_of(checks: Sequence[Check]) -> State:
    """State of the whole registry."""
    return rules.worst({check.name: check.state for check in checks})


CHECKS: Slot[Checks] = Slot("status: checks of this process", build=Checks)
